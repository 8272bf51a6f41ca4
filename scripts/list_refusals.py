# SPDX-License-Identifier: Apache-2.0
"""Lists every error that our code can make, with its whole text: tests/test_user_messages.py.

    python scripts/list_refusals.py            file:line  class  text
    python scripts/list_refusals.py runner/    only of files whose path has this in it

A text is followed through names, tables, joins and functions, into other modules too. `{…}` stands
for what only a run knows; of several endings the longest is meant.
"""

import argparse
import ast
import builtins
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
UNKNOWN, FILLED_IN = "{…}", "XXXXXXXX"
OF_OTHERS = {"ClickException", "UsageError"}
"""Classes of errors that are neither Python's nor ours."""
PROBLEM = "Problem"
"""Why a step would fail: the text of an error that is told before the first one runs."""
_MOST_CALLS = 5
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    """Print the list."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", nargs="?", default="", help="a part of the paths to list")
    part = parser.parse_args().part
    for place, name, text in list_refusals():
        if part in place:
            print(f"{place}  {name}  {' '.join(text.split())}")


def list_refusals() -> Iterator[tuple[str, str, str]]:
    """The place, the class and the whole text of each error."""
    errors = _find_errors()
    for module in _read_modules().values():
        for scope, call in module.calls:
            for name, text in _read_error(call, scope, errors):
                if " " in text.strip():
                    yield module.locate(call), name, text
        yield from _list_own_texts(module)


def list_unread() -> Iterator[tuple[str, str]]:
    """The place and the class of each error that is raised with a text which is not in the list.

    Those are left out that pass on the words of another error, or a name alone.
    """
    modules = _read_modules().values()
    read = {place for place, _, _ in list_refusals()}
    by_themselves = {name for module in modules for _, name, _ in _list_own_texts(module)}
    for module in modules:
        for call in module.raised:
            match call.args[:1]:
                case [] | [ast.Name() | ast.Attribute() | ast.Subscript()]:
                    continue
                case [ast.Call(func=ast.Name(id="str"))]:
                    continue
            if module.locate(call) not in read and _name(call.func) not in by_themselves:
                yield module.locate(call), _name(call.func)


def _list_own_texts(module: "Module") -> Iterator[tuple[str, str, str]]:
    """What classes of errors say themselves: in `__str__`, or to the class above."""
    said = [(Scope(module, name), value) for name, value in module.shown]
    said += [(scope, call.args[0]) for scope, call in module.calls if _is_super(call) and call.args]
    for scope, value in said:
        if scope.owner in _find_errors() and " " in (text := read_text(value, scope)).strip():
            yield module.locate(value), scope.owner, text


@dataclass
class Module:
    """One of our files, and what its names stand for."""

    path: Path
    constants: dict[str, ast.expr] = field(default_factory=dict)
    functions: dict[str, _Function] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    calls: list[tuple["Scope", ast.Call]] = field(default_factory=list)
    raised: list[ast.Call] = field(default_factory=list)
    bases: dict[str, list[str]] = field(default_factory=dict)
    """Of every class here, the names of what it inherits from."""
    shown: list[tuple[str, ast.expr]] = field(default_factory=list)
    """What classes here say of themselves: `__str__`."""

    def locate(self, node: ast.expr) -> str:
        """Where a node stands."""
        return f"{self.path.relative_to(SOURCE.parent)}:{node.lineno}"


@dataclass(frozen=True)
class Scope:
    """Where an expression stands: what names mean there."""

    module: Module
    owner: str = ""
    """The class around it."""
    locals: Mapping[str, str] = field(default_factory=dict)
    num_calls: int = 0


@functools.cache
def _read_modules() -> dict[str, Module]:
    modules = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if not path.name.endswith("_pb2.py"):
            parts = path.relative_to(SOURCE).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            modules[name] = _read_module(path, name)
    return modules


def _read_module(path: Path, name: str) -> Module:
    module, tree = Module(path), ast.parse(path.read_text())
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=source, names=aliases, level=level):
                home = ".".join(name.split(".")[:-level]) + f".{source}" if level else source
                for alias in aliases:
                    module.imports[alias.asname or alias.name] = (home or "", alias.name)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                module.functions[node.name] = node
            case ast.ClassDef(name=of_class, bases=bases, body=body):
                module.bases[of_class] = [_name(base) for base in bases]
                module.shown += [(of_class, value) for value in _list_shown(body)]
            case ast.Raise(exc=ast.Call() as call):
                module.raised.append(call)
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                module.constants[target] = value
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value):
                module.constants[target] = value
    module.calls.extend(_walk(tree, Scope(module)))
    return module


def _list_shown(body: list[ast.stmt]) -> Iterator[ast.expr]:
    for function in body:
        if isinstance(function, ast.FunctionDef) and function.name == "__str__":
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and node.value is not None:
                    yield node.value


def _walk(node: ast.AST, scope: Scope) -> Iterator[tuple[Scope, ast.Call]]:
    """Every call below a node, with the function that it stands in."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef(name=owner):
                yield from _walk(child, Scope(scope.module, owner))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inside = _Lazy(child, scope)
                yield from _walk(child, Scope(scope.module, scope.owner, inside))
            case _:
                if isinstance(child, ast.Call):
                    yield scope, child
                yield from _walk(child, scope)


class _Lazy(Mapping[str, str]):
    """What the names in a function stand for, as far as its text shows that; found when asked."""

    def __init__(
        self, function: _Function, scope: Scope, given: Mapping[str, str] | None = None
    ) -> None:
        self._values: dict[str, list[ast.expr]] = {}
        self._added: dict[str, list[ast.expr]] = {}
        self._given, self._outer = given or {}, scope
        self._asked: set[str] = set()
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._values.setdefault(name, []).append(value)
                case ast.NamedExpr(target=ast.Name(id=name), value=value):
                    self._values.setdefault(name, []).append(value)
                case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                    self._added.setdefault(name, []).append(value)
        arguments = function.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        self._parameters = {one.arg for one in every}
        last = (*arguments.posonlyargs, *arguments.args)[-len(arguments.defaults) :]
        self.defaults = {
            **(scope.locals.defaults if isinstance(scope.locals, _Lazy) else {}),
            **dict(zip([one.arg for one in last], arguments.defaults, strict=False)),
        }
        """What parameters mean to who does not give them."""

    def __getitem__(self, name: str) -> str:
        if name in self._asked:  # a name that is made of itself
            return UNKNOWN
        if name not in self:
            raise KeyError(name)
        self._asked.add(name)
        try:
            scope = Scope(self._outer.module, self._outer.owner, self, self._outer.num_calls)
            texts = [read_text(value, scope) for value in self._values.get(name, ())]
            if name in self._parameters:
                texts.append(self._given.get(name, UNKNOWN))
            if not texts:
                return self._outer.locals[name]
            return _choose(texts) + "".join(
                read_text(value, scope) for value in self._added.get(name, ())
            )
        finally:
            self._asked.discard(name)

    def __contains__(self, name: object) -> bool:
        return name in self._values or name in self._parameters or name in self._outer.locals

    def __iter__(self) -> Iterator[str]:
        return iter({*self._values, *self._parameters})

    def __len__(self) -> int:
        return len(set(self))


@functools.cache
def _find_errors() -> set[str]:
    """The names of all classes of errors: Python's, ours and some others'."""
    errors = OF_OTHERS | {
        name
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    inherits = [one for module in _read_modules().values() for one in module.bases.items()]
    while found := {name for name, bases in inherits if errors & {*bases}} - errors:
        errors |= found
    return errors


def _is_super(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"):
            return True
    return False


def _read_error(call: ast.Call, scope: Scope, errors: set[str]) -> Iterator[tuple[str, str]]:
    """The class and the text of the error that a call makes, by itself or through a function."""
    match call:
        case ast.Call(func=function) if _name(function) in errors | {PROBLEM}:
            given = [*call.args, *(one.value for one in call.keywords if one.arg == "text")]
            if given:
                yield _name(function), read_text(given[0], scope)
        case _:
            for returned, inside in _enter(call, scope):
                if isinstance(returned, ast.Call):
                    yield from _read_error(returned, inside, errors)


def _enter(call: ast.Call, scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
    """What a function of ours returns, with the arguments of this call for its parameters."""
    found = _find_function(call.func, scope.module)
    if found is None or scope.num_calls >= _MOST_CALLS:
        return
    home, function = found
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(call.func, ast.Attribute) and names[:1] in (["self"], ["cls"]):
        del names[0]
    given = {
        name: read_text(value, scope)
        for name, value in zip(names, call.args, strict=False)
        if not isinstance(value, ast.Starred)
    }
    given |= {one.arg: read_text(one.value, scope) for one in call.keywords if one.arg}
    outer = Scope(home, num_calls=scope.num_calls + 1)
    inside = Scope(home, "", _Lazy(function, outer, given), outer.num_calls)
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value, inside


def _find_function(function: ast.expr, module: Module) -> tuple[Module, _Function] | None:
    match function:
        case ast.Name(id=name):
            pass
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            pass
        case _:
            return None
    if name in module.functions:
        return module, module.functions[name]
    home, there = module.imports.get(name, ("", name))
    other = _read_modules().get(home)
    return _find_function(ast.Name(id=there), other) if other else None


def read_text(node: ast.expr, scope: Scope) -> str:
    """A text as it will be read, with `{…}` for what only a run knows."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(read_text(part, scope) for part in parts)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return read_text(value, scope)
        case ast.NamedExpr(value=value):
            return read_text(value, scope)
        case ast.Name(id=name):
            return _read_name(name, scope)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return read_text(left, scope) + read_text(right, scope)
        case ast.IfExp(body=one, orelse=other):
            return _choose([read_text(one, scope), read_text(other, scope)])
        case ast.BoolOp(values=values):
            return _choose([read_text(value, scope) for value in values])
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str() as glue), attr="join"),
            args=[ast.List(elts=parts) | ast.Tuple(elts=parts)],
        ):
            return glue.join(read_text(part, scope) for part in parts)
        case (
            ast.Subscript(value=ast.Name(id=name))
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"))
        ):
            return _choose(list(_list_values(name, scope)))
        case ast.Call():
            return _choose([read_text(value, inside) for value, inside in _enter(node, scope)])
    return UNKNOWN


def _read_name(name: str, scope: Scope) -> str:
    if name in scope.locals:
        return scope.locals[name]
    found = _find_constant(name, scope.module)
    return read_text(found[1], Scope(found[0])) if found else UNKNOWN


def _find_constant(name: str, module: Module) -> tuple[Module, ast.expr] | None:
    if name in module.constants:
        return module, module.constants[name]
    home, there = module.imports.get(name, ("", name))
    other = _read_modules().get(home)
    return _find_constant(there, other) if other else None


def _list_values(name: str, scope: Scope) -> Iterator[str]:
    """The texts in a table, which may be the default of a parameter."""
    if isinstance(scope.locals, _Lazy) and name in scope.locals.defaults:
        match scope.locals.defaults[name]:
            case ast.Name(id=name):
                pass
    if found := _find_constant(name, scope.module):
        yield from _list_table(found[1], Scope(found[0]))


def _list_table(table: ast.expr, scope: Scope) -> Iterator[str]:
    match table:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if key is None:  # **more
                    yield from _list_table(value, scope)
                else:
                    yield read_text(value, scope)
        case ast.Call(func=ast.Attribute(attr="fromkeys"), args=[_, value]):
            yield read_text(value, scope)


def _choose(texts: list[str]) -> str:
    return max(texts, key=lambda text: len(fill_in(text)), default=UNKNOWN)


def fill_in(text: str) -> str:
    """A text that is as long as it will be read."""
    return text.replace(UNKNOWN, FILLED_IN)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


if __name__ == "__main__":
    main()
