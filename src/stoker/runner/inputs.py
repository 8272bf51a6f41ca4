# SPDX-License-Identifier: Apache-2.0
"""What a step is given: what those before it published, in its round of the loops, undamaged."""

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stoker.any_python.layout import is_remote
from stoker.artifacts import Artifact, ArtifactMap, InfraBlessing, PropertyValue, SystemType, every
from stoker.dsl.channel import Channel
from stoker.dsl.component import BaseComponent, Node
from stoker.dsl.loops import EachChannel, Item, Loopable
from stoker.dsl.placeholders import Published
from stoker.errors import StepFailed
from stoker.metadata.records import NUM_ROUNDS, ROUND
from stoker.storage.digests import describe, find_problems, restore_manifest
from stoker.storage.files import do_for_all
from stoker.storage.root import cache_dir, manifest_file

Place = tuple[int, ...]
"""Which item of each loop around a step, the outermost loop first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One time that a step runs: the only one, unless it is in a loop."""

    loops: tuple[Loopable, ...] = ()
    place: Place = ()
    items: Mapping[Loopable, Item] = field(default_factory=dict)
    label: str = ""
    """Which of all its rounds, for the console."""
    num_rounds: int = 1

    @property
    def properties(self) -> dict[str, PropertyValue]:
        """What an execution says of its round, if it is in a loop."""
        if not self.place:
            return {}
        return {ROUND: ".".join(map(str, self.place)), NUM_ROUNDS: self.num_rounds}


@dataclass(kw_only=True)
class Rounds:
    """What steps have published, and which of them were not run, as seen from the present round.

    A step that is in the same loop as another one reads what that has made in the same round.
    """

    find_elsewhere: Published
    """What there is for a channel that no step of the run fills."""
    published: dict[str, ArtifactMap] = field(default_factory=dict)
    """All that each step has published, in all of its rounds."""
    now: Round = field(default_factory=Round)
    _in_round: dict[tuple[str, Place], ArtifactMap] = field(default_factory=dict)
    _skipped: set[tuple[str, Place]] = field(default_factory=set)
    """The rounds that were not run, and with () the steps none of whose rounds were."""

    def list_for(self, node: Node) -> list[Round]:
        """The rounds of a step; what its loops go through is known by now."""
        self.now = Round(loops=node.loops)
        rounds = [self.now]
        for loop in node.loops:
            rounds = [one for self.now in rounds for one in self._go_through(loop)]
        self.now = Round(loops=node.loops)
        if not node.loops:
            return rounds
        return [
            replace(one, label=f" ({number} of {len(rounds)})", num_rounds=len(rounds))
            for number, one in enumerate(rounds, start=1)
        ]

    def _go_through(self, loop: Loopable) -> list[Round]:
        now = self.now
        return [
            replace(now, place=(*now.place, number), items={**now.items, loop: item})
            for number, item in enumerate(loop.list_items(self.find))
        ]

    def find(self, channel: Channel) -> Sequence[Artifact]:
        """What there is in this round for a channel that is not made of others."""
        if isinstance(channel, EachChannel):
            return self.now.items[channel.loop][channel.key]
        if (maker := channel.producer) is None:
            return self.find_elsewhere(channel)
        key, shared = str(channel.output_key), self._count_shared_loops(maker)
        if not shared:
            return self.published.get(maker.id, {}).get(key, [])
        here = self.now.place[:shared]
        return [
            artifact
            for (node_id, place), outputs in self._in_round.items()
            if node_id == maker.id and place[:shared] == here
            for artifact in outputs.get(key, [])
        ]

    def publish(self, node: Node, outputs: ArtifactMap) -> None:
        """Keep what a step has published in this round."""
        self._in_round[node.id, self.now.place] = outputs
        before = self.published.get(node.id, {})
        self.published[node.id] = {
            key: [*before.get(key, []), *outputs.get(key, [])]
            for key in dict.fromkeys((*before, *outputs))
        }

    def is_known(self, node: Node, round: Round) -> bool:
        """Whether it is known how a round of a step has ended."""
        return (node.id, round.place) in self._in_round

    def skip(self, node: Node) -> None:
        """Keep that a step is not run in this round."""
        self._skipped.add((node.id, self.now.place))
        self.publish(node, {})

    def skip_whole(self, node_id: str) -> None:
        """Keep that a step is not run at all."""
        self._skipped.add((node_id, ()))

    def is_left_out(self, node: Node) -> bool:
        """Whether a step is known not to be run at all."""
        return (node.id, ()) in self._skipped

    def is_skipped_whole(self, node: Node, rounds: Sequence[Round]) -> bool:
        """Whether none of its rounds were run."""
        return all((node.id, one.place) in self._skipped for one in rounds)

    def find_left_out(self, channel: Channel) -> str:
        """The step that should have filled a channel and was not run, if there is one."""
        makers = [part.producer for part in channel.parts if part.producer]
        return next((maker.id for maker in makers if self._is_left_out(maker)), "")

    def _is_left_out(self, maker: Node) -> bool:
        here = self.now.place[: self._count_shared_loops(maker)]
        return bool({(maker.id, ()), (maker.id, here)} & self._skipped)

    def _count_shared_loops(self, maker: Node) -> int:
        """How many loops are around both this step and the one that it reads from."""
        pairs = zip(self.now.loops, maker.loops, strict=False)
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] is pair[1], pairs))


def copy_from_outside(artifact: Artifact) -> Artifact:
    """A copy for this run; an id that the artifact has may be from another run's store."""
    copied = type(artifact).from_dict({**artifact.to_dict(), "id": 0})
    copied.uri = artifact.uri if is_remote(artifact.uri) else os.path.abspath(artifact.uri)
    return copied


def is_sealed(artifact: Artifact) -> bool:
    """Whether Stoker wrote a manifest for it: not for files from outside, nor for TFX's."""
    known = artifact.custom_properties
    return "content_digest" in known and not known.get("is_external")


def find_damage(artifact: Artifact, *, by_digest: bool = False) -> str:
    """What is wrong with an artifact's files: the first that is not what it was, or nothing.

    Files from outside have no manifest: they are only compared `by_digest`. A manifest that is lost
    is written anew where the store's digest tells that the files are right.
    """
    if is_remote(artifact.uri):
        from stoker.runner.away import find_damage_there

        return find_damage_there(artifact)
    if is_sealed(artifact):
        for path, problem in find_problems(artifact.uri, by_digest=by_digest):
            is_lost = path == manifest_file(artifact.uri)
            digest = artifact.get_string_custom_property("content_digest")
            if not (is_lost and restore_manifest(artifact.uri, digest)):
                return f"{path}: {problem}"
        return ""
    return _find_change(artifact) if by_digest else ""


def find_damage_of_any(artifacts: Sequence[Artifact]) -> str:
    """The first thing that is wrong with any of them; a bucket is asked about all at once."""
    if any(is_remote(artifact.uri) for artifact in artifacts):
        return next(filter(None, do_for_all(find_damage, artifacts)), "")
    return next(filter(None, map(find_damage, artifacts)), "")


def is_named_by_url(node: BaseComponent, parameters: Mapping[str, Any]) -> bool:
    """Whether a step reads files that its parameters name by URLs."""
    return any(
        isinstance(value, str) and is_remote(value)
        for key, value in parameters.items()
        if key in node.spec.PARAMETERS and node.spec.PARAMETERS[key].names_file
    )


def name_places(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as they are recorded: a module that was staged by its URL."""
    staged = os.path.join(cache_dir(), "trees", "")
    return {
        key: _name_place(value) if isinstance(value, str) and value.startswith(staged) else value
        for key, value in parameters.items()
    }


def _name_place(path: str) -> str:
    from stoker.storage.staging import find_url

    return find_url(path)


def _find_change(artifact: Artifact) -> str:
    if not os.path.exists(artifact.uri):
        return f"{artifact.uri} is gone"
    known = artifact.custom_properties.get("content_digest")
    try:
        changed = known and known != describe(artifact.uri).digest
    except OSError as error:
        return str(error)
    return f"the files of {artifact.uri} are not those that were published" if changed else ""


def refuse_damaged_inputs(node: Node, inputs: ArtifactMap) -> None:
    """Raise StepFailed if a step would be given files that are not those that were published."""
    for artifact in every(inputs):
        if damage := find_damage(artifact, by_digest=_may_be_served(artifact)):
            raise StepFailed(
                f"{node.id} was not started: its {artifact.type_name} is not what was published: "
                f"{damage}. `stoker verify` tells every such file. Run the pipeline again, and "
                "what is damaged is made anew."
            )


def _may_be_served(artifact: Artifact) -> bool:
    """Whether it is a model that others are given, or may hold one."""
    return artifact.system_type() is SystemType.MODEL or isinstance(artifact, InfraBlessing)
