# SPDX-License-Identifier: Apache-2.0
"""What the steps that are left out of a partial run give instead: outputs of an earlier run."""

from typing import TYPE_CHECKING

from stoker.dsl.component import Node
from stoker.dsl.partial_run import Choice
from stoker.errors import StokerError
from stoker.metadata.records import ENDED_WELL, Execution

if TYPE_CHECKING:
    from stoker.metadata.store import Store


def find_earlier(choice: Choice, store: "Store", pipeline_name: str) -> dict[Node, list[Execution]]:
    """The executions of each step that is not run and whose outputs are needed.

    They are those of the last run in which the step ended well, or a condition left it out; or of
    the run that was asked for.
    """
    return {node: _find_executions(node, choice, store, pipeline_name) for node in choice.reuse}


def _find_executions(
    node: Node, choice: Choice, store: "Store", pipeline_name: str
) -> list[Execution]:
    executions = store.executions(
        pipeline_name=pipeline_name, node_id=node.id, run_id=choice.base_run_id
    )
    past = [execution for execution in executions if execution.standing in ENDED_WELL]
    if not past:
        where = f"run {choice.base_run_id}" if choice.base_run_id else "an earlier run"
        raise StokerError(
            f"{node.id} is not part of this run, and {where} has no outputs of it to use. "
            f"Run the whole pipeline once, or from there on: from_nodes=[{node.id!r}]."
        )
    return [execution for execution in past if execution.run_id == past[-1].run_id]
