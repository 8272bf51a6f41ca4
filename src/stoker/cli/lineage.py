# SPDX-License-Identifier: Apache-2.0
"""`stoker lineage`: what an artifact was made from, or what was made from it, as a tree."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from stoker.artifacts import Artifact
from stoker.cli.lookup import find_artifact
from stoker.cli.options import json_option
from stoker.cli.printing import print_json, readable_path
from stoker.cli.stores import with_store
from stoker.metadata.records import EventType, Lineage
from stoker.metadata.store import Store

_USED = (EventType.INPUT, EventType.DECLARED_INPUT)
_MADE = (EventType.OUTPUT, EventType.DECLARED_OUTPUT)


@click.command()
@click.argument("artifact")
@click.option("--down", is_flag=True, help="Show what was made from it instead.")
@json_option
@with_store
def lineage(store: Store, artifact: str, down: bool, as_json: bool) -> int:
    """Show what an ARTIFACT, given by its id or path, was made from, as a tree."""
    start = find_artifact(store, artifact)
    found = store.lineage(start.id, "downstream" if down else "upstream")
    if as_json:
        print_json(_record(found))
    else:
        for line in _Tree(found, down=down).lines(start.id):
            click.echo(line)
    return 0


def _record(found: Lineage) -> dict[str, Any]:
    return {
        "artifacts": [
            {
                "id": artifact.id,
                "type": artifact.type_name,
                "uri": artifact.uri,
                "state": artifact.state.name,
            }
            for artifact in found.artifacts
        ],
        "executions": [
            {
                "id": execution.id,
                "node": execution.node_id,
                "run": execution.run_id,
                "state": execution.state.name,
            }
            for execution in found.executions
        ],
        "links": [
            {
                "artifact": event.artifact_id,
                "execution": event.execution_id,
                "key": key,
                "as": "input" if event.type in _USED else "output",
            }
            for event in found.events
            for key, _ in event.places()
        ],
    }


@dataclass(frozen=True, slots=True)
class _Branch:
    """One line of the tree, and what hangs below it."""

    text: str
    below: list["_Branch"]


class _Tree:
    """A lineage drawn from one artifact on; what was drawn before is not drawn again."""

    def __init__(self, found: Lineage, *, down: bool) -> None:
        self._artifacts = {artifact.id: artifact for artifact in found.artifacts}
        self._executions = {execution.id: execution for execution in found.executions}
        self._events = found.events
        self._to, self._from = (_USED, _MADE) if down else (_MADE, _USED)
        self._draw: set[tuple[str, int]] = set()

    def lines(self, artifact_id: int) -> Iterator[str]:
        """The tree, line by line."""
        root = self._artifact(artifact_id, "")
        yield root.text
        yield from _draw(root.below, "")

    def _artifact(self, artifact_id: int, key: str) -> _Branch:
        text = _describe(self._artifacts[artifact_id], key)
        steps = [
            event.execution_id
            for event in self._events
            if event.artifact_id == artifact_id and event.type in self._to
        ]
        if steps and self._is_drawn("artifact", artifact_id):
            return _Branch(f"{text}  (see above)", [])
        return _Branch(text, [self._step(execution_id) for execution_id in dict.fromkeys(steps)])

    def _step(self, execution_id: int) -> _Branch:
        text = f"{self._executions[execution_id].node_id}, execution {execution_id}"
        if self._is_drawn("execution", execution_id):
            return _Branch(f"{text}  (see above)", [])
        beyond = [
            self._artifact(event.artifact_id, key)
            for event in self._events
            if event.execution_id == execution_id and event.type in self._from
            for key, _ in event.places()
        ]
        return _Branch(text, beyond)

    def _is_drawn(self, kind: str, id_: int) -> bool:
        """Whether it was drawn before; from now on it is."""
        before = len(self._draw)
        self._draw.add((kind, id_))
        return len(self._draw) == before


def _describe(artifact: Artifact, key: str) -> str:
    named = f"{key}: " if key else ""
    return f"{named}{artifact.type_name} {artifact.id}  {readable_path(artifact.uri)}"


def _draw(branches: list[_Branch], indent: str) -> Iterator[str]:
    for position, branch in enumerate(branches, start=1):
        last = position == len(branches)
        yield f"{indent}{'└─' if last else '├─'} {branch.text}"
        yield from _draw(branch.below, indent + ("   " if last else "│  "))
