# SPDX-License-Identifier: Apache-2.0
"""What of a pipeline file a definition in it depends on.

A worker runs the whole file, but for its main guard, and then calls the definition. So these count:
the definition, every statement that may do more than bind names, and the statements that bind any
name which one of these uses. What only binds names that none of them uses does not count: another
step, a helper of another step, a constant. Where names may be looked up in ways that the text does
not show (`globals()`, `eval`, `sys.modules`), all of the file counts.
"""

import ast
import re
import symtable
from collections.abc import Iterator, Sequence

from stoker.dsl.definitions import find_bound_names, find_used_names
from stoker.user_code.effects import PlainStatements, drop_main_guard

_LOOKUPS = frozenset(
    {
        *("__builtins__", "__import__", "dir", "eval", "exec", "globals", "locals", "vars"),
        *(
            "__annotations__",
            "__dict__",
            "__doc__",
            "__globals__",
            "__main__",
            "__subclasses__",
            "_getframe",
            "f_globals",
        ),
        *("builtins", "gc", "importlib", "inspect", "modules"),
    }
)
"""Names and attributes by which code finds what it does not name."""


def source_that_counts(text: str | bytes, name: str) -> str | bytes:
    """The statements of a file that a definition depends on, without comments and layout.

    The whole text where that cannot be told, or where there is no such definition.
    """
    try:
        statements = list(drop_main_guard(ast.parse(text).body))
        taken = _take(statements, name)
        if any(_LOOKUPS.intersection(_list_words(statement)) for statement in taken):
            return text
        return "\n".join(ast.unparse(one) for one in statements if one in taken) or text
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def _find_bindings(statements: Sequence[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """The statements by the names that they bind; `*` is what a star import binds."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in statements:
        for name in find_bound_names(statement):
            found.setdefault(name, []).append(statement)
        if "*" in _list_words(statement):
            found.setdefault("*", []).append(statement)
    return found


def _take(statements: Sequence[ast.stmt], name: str) -> set[ast.stmt]:
    """The statements that count; none if no statement binds the name."""
    bound = _find_bindings(statements)
    if name not in bound:
        return set()
    plain = PlainStatements(bound)
    wanted = [*bound[name], *(one for one in statements if one not in plain)]
    taken: set[ast.stmt] = set()
    while wanted:
        statement = wanted.pop()
        if statement not in taken:
            taken.add(statement)
            wanted += [one for used in _find_used(statement) for one in bound.get(used, ())]
    return taken


def _find_used(statement: ast.stmt) -> set[str]:
    """The names that a statement may use: those in its code, and whatever its strings name."""
    table = symtable.symtable(ast.unparse(statement), "definition", "exec")
    return find_used_names(table).union(_list_strings(statement))


def _list_strings(statement: ast.stmt) -> Iterator[str]:
    """The words of a statement's strings, docstrings apart: annotations and keys may be strings."""
    alone = {node.value for node in ast.walk(statement) if isinstance(node, ast.Expr)}
    for node in ast.walk(statement):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in alone:
            yield from re.findall(r"\w+", node.value)


def _list_words(statement: ast.stmt) -> Iterator[str]:
    """Every identifier of a statement: names, attributes, and what is imported."""
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word):
                yield word
            case ast.alias(name=path) | ast.ImportFrom(module=str(path)):
                yield from path.split(".")
