# SPDX-License-Identifier: Apache-2.0
"""What the expressions in a user's modules are, where they are texts that the modules say."""

import ast
from collections import Counter
from itertools import chain


class Texts:
    """The texts that the names of modules stand for, where each is given one."""

    def __init__(self, *trees: ast.Module) -> None:
        self._values: dict[str, ast.expr] = {}
        given: Counter[str] = Counter()
        for node in chain.from_iterable(map(ast.walk, trees)):
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    self._values[name] = value
                    given[name] += 1
                case ast.arg(arg=name):
                    given[name] += 2  # what a function is given, only its caller knows
        self._values = {name: value for name, value in self._values.items() if given[name] == 1}

    def find(self, node: ast.expr | None, depth: int = 0) -> str | None:
        """The text that an expression is; None if the module alone does not say it."""
        if depth > 20:  # a name that is made of itself
            return None
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name) if name in self._values:
                return self.find(self._values[name], depth + 1)
            case ast.FormattedValue(value=value, format_spec=None):
                return self.find(value, depth + 1)
            case ast.JoinedStr(values=parts):
                return self._join(parts, depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._join([left, right], depth)
        return None

    def _join(self, parts: list[ast.expr], depth: int) -> str | None:
        found = [self.find(part, depth + 1) for part in parts]
        return None if None in found else "".join(filter(None, found))
