# SPDX-License-Identifier: Apache-2.0
"""The calls and look-ups that a user's module makes for certain, by its text."""

import ast
from collections.abc import Collection, Iterator

_MAY_BE_LEFT = (ast.If, ast.For, ast.While, ast.Try, ast.Match)
_HIDDEN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def find_sure_calls(
    trees: Collection[ast.Module], functions: Collection[str]
) -> frozenset[ast.Call | ast.Subscript]:
    """The calls and look-ups, `x[y]`, that loading the modules and calling `functions` makes.

    What stands under an `if`, in a loop or after what may return early is in doubt; so is what is
    called by anything but the name of a function of these modules.
    """
    bodies = {one.name: one.body for tree in trees for one in _list_functions(tree)}
    sure: set[ast.Call | ast.Subscript] = set()
    waiting = [tree.body for tree in trees]
    waiting += [bodies.pop(name) for name in functions if name in bodies]
    while waiting:
        for call in _find_calls(waiting.pop()):
            sure.add(call)
            name = getattr(getattr(call, "func", None), "id", None)
            if name in bodies:
                waiting.append(bodies.pop(name))
    return frozenset(sure)


def _list_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def _find_calls(body: list[ast.stmt]) -> Iterator[ast.Call | ast.Subscript]:
    """The calls that statements make whatever happens."""
    for statement in body:
        if isinstance(statement, ast.If) and _is_main(statement.test):
            yield from _find_calls(statement.body)
        elif isinstance(statement, ast.With):
            yield from _find_calls([ast.Expr(item.context_expr) for item in statement.items])
            yield from _find_calls(statement.body)
        elif isinstance(statement, _MAY_BE_LEFT):
            if any(isinstance(node, ast.Return | ast.Raise) for node in ast.walk(statement)):
                return
        elif not isinstance(statement, _HIDDEN):
            yield from _list_calls(statement)


def _list_calls(node: ast.AST) -> Iterator[ast.Call | ast.Subscript]:
    if isinstance(node, ast.Call | ast.Subscript):
        yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*_HIDDEN, ast.IfExp, ast.BoolOp, ast.comprehension)):
            yield from _list_calls(child)


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and ast.unparse(test.left) == "__name__"
