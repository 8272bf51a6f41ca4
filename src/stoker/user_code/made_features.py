# SPDX-License-Identifier: Apache-2.0
"""Whether a user's model has functions that make features for its evaluation, by the text."""

import ast

_NAMES = frozenset({"transformed_features", "transformed_labels"})
"""What an evaluation looks for in a model if no functions are named to it."""


def may_make_features(path: str) -> bool:
    """Whether the text of a file names such a function, as a signature or as the model's own.

    A variable of that name, which most modules have, is none.
    """
    with open(path, "rb") as file:
        text = file.read()
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return True
    return any(
        (isinstance(node, ast.Constant) and node.value in _NAMES)
        or (isinstance(node, ast.Attribute | ast.FunctionDef) and _name(node) in _NAMES)
        for node in nodes
    )


def _name(node: ast.Attribute | ast.FunctionDef) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.name
