# SPDX-License-Identifier: Apache-2.0
"""The variables of the environment that a user's code cannot do without."""

import ast
import os
from collections.abc import Collection

from stoker.any_python.notes import is_stokers_variable

_SETTERS = frozenset({"load_dotenv", "putenv", "update"})
"""Functions that may set any variable; what stands for `update` is that of `os.environ`."""


class VariableReader:
    """Reads what modules ask of the environment."""

    def __init__(self, trees: Collection[ast.Module]) -> None:
        nodes = [node for tree in trees for node in ast.walk(tree)]
        self._set = {name for node in nodes if (name := _find_set(node))}
        self._sets_any = any(_may_set_any(node) for node in nodes)

    def find_lack(self, node: ast.AST) -> str | None:
        """What to say of a node that looks up what is not set; None for all others."""
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
            return None
        name = _name_key(node)
        if name is None or self._sets_any or name in self._set or name in os.environ:
            return None
        if is_stokers_variable(name):  # workers have it
            return None
        return f"the environment variable {name} is not set: export it before the run."


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
