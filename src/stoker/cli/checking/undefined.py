# SPDX-License-Identifier: Apache-2.0
"""Names that a file uses and nothing in it, or only what follows, gives a value: they fail.

What the text alone does not show is left alone: a file with `import *`, `exec` or `globals()`, a
notebook whose magics make names, a name that a `try` catches, and annotations.
"""

import ast
import builtins
import re
import symtable
from collections.abc import Collection, Iterator

from stoker.any_python.lines import did_you_mean
from stoker.cli.checking.notebooks import Notebook

_GIVEN = frozenset(
    {
        *dir(builtins),
        *("__annotations__", "__builtins__", "__class__", "__file__", "__path__", "__qualname__"),
        *("__module__", "WindowsError", "get_ipython"),
    }
)
_OF_NOTEBOOKS = frozenset({"In", "Out", "_", "__", "___", "display", "exit", "quit"})
_MAKES_NAMES = re.compile(
    r"\bimport \*|\b(?:globals|locals|vars|exec|eval|global_enum|_convert_)\("
    r"|\b(?:builtins|sys\.modules)\b"
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_SCOPES_IN_EXPRESSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def find_undefined(
    tree: ast.Module, text: str, notebook: Notebook | None = None
) -> dict[ast.AST, str]:
    """The first use of each name that is not there, with what to say of it."""
    if _MAKES_NAMES.search(text) or (notebook and notebook.makes_names):
        return {}
    bound = _list_bound(symtable.symtable(text, "<checked>", "exec"))
    given = _GIVEN | (_OF_NOTEBOOKS if notebook else frozenset())
    first: dict[str, ast.Name] = {}
    for use in _list_global_uses(tree, []):
        if use.id not in bound | given:
            first.setdefault(use.id, use)
    found: dict[ast.AST, str] = {use: _describe(name, bound) for name, use in first.items()}
    for use in _list_early_uses(tree, bound - given):
        found[use] = f"{use.id} gets its value only further below. Move that up, or this down."
    return found


def _list_early_uses(tree: ast.Module, bound: Collection[str]) -> Iterator[ast.Name]:
    """The uses of names, outside of functions, that come before whatever gives them a value."""
    late = set(bound) - {
        name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names
    }
    for statement in tree.body:
        late -= _list_own_names(statement)
        if not isinstance(statement, (*_SCOPES, ast.Try)):
            for use in _list_global_uses(statement, [_list_names_in_scopes(statement)]):
                if use.id in late:
                    late.remove(use.id)  # once is enough
                    yield use


def _list_names_in_scopes(statement: ast.stmt) -> frozenset[str]:
    """What is used only when a function that the statement makes is called."""
    inner = [one for one in ast.walk(statement) if isinstance(one, _SCOPES)]
    used = (one.id for scope in inner for one in ast.walk(scope) if isinstance(one, ast.Name))
    return frozenset(used)


def _describe(name: str, bound: Collection[str]) -> str:
    near = did_you_mean(name, bound, closeness=0.8)
    return f"{name} has no value in this file.{near} Import it, or give it one."


def _list_bound(table: symtable.SymbolTable) -> frozenset[str]:
    """What gets a value at the top of a file, from there or by a function's `global`."""
    is_top = table.get_type() == "module"
    bound = frozenset(
        one.get_name()
        for one in table.get_symbols()
        if (is_top or one.is_declared_global())
        and (one.is_assigned() or one.is_imported() or one.is_namespace())
    )
    return bound.union(*map(_list_bound, table.get_children()))


def _list_global_uses(node: ast.AST, outer: list[Collection[str]]) -> Iterator[ast.Name]:
    """The names that are read, in the order of the text, and belong to no function or class."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and not any(node.id in names for names in outer):
            yield node
        return
    inner = outer
    if isinstance(node, (*_SCOPES, *_SCOPES_IN_EXPRESSIONS)):
        inner = [*outer, _list_own_names(node)]
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns") or (field == "body" and _catches_names(node)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _list_global_uses(child, inner)


def _list_own_names(scope: ast.AST) -> frozenset[str]:
    """What a function, a class or a comprehension binds, with what those inside of it bind.

    That is more than Python lets it see, and so nothing is told that is not missing.
    """
    found: set[str] = set()
    for node in ast.walk(scope):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found.add(asname or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                found.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
    return frozenset(found)


def _catches_names(node: ast.AST) -> bool:
    """Whether a `try` goes on where a name is not there."""
    if not isinstance(node, ast.Try):
        return False
    caught = [ast.unparse(one.type) if one.type else "Exception" for one in node.handlers]
    return any(re.search(r"\b(NameError|Exception|BaseException)\b", text) for text in caught)
