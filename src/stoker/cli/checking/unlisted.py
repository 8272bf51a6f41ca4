# SPDX-License-Identifier: Apache-2.0
"""Steps that others read from and that `Pipeline(components=[…])` does not name.

A pipeline refuses that when it is made, unless its step can do without. The text alone shows it
where every name in the list is given a value once, and the list is not added to.
"""

import ast
from collections import Counter
from collections.abc import Iterator

from stoker import components
from stoker.user_code.known_texts import get_name


class StepLists:
    """The steps of one source by the names that it gives them once."""

    def __init__(self, tree: ast.Module) -> None:
        nodes = list(ast.walk(tree))
        names = [one for one in nodes if isinstance(one, ast.Name)]
        given = Counter(one.id for one in names if not isinstance(one.ctx, ast.Load))
        given.update(one.arg for one in nodes if isinstance(one, ast.arg))
        self._values = {
            target.id: one.value
            for one in nodes
            if isinstance(one, ast.Assign) and len(one.targets) == 1
            for target in one.targets
            if isinstance(target, ast.Name) and given[target.id] == 1
        }
        self._changed = {
            one.value.id
            for one in nodes
            if isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.value, ast.Name)
        }

    def find_unlisted(self, call: ast.Call) -> Iterator[str]:
        """What to say of the steps that a pipeline lacks."""
        if get_name(call.func) != "Pipeline":
            return
        listed = self._list_names(
            next((one.value for one in call.keywords if one.arg == "components"), None)
        )
        for name in listed:
            for needed in self._list_sources(self._values[name]):
                if needed not in listed:
                    yield (
                        f"{name} needs {needed}, which is not in the pipeline. "
                        "Add it to Pipeline(components=[…])."
                    )

    def _list_names(self, given: ast.expr | None) -> list[str]:
        """The names in a list of steps; none unless all of them are surely steps."""
        if isinstance(given, ast.Name) and given.id not in self._changed:
            given = self._values.get(given.id)
        if not isinstance(given, ast.List | ast.Tuple):
            return []
        names = [one.id for one in given.elts if isinstance(one, ast.Name)]
        are_steps = all(isinstance(self._values.get(name), ast.Call) for name in names)
        return names if are_steps and len(names) == len(given.elts) else []

    def _list_sources(self, step: ast.expr) -> Iterator[str]:
        """The steps, by name, without whose outputs a step of ours cannot run."""
        if not isinstance(step, ast.Call) or (kind := get_name(step.func)) not in components.STEPS:
            return
        table = getattr(getattr(components, kind), "SPEC_CLASS", None)
        inputs = table.INPUTS if table else {}  # an Importer or a Resolver has no table
        for given in step.keywords:
            match given.value:
                case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="outputs")):
                    is_needed = given.arg in inputs and inputs[given.arg].required
                    if is_needed and isinstance(self._values.get(name), ast.Call):
                        yield name
