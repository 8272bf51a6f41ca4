# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's functions that are called on Keras's inputs, which Keras 3 refuses."""

import ast
from collections.abc import Callable, Iterator

_OF_TENSORFLOW = "tensorflow."
_OF_KERAS = ("tensorflow.keras.", "keras.")
_Scope = ast.Module | ast.FunctionDef


def find_functions_on_inputs(
    tree: ast.Module, resolve: Callable[[ast.expr], str]
) -> Iterator[tuple[int, str]]:
    """The lines that call a function of TensorFlow on what `keras.Input` has made.

    An input is followed by its name, also into the functions of the file that are given it.
    """
    functions = {one.name: one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
    scopes: list[_Scope] = [tree, *functions.values()]
    waiting = [(scope, frozenset(_list_inputs(scope, resolve))) for scope in scopes]
    seen: set[tuple[_Scope, frozenset[str]]] = set()
    while waiting:
        scope, inputs = waiting.pop()
        if not inputs or (scope, inputs) in seen:
            continue
        seen.add((scope, inputs))
        for call in (one for one in _walk_scope(scope) if isinstance(one, ast.Call)):
            given = [place for place, one in enumerate(call.args) if _names_any(one, inputs)]
            if not given:
                continue
            meant = resolve(call.func)
            if meant.startswith(_OF_TENSORFLOW) and not meant.startswith(_OF_KERAS):
                yield call.lineno, f"calls {ast.unparse(call.func)} on a Keras input"
            elif isinstance(call.func, ast.Name) and call.func.id in functions:
                called = functions[call.func.id]
                names = [one.arg for one in called.args.args]
                waiting.append(
                    (called, frozenset(names[place] for place in given if names[place:]))
                )


def _list_inputs(scope: _Scope, resolve: Callable[[ast.expr], str]) -> Iterator[str]:
    """The names that a scope gives to inputs, or to what it keeps them in."""
    for node in _walk_scope(scope):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            meant = resolve(node.value.func)
            if meant.startswith(_OF_KERAS) and meant.endswith(".Input"):
                target = node.targets[0]
                kept = target.value if isinstance(target, ast.Subscript) else target
                if isinstance(kept, ast.Name):
                    yield kept.id


def _names_any(node: ast.expr, names: frozenset[str]) -> bool:
    """Whether an argument is one of the names, or something out of it, or a list of them."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Subscript(value=value) | ast.Starred(value=value):
            return _names_any(value, names)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return any(_names_any(part, names) for part in parts)
    return False


def _walk_scope(scope: _Scope) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of the functions that it defines."""
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
