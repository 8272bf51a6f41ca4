# SPDX-License-Identifier: Apache-2.0
"""Which statements of a file do nothing but bind names, as far as their text can prove it.

The proof takes some things for granted: that reading an attribute of a module, arithmetic, and the
few calls listed here change nothing that anybody else sees, and that the standard library, Stoker
and TFX change nothing when they are imported. Whatever else calls, stores, deletes, loops or
imports may change everything: it is not plain.
"""

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from stoker.any_python.own_code import OUR_PACKAGES

_STANDARD = sys.stdlib_module_names.union(OUR_PACKAGES)

_CALLS = frozenset(
    {
        *("abs", "bool", "bytes", "float", "int", "isinstance", "len", "print", "range", "repr"),
        *("round", "str", "object"),
        *("os.environ.get", "os.fspath", "os.getcwd", "os.getenv"),
        *("collections.defaultdict", "collections.namedtuple", "collections.OrderedDict"),
        *("dataclasses.field", "datetime.date", "datetime.datetime", "datetime.timedelta"),
        *("logging.getLogger", "pathlib.Path", "re.compile", "tempfile.gettempdir"),
        *("typing.NewType", "typing.TypeVar"),
    }
)
_CALLS_IN = ("os.path.",)
_METHODS = frozenset(
    {"absolute", "as_posix", "expanduser", "format", "join", "joinpath", "resolve", "with_id"}
)
"""What is called on the result of a plain call, or on a constant."""
_DECORATORS = frozenset(
    {
        *("classmethod", "property", "staticmethod"),
        *("abc.abstractmethod", "contextlib.contextmanager", "dataclasses.dataclass"),
        *("functools.cache", "functools.cached_property", "functools.lru_cache"),
        *("tensorflow.function", "typing.final", "typing.overload"),
    }
)
_BASES_IN = ("collections.", "enum.", "stoker.", "tfx.", "typing.", "abc.ABC")
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
"""Not `|`, `<<`, `>>` and the like, by which Beam and others build what they will run."""


def drop_main_guard(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that a worker runs: not those under `if __name__ == "__main__"`."""
    for statement in statements:
        if isinstance(statement, ast.If) and _is_main_guard(statement.test):
            yield from drop_main_guard(statement.orelse)
        else:
            yield statement


def _is_main_guard(test: ast.expr) -> bool:
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return {ast.unparse(left), ast.unparse(right)} == {"__name__", "'__main__'"}
        case ast.BoolOp(op=ast.And(), values=values):
            return any(map(_is_main_guard, values))
    return False


class PlainStatements:
    """The plain statements among those of a file; `bound` tells which ones bind each name."""

    def __init__(self, bound: Mapping[str, Sequence[ast.stmt]]) -> None:
        self._bound = bound

    def __contains__(self, statement: ast.stmt) -> bool:
        """Whether running a statement does nothing but bind the names that it binds."""
        match statement:
            case ast.Import(names=names):
                return all(alias.name.partition(".")[0] in _STANDARD for alias in names)
            case ast.ImportFrom(module=str(module), level=0, names=names):
                is_star = any(alias.name == "*" for alias in names)
                return module.partition(".")[0] in _STANDARD and not is_star
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._is_plain_function(statement)
            case ast.ClassDef():
                return self._is_plain_class(statement)
            case ast.Assign(targets=targets, value=value):
                taken_apart = not all(isinstance(target, ast.Name) for target in targets)
                return (
                    all(map(_is_name, targets))
                    and not (taken_apart and _may_be_iterator(value))
                    and self._is_plain(value)
                )
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                return _is_name(target) and self._are_plain([annotation, value])
            case ast.Delete(targets=targets):
                return all(map(_is_name, targets))
            case ast.Expr(value=value) | ast.Assert(test=value, msg=None):
                return self._is_plain(value)
            case ast.If(test=test, body=body, orelse=orelse):
                return self._is_plain(test) and self._are_all_plain([*body, *orelse])
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
                rest = [one for handler in handlers for one in handler.body]
                return self._are_all_plain([*body, *rest, *orelse, *finalbody])
            case ast.Pass():
                return True
        return False

    def _are_all_plain(self, statements: Iterable[ast.stmt]) -> bool:
        return all(statement in self for statement in statements)

    def _is_plain_function(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        given = function.args
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        annotations = [one.annotation for one in arguments if one]
        evaluated = [*given.defaults, *given.kw_defaults, *annotations, function.returns]
        return self._are_plain(evaluated) and all(map(self._decorates, function.decorator_list))

    def _is_plain_class(self, made: ast.ClassDef) -> bool:
        return (
            not made.keywords
            and all(map(self._decorates, made.decorator_list))
            and all(map(self._is_plain_base, made.bases))
            and self._are_all_plain(made.body)
        )

    def _decorates(self, decorator: ast.expr) -> bool:
        """Whether a decorator only wraps what it is given."""
        if isinstance(decorator, ast.Call):
            return self._decorates(decorator.func) and self._are_plain(_list_arguments(decorator))
        return self._find_path(decorator) in _DECORATORS or self._makes_component(decorator)

    def _makes_component(self, decorator: ast.expr) -> bool:
        path = self._find_path(decorator)
        return path.partition(".")[0] in OUR_PACKAGES and path.endswith(".component")

    def _is_plain_base(self, base: ast.expr) -> bool:
        """Whether a class does nothing when it is derived from."""
        path = self._find_path(base.value if isinstance(base, ast.Subscript) else base)
        if path.startswith(_BASES_IN) or isinstance(getattr(builtins, path, None), type):
            return True
        parent = self._find_own(base)
        return (
            isinstance(parent, ast.ClassDef)
            and "__init_subclass__" not in ast.unparse(parent)
            and parent in self
        )

    def _are_plain(self, expressions: Iterable[ast.expr | None]) -> bool:
        return all(one is None or self._is_plain(one) for one in expressions)

    def _is_plain(self, expression: ast.expr) -> bool:
        """Whether a value is found without changing anything."""
        match expression:
            case ast.Constant() | ast.Name():
                return True
            case ast.Attribute() | ast.Subscript():
                return self._is_plain_look(expression)
            case ast.Call():
                return self._is_plain_call(expression)
            case ast.BinOp(op=op):
                operands = [expression.left, expression.right]
                return isinstance(op, _ARITHMETIC) and self._are_plain(operands)
            case ast.Compare(ops=ops, comparators=others):
                asks_inside = any(isinstance(op, ast.In | ast.NotIn) for op in ops)
                return not (asks_inside and any(map(_may_be_iterator, others))) and (
                    self._are_plain([expression.left, *others])
                )
            case ast.Lambda(args=given):
                return self._are_plain([*given.defaults, *given.kw_defaults])
            case (
                ast.BoolOp()
                | ast.Dict()
                | ast.FormattedValue()
                | ast.IfExp()
                | ast.JoinedStr()
                | ast.List()
                | ast.Set()
                | ast.Slice()
                | ast.Tuple()
                | ast.UnaryOp()
            ):
                parts = ast.iter_child_nodes(expression)
                return all(self._is_plain(one) for one in parts if isinstance(one, ast.expr))
        return False

    def _is_plain_look(self, expression: ast.Attribute | ast.Subscript) -> bool:
        """Whether an attribute or item is one of a module, a plain call or a step's outputs.

        Objects of the user's own may have properties, and a defaultdict grows when it is read.
        """
        if isinstance(expression, ast.Subscript) and not self._is_plain(expression.slice):
            return False
        value = expression.value
        if isinstance(value, ast.Call):
            return self._is_plain_call(value)
        if isinstance(expression, ast.Attribute) and expression.attr == "outputs":
            return isinstance(value, ast.Name)
        if isinstance(value, ast.Attribute | ast.Subscript):
            return self._is_plain_look(value)
        return self._find_path(value) != ""

    def _is_plain_call(self, call: ast.Call) -> bool:
        if not self._are_plain(_list_arguments(call)):
            return False
        path = self._find_path(call.func)
        if path in _CALLS or path.startswith(_CALLS_IN) or self._makes_step(call.func):
            return True
        match call.func:
            case ast.Attribute(value=ast.Constant() | ast.Call() as value, attr=name):
                return name in _METHODS and self._is_plain(value)
        return False

    def _makes_step(self, called: ast.expr) -> bool:
        """Whether a call makes an object of Stoker's: a step, a message, a pipeline."""
        path = self._find_path(called)
        if path.partition(".")[0] in OUR_PACKAGES:
            name = path.rpartition(".")[2]
            return name[:1].isupper() and not name.endswith("Runner")
        own = self._find_own(called)
        return isinstance(own, ast.FunctionDef) and any(
            self._makes_component(one.func if isinstance(one, ast.Call) else one)
            for one in own.decorator_list
        )

    def _find_own(self, expression: ast.expr) -> ast.stmt | None:
        """The one statement of the file that says what a name is; None if there are several."""
        bindings = self._bound.get(expression.id, ()) if isinstance(expression, ast.Name) else ()
        return bindings[0] if len(bindings) == 1 else None

    def _find_path(self, expression: ast.expr) -> str:
        """The dotted name of what comes from elsewhere, by the imports of the file; else nothing.

        A name that nothing binds is a builtin.
        """
        if isinstance(expression, ast.Attribute):
            base = self._find_path(expression.value)
            return f"{base}.{expression.attr}" if base else ""
        if not isinstance(expression, ast.Name):
            return ""
        if expression.id not in self._bound:
            return "" if "*" in self._bound else expression.id
        own = self._find_own(expression)
        return _find_imported(own, expression.id) if own else ""


def _find_imported(statement: ast.stmt, name: str) -> str:
    """The dotted name of what a statement binds to a name, if it is an import; else nothing."""
    match statement:
        case ast.Import(names=names):
            for alias in names:
                if alias.asname == name:
                    return alias.name
            return name
        case ast.ImportFrom(module=str(module), level=0, names=names):
            for alias in names:
                if (alias.asname or alias.name) == name:
                    return f"{module}.{alias.name}"
    return ""


def _is_name(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_is_name, target.elts))
    return isinstance(target, ast.Name)


def _may_be_iterator(value: ast.expr) -> bool:
    """Whether to look through a value may use it up."""
    return not isinstance(value, ast.Tuple | ast.List | ast.Constant | ast.Attribute)


def _list_arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]
