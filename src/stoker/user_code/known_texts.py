# SPDX-License-Identifier: Apache-2.0
"""The texts that names in a file stand for, as far as the text says them: `HERE + "/module.py"`."""

import ast
import os
from collections import Counter
from collections.abc import Iterator, Mapping

_FOLDERS_OF = {"abspath", "as_posix", "absolute", "expanduser", "fspath", "normpath", "realpath"}
_FOLDERS_OF |= {"resolve", "str"}
_HERE = {"cwd", "getcwd"}
_VARIABLES = {"os.getenv", "getenv", "os.environ.get", "environ.get"}
_WRITERS = ("GFile", "copy", "dump", "move", "open", "save", "to_", "write", "Write")
"""How functions begin that make the file which they are given."""


class KnownTexts:
    """What the names in a file stand for, where that is text which the file itself has."""

    def __init__(
        self, tree: ast.Module, path: str = "", others: Mapping[str, ast.Module] | None = None
    ) -> None:
        """`others` are the files that it imports, by path: their texts are known here, too."""
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
        self._sets_variables = any(map(_sets_variables, ast.walk(tree)))
        imported = _find_imported(tree, others) if others else ()
        self._imported = {
            name: text for name, text in imported if name.partition(".")[0] not in given
        }

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
            case ast.Name() | ast.Attribute() if (name := ast.unparse(node)) in self._imported:
                return self._imported[name]
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
        if ast.unparse(function) in _VARIABLES:
            return self._find_variable(arguments, depth)
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

    def _find_variable(self, arguments: list[ast.expr], depth: int) -> str | None:
        """What a variable of the environment is now, or what the file takes if it is not set."""
        texts = [self._find(one, depth + 1) for one in arguments]
        if self._sets_variables or not texts or texts[0] is None:
            return None
        return os.environ.get(texts[0], texts[1] if len(texts) > 1 else None)

    def list_texts(self) -> Iterator[tuple[str, str]]:
        """The names that stand for text, each with it."""
        for name, value in self._values.items():
            if (text := self.find(value)) is not None:
                yield name, text

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


def _find_imported(tree: ast.Module, others: Mapping[str, ast.Module]) -> Iterator[tuple[str, str]]:
    """What a file calls the texts of the files that it imports: `configs.ROOT`, or `ROOT`."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    for name, text in _list_texts_of(alias.name, others):
                        yield f"{alias.asname or alias.name}.{name}", text
            case ast.ImportFrom(module=module, names=names):
                texts = dict(_list_texts_of(module or "", others))
                for alias in names:
                    called = alias.asname or alias.name
                    if alias.name in texts:
                        yield called, texts[alias.name]
                    inner = f"{module}.{alias.name}" if module else alias.name
                    for name, text in _list_texts_of(inner, others):
                        yield f"{called}.{name}", text


def _list_texts_of(module: str, others: Mapping[str, ast.Module]) -> Iterator[tuple[str, str]]:
    """The texts of a module by their names; none if it is not certain which file it is."""
    end = os.sep + module.replace(".", os.sep)
    paths = [one for one in others if one.endswith((f"{end}.py", f"{end}{os.sep}__init__.py"))]
    if len(paths) == 1:
        yield from KnownTexts(others[paths[0]], paths[0]).list_texts()


def _sets_variables(node: ast.AST) -> bool:
    """Whether a node may set a variable of the environment that is read elsewhere in its file."""
    match node:
        case ast.Subscript(value=place, ctx=ast.Store()):
            return ast.unparse(place).endswith("environ")
        case ast.Call(func=ast.Attribute(value=place, attr="setdefault" | "update")):
            return ast.unparse(place).endswith("environ")
        case ast.Call(func=function):
            return get_name(function) in ("load_dotenv", "putenv")
    return False
