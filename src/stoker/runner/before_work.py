# SPDX-License-Identifier: Apache-2.0
"""What would make a step fail for certain: told for all steps before the first of them runs."""

from collections.abc import Iterable, Iterator, Mapping

from stoker.dsl.component import BaseComponent, Node
from stoker.dsl.user_code import UserCodeComponent
from stoker.errors import StokerError
from stoker.runner.plan import StepPlan, import_paths
from stoker.user_code.imports import is_importable
from stoker.user_code.problems import find_problems


def check_before_work(nodes: Iterable[Node], plans: Mapping[str, StepPlan]) -> None:
    """Raise StokerError if the user's code of a step is not there, or cannot be what it needs."""
    found = [
        f"{node.id}: {problem}"
        for node in nodes
        if isinstance(node, BaseComponent)
        for problem in _find_problems(node, plans[node.id])
    ]
    if found:
        raise StokerError("\n  ".join(["Nothing was run.", *found] if found[1:] else found))


def _find_problems(node: BaseComponent, plan: StepPlan) -> Iterator[str]:
    if not isinstance(node, UserCodeComponent) or not node.executor_spec.class_path.startswith(
        "stoker."
    ):
        return  # an executor of the user's own may need something else
    dotted = [name for name in node.FUNCTIONS if plan.parameters.get(name)]
    if not plan.user_file:
        for name in dotted:
            if not is_importable(plan.parameters[name].partition(".")[0]):
                yield f"there is no module for {name}={plan.parameters[name]!r}."
    elif not plan.needs.python:
        functions = () if dotted else node.FUNCTIONS
        yield from find_problems(plan.user_file, functions, import_paths())
