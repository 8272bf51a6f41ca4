# SPDX-License-Identifier: Apache-2.0
"""The steps of a pipeline as programs that start them one by one see them: names, order, needs.

`stoker plan` prints them, and `orchestrators/` makes files of other programs of them.
"""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stoker.dsl.component import BaseComponent, Node
from stoker.dsl.parameters import RuntimeParameter, names_in
from stoker.dsl.pipeline import Pipeline
from stoker.dsl.resources import Resources
from stoker.task import Workers

RUN_ID = "RUN_ID"
"""What stands for the id of a run in commands that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutline:
    """One step, as far as whoever starts it has to know it."""

    id: str
    type: str
    after: tuple[str, ...]
    """The steps that must have ended before."""
    conditions: tuple[str, ...]
    num_loops: int
    """How many loops it is in: it runs all its rounds by itself."""
    retries: int | None
    timeout_seconds: float | None
    workers: Workers | None
    resources: Resources | None

    def to_record(self) -> dict[str, Any]:
        """As plain JSON, without what is not said."""
        record = {**asdict(self), "after": list(self.after), "conditions": list(self.conditions)}
        return {key: value for key, value in record.items() if value not in (None, 0)}


def outline_steps(pipeline: Pipeline) -> list[StepOutline]:
    """The steps of a pipeline, in an order in which they can be run."""
    partial = pipeline.run_options
    choice = partial.choose(pipeline.steps) if partial else None
    parts = {*choice.run, *choice.reuse} if choice else set(pipeline.steps)
    return [_outline(node, parts) for node in pipeline.steps if node in parts]


def _outline(node: Node, parts: set[Node]) -> StepOutline:
    return StepOutline(
        id=node.id,
        type=type(node).__name__,
        after=tuple(one.id for one in node.upstream_nodes if one in parts),
        conditions=tuple(map(str, node.conditions)),
        num_loops=len(node.loops),
        retries=node.retries,
        timeout_seconds=node.timeout_seconds,
        workers=node.workers if isinstance(node, BaseComponent) else None,
        resources=node.resources,
    )


def find_parameters(pipeline: Pipeline) -> dict[str, RuntimeParameter]:
    """The RuntimeParameters of a pipeline, by name."""
    values = [pipeline.pipeline_root, *(node.exec_properties for node in pipeline.steps)]
    found: dict[str, RuntimeParameter] = {}
    for value in values:
        _collect(value, found)
    assert found.keys() == set().union(*map(names_in, values))
    return found


def _collect(value: Any, found: dict[str, RuntimeParameter]) -> None:
    match value:
        case RuntimeParameter():
            found.setdefault(value.name, value)
        case dict():
            _collect(list(value.values()), found)
        case list() | tuple():
            for inner in value:
                _collect(inner, found)


def make_command(
    file: str,
    node_id: str,
    *,
    run_id: str = RUN_ID,
    parameters: Sequence[str] = (),
    pipeline_name: str | None = None,
    options: Sequence[str] = (),
    arguments: Sequence[str] = (),
) -> list[str]:
    """The words of the command that runs one step; `parameters` are NAME=VALUE each."""
    words = ["stoker", "step", file, node_id, "--run-id", run_id]
    if pipeline_name:
        words += ["--pipeline", pipeline_name]
    for one in parameters:
        words += ["--param", one]
    return [*words, *options, *(["--", *arguments] if arguments else [])]


def quote(words: Sequence[str]) -> str:
    """A command as a shell takes it."""
    return shlex.join(words)
