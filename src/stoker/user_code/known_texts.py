# SPDX-License-Identifier: Apache-2.0
"""The texts that names in a file stand for, as far as it says them: `HERE + "/module.py"`."""

import ast
import os
from collections import Counter

_FOLDERS_OF = {"abspath", "as_posix", "absolute", "expanduser", "fspath", "normpath", "realpath"}
_FOLDERS_OF |= {"resolve", "str"}
_HERE = {"cwd", "getcwd"}
_WRITERS = ("GFile", "copy", "dump", "move", "open", "save", "to_", "write", "Write")
"""How functions begin that make the file which they are given."""


class KnownTexts:
    """What the names in a file stand for, where that is text which the file itself has."""

    def __init__(self, tree: ast.Module, path: str = "") -> None:
        self._path = os.path.abspath(path) if path else None
        self._values: dict[str, ast.expr] = {}
        given: Counter[str] = Counter()
        passed = _find_passed(tree)
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._values[name] = value
                    given[name] += 1
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self._values[name] = value
                    given[name] += 1
                case ast.arg(arg=name) if name in passed:
                    match passed[name]:
                        case ast.Name(id=same) if same == name:
                            pass  # what it is called there, too
                        case value:
                            self._values[name] = value
                            given[name] += 1
                case ast.arg(arg=name):
                    given[name] += 2  # what a function is given, only its caller knows
        self._values = {name: value for name, value in self._values.items() if given[name] == 1}

    def find(self, node: ast.expr | None) -> str | None:
        """The text that an expression is; None if the file alone does not say it."""
        return None if node is None else self._find(node, depth=0)

    def expand(self, node: ast.expr) -> ast.expr:
        """What a name is given, where the file gives it once; any other expression is itself."""
        for _ in range(20):  # a name may be made of itself
            if not (isinstance(node, ast.Name) and node.id in self._values):
                break
            node = self._values[node.id]
        return node

    def find_written(self, tree: ast.Module) -> frozenset[str]:
        """The paths that the file hands to functions which write or copy something."""
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        given = (
            value
            for call in calls
            if get_name(call.func).startswith(_WRITERS)
            for value in (*call.args, *(keyword.value for keyword in call.keywords))
        )
        return frozenset(path for value in given if (path := self.find(value)))

    def _find(self, node: ast.expr, depth: int) -> str | None:
        if depth > 20:  # a name that is made of itself
            return None
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id="__file__"):
                return self._path
            case ast.Name(id=name) if name in self._values:
                return self._find(self._values[name], depth + 1)
            case ast.JoinedStr(values=parts):
                return self._join("", parts, depth)
            case ast.FormattedValue(value=value, format_spec=None):
                return self._find(value, depth + 1)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._join("", [left, right], depth)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._join(os.sep, [left, right], depth)
            case ast.Attribute(value=value, attr="parent"):
                return self._find_folder(value, depth)
            case ast.Call(func=function, args=arguments):
                return self._find_call(function, arguments, depth)
        return None

    def _find_call(self, function: ast.expr, arguments: list[ast.expr], depth: int) -> str | None:
        name = get_name(function)
        if name in _HERE:
            return os.curdir  # wherever the program will be started
        if name in ("join", "Path", "PurePath") and arguments:
            return self._join(os.sep, arguments, depth)
        if name == "format" and isinstance(function, ast.Attribute):
            return self._fill(function.value, arguments, depth)
        if name == "joinpath" and isinstance(function, ast.Attribute):
            return self._join(os.sep, [function.value, *arguments], depth)
        if name == "dirname" and arguments:
            return self._find_folder(arguments[0], depth)
        if name in _FOLDERS_OF:
            owner = [function.value] if isinstance(function, ast.Attribute) else []
            return self._find((arguments or owner)[0], depth + 1) if arguments or owner else None
        return None

    def _fill(self, template: ast.expr, arguments: list[ast.expr], depth: int) -> str | None:
        """What `"{}/{}".format(ONE, TWO)` is; other fields than `{}` are not looked at."""
        pieces = (self._find(template, depth + 1) or "").split("{}")
        if len(pieces) != len(arguments) + 1 or any({"{", "}"} & set(one) for one in pieces):
            return None
        texts = [self._find(one, depth + 1) for one in arguments]
        known = [text for text in texts if text is not None]
        if len(known) < len(texts):
            return None
        return "".join(a + b for a, b in zip(pieces, [*known, ""], strict=True))

    def _find_folder(self, node: ast.expr, depth: int) -> str | None:
        found = self._find(node, depth + 1)
        if found == os.curdir:
            return os.pardir
        return None if found is None else os.path.dirname(found)

    def _join(self, between: str, parts: list[ast.expr], depth: int) -> str | None:
        found = [self._find(part, depth + 1) for part in parts]
        known = [text for text in found if text is not None]
        if len(known) < len(found):
            return None
        if not between:
            return "".join(known)
        return os.path.join(*known).removeprefix(os.path.join(os.curdir, ""))


def get_name(function: ast.expr) -> str:
    """The last part of what a function is called."""
    return getattr(function, "attr", getattr(function, "id", ""))


def _find_passed(tree: ast.Module) -> dict[str, ast.expr]:
    """What the functions are given that the file calls in one place, by the names of arguments."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found: dict[str, ast.expr] = {}
    for function in functions:
        of_it = [call for call in calls if getattr(call.func, "id", "") == function.name]
        if len(of_it) == 1:
            names = [argument.arg for argument in function.args.args]
            found |= dict(zip(names, of_it[0].args, strict=False))
            found |= {one.arg: one.value for one in of_it[0].keywords if one.arg}
    return found
