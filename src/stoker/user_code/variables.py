# SPDX-License-Identifier: Apache-2.0
"""The variables of the environment that a user's code cannot do without."""

import ast
import os
from collections import Counter
from collections.abc import Collection, Iterator

from stoker.any_python.notes import is_stokers_variable

_ASKERS = frozenset({"os.getenv", "getenv", "os.environ.get", "environ.get"})
_SETTERS = frozenset({"load_dotenv", "putenv", "update"})
"""Functions that may set any variable; what stands for `update` is that of `os.environ`."""


class VariableReader:
    """Reads what modules ask of the environment."""

    def __init__(self, trees: Collection[ast.Module]) -> None:
        nodes = [node for tree in trees for node in ast.walk(tree)]
        self._set = {name for node in nodes if (name := _find_set(node))}
        self._sets_any = any(_may_set_any(node) for node in nodes)
        bound = Counter(
            node.id
            for node in nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        self._asked = {
            target.id: name
            for tree in trees
            for target, name in _list_asked(tree)
            if bound[target.id] == 1
        }
        """By the names that stand for them, in whichever of the modules."""

    def find_lack(self, node: ast.AST) -> str | None:
        """What to say of a node that looks up what is not set; None for all others."""
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
            return None
        name = _name_key(node)
        if name is None or not self._is_lacking(name):
            return None
        return f"the environment variable {name} is not set: export it before the run."

    def find_lack_of_text(self, node: ast.AST) -> str | None:
        """What to say of a node that makes text of what is not set, and therefore None."""
        for part in _list_parts_of_text(node):
            name = self._asked.get(getattr(part, "attr", getattr(part, "id", "")))
            if name and self._is_lacking(name):
                return (
                    f"the environment variable {name} is not set, and this line makes text of it: "
                    "export it before the run."
                )
        return None

    def _is_lacking(self, name: str) -> bool:
        is_set = self._sets_any or name in self._set or name in os.environ
        return not is_set and not is_stokers_variable(name)  # workers have those


def _list_asked(tree: ast.Module) -> Iterator[tuple[ast.Name, str]]:
    """The names at the top of a module that stand for a variable, or None: `B = os.getenv("B")`."""
    for statement in tree.body:
        match statement:
            case ast.Assign(
                targets=[ast.Name() as target],
                value=ast.Call(
                    func=ast.Attribute(attr="getenv" | "get") | ast.Name(id="getenv") as function,
                    args=[ast.Constant(value=str(name))],
                    keywords=[],
                ),
            ) if ast.unparse(function) in _ASKERS:
                yield target, name


def _list_parts_of_text(node: ast.AST) -> Iterator[ast.expr]:
    """The names that an expression joins to text."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from (left, right)
        case ast.Call(func=ast.Attribute(attr="join", value=ast.Attribute(attr="path"))):
            yield from node.args


def _find_set(node: ast.AST) -> str | None:
    """The variable that a node sets."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return _name_key(node)
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "setdefault":
        return _read_text(node.args[0]) if node.args else None
    return None


def _may_set_any(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    owner = getattr(node.func, "value", None)
    return name in _SETTERS and (name != "update" or _is_environ(owner))


def _name_key(node: ast.Subscript) -> str | None:
    return _read_text(node.slice) if _is_environ(node.value) else None


def _is_environ(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in (
        "environ",
        "os.environ",
    )


def _read_text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
