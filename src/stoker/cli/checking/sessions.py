# SPDX-License-Identifier: Apache-2.0
"""Sessions of TensorFlow 1 that are given what TensorFlow 2 has computed already."""

import ast
import re
from collections.abc import Iterator

_SESSION = re.compile(r"(?:tf|tensorflow)(?:\.compat\.v1)?\.(?:Interactive)?Session")
_MAKES_GRAPHS = re.compile(r"\b(?:disable_eager_execution|disable_v2_behavior|as_default)\(")


def find_eager_runs(tree: ast.Module, text: str) -> Iterator[ast.Call]:
    """The calls `session.run(x)` at the top of a program whose x was made outside of its `with`."""
    if _MAKES_GRAPHS.search(text):
        return
    for block in tree.body:
        match block:
            case ast.With(
                items=[
                    ast.withitem(context_expr=ast.Call(func=made), optional_vars=ast.Name(id=name))
                ]
            ) if _SESSION.fullmatch(ast.unparse(made)):
                yield from _find_runs(block, name)


def _find_runs(block: ast.With, session: str) -> Iterator[ast.Call]:
    nodes = [node for statement in block.body for node in ast.walk(statement)]
    inside = {
        one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    for node in nodes:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="run"),
                args=[ast.Name(id=fetched), *_],
            ) if owner == session and fetched not in inside:
                yield node
