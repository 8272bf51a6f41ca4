# SPDX-License-Identifier: Apache-2.0
"""One step of a run whose other steps other processes run, in whatever order they come.

What the steps before it have published in this run is read from the store; then the step is run as
in a whole run. One that this run has done already is not done again.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Literal

from stoker.artifacts import ArtifactMap
from stoker.dsl.component import Node
from stoker.errors import StepFailed, StokerError
from stoker.metadata.records import (
    ENDED_WELL,
    NUM_ROUNDS,
    ROUND,
    SKIPPED,
    Execution,
    ExecutionState,
)
from stoker.runner.earlier import find_earlier
from stoker.runner.inputs import Round
from stoker.runner.other_nodes import reuse
from stoker.runner.steps import ENDED_BEFORE, Steps
from stoker.views.table import readable_path

_Known = Mapping[str, Mapping[str, Execution]]
"""How the rounds of each step have ended well in this run."""


def join_run(steps: Steps, node: Node, run: Callable[[], None]) -> Literal["done", "skipped"]:
    """Run a step with what this run has so far; says whether a condition has left it out."""
    known, outputs = _read_run(steps)
    for one in _list_before(steps, node):
        if _recall(steps, one, known.get(one.id, {}), outputs):
            raise StokerError(
                f"{node.id} comes after {one.id}, which is not done in run {steps.run_id}. First: "
                f"stoker step {readable_path(sys.argv[0])} {one.id} --run-id {steps.run_id}"
            )
    if not _recall(steps, node, known.get(node.id, {}), outputs):
        how = "was skipped" if steps.rounds.is_left_out(node) else "is done"
        steps.console.step(f"{node.id} {how} already in run {steps.run_id}")
    elif steps.waited_after is not None and (failed := _find_failed(steps, node)):
        raise StepFailed(f"{node.id} failed in another process: {failed.error.strip()}")
    elif (choice := steps.options.choice) and node not in choice.run:
        earlier = find_earlier(choice, steps.store, steps.pipeline.pipeline_name)
        if node not in earlier:
            raise StokerError(f"{node.id} is no part of this partial run. Leave it out.")
        reuse(steps, node, earlier[node])
    else:
        run()
    return "skipped" if steps.rounds.is_left_out(node) else "done"


def _read_run(steps: Steps) -> tuple[_Known, Mapping[int, ArtifactMap]]:
    executions = steps.store.executions(
        pipeline_name=steps.pipeline.pipeline_name,
        run_id=steps.run_id,
        only=(SKIPPED, ROUND, NUM_ROUNDS),
    )
    known: dict[str, dict[str, Execution]] = defaultdict(dict)
    for execution in executions:
        if execution.standing in ENDED_WELL:
            known[execution.node_id][str(execution.properties.get(ROUND, ""))] = execution
    return known, steps.store.outputs_of_run(steps.run_id)


def _list_before(steps: Steps, node: Node) -> list[Node]:
    """All that the step needs to know of, in order: loops around those before it, too."""
    choice = steps.options.choice
    wanted = {node}
    for step in reversed(steps.pipeline.steps):
        if step in wanted:
            wanted.update(step.upstream_nodes)
    parts = [*choice.run, *choice.reuse] if choice else steps.pipeline.steps
    return [
        step
        for step in steps.pipeline.steps
        if step in wanted and step in parts and step is not node
    ]


def _recall(
    steps: Steps, node: Node, known: Mapping[str, Execution], outputs: Mapping[int, ArtifactMap]
) -> list[Round]:
    """Take what a step has published in this run; gives those of its rounds that have not ended."""
    rounds, _ = steps.list_rounds(node)
    left = []
    for one in rounds or [Round(loops=node.loops)]:
        steps.rounds.now = one
        execution = known.get(".".join(map(str, one.place)))
        if execution is None:
            left.append(one)
        elif execution.standing == SKIPPED:
            steps.rounds.skip(node)
        else:
            steps.rounds.publish(node, outputs.get(execution.id, {}))
    if not left and steps.rounds.is_skipped_whole(node, rounds):
        steps.rounds.skip_whole(node.id)
    return left


def _find_failed(steps: Steps, node: Node) -> Execution | None:
    """How the process that this one has waited for has failed, if it has; not if it was killed."""
    assert steps.waited_after is not None
    executions = steps.store.executions(
        pipeline_name=steps.pipeline.pipeline_name,
        run_id=steps.run_id,
        node_id=node.id,
        states=(ExecutionState.FAILED,),
        newest=1,
    )
    news = [one for one in executions if one.id > steps.waited_after]
    return next((one for one in news if one.error != ENDED_BEFORE), None)
