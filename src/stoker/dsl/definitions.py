# SPDX-License-Identifier: Apache-2.0
"""One definition with every other that it uses: what of some source a step depends on."""

import ast
import symtable
from collections.abc import Callable, Sequence

_Statement = tuple[int, ast.stmt]
"""A statement, and the number of the text that it is in."""
_CHANGING = frozenset(
    {
        *("add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem"),
        *("remove", "reverse", "setdefault", "sort", "update"),
    }
)
"""The methods of Python's own containers that change them."""


def find_definition(texts: Sequence[str], name: str) -> str | None:
    """The source of one definition, with that of every name in these texts that it uses.

    Of a name that several texts define, the last one counts, as in a notebook whose cells were run
    again; statements that change what it holds, such as `config["rate"] = 2`, come with it. Imports
    come first: a cell below what uses them may have repeated them. None if no text defines it;
    those that cannot be parsed define nothing.
    """
    definitions: dict[str, list[_Statement]] = {}
    changes: dict[str, list[_Statement]] = {}
    for number, text in enumerate(texts):
        statements = [(number, statement) for statement in _parse(text)]
        definitions |= _group(statements, _find_defined_names)
        for changed, found in _group(statements, _find_changed_names).items():
            changes.setdefault(changed, []).extend(found)
    wanted, taken = [name], dict[tuple[bool, int, int], str]()
    seen: set[str] = set()
    while wanted:
        current = wanted.pop()
        if current in seen:
            continue
        seen.add(current)
        defined = definitions.get(current, [])
        later = [one for one in changes.get(current, []) if defined and _is_after(one, defined[-1])]
        for number, statement in defined + later:
            source = ast.unparse(statement)
            is_import = isinstance(statement, ast.Import | ast.ImportFrom)
            taken[not is_import, number, statement.lineno] = source
            wanted += find_used_names(symtable.symtable(source, "definition", "exec"))
    return "\n".join(taken[place] for place in sorted(taken)) or None


def _parse(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except SyntaxError:
        return []


def _group(
    statements: Sequence[_Statement], names_of: Callable[[ast.stmt], set[str]]
) -> dict[str, list[_Statement]]:
    """The statements of a text by the names that one finds in them."""
    found: dict[str, list[_Statement]] = {}
    for number, statement in statements:
        for name in names_of(statement):
            found.setdefault(name, []).append((number, statement))
    return found


def _is_after(one: _Statement, other: _Statement) -> bool:
    return (one[0], one[1].lineno) > (other[0], other[1].lineno)


def _find_defined_names(statement: ast.stmt) -> set[str]:
    return set() if isinstance(statement, ast.AugAssign) else find_bound_names(statement)


def _find_changed_names(statement: ast.stmt) -> set[str]:
    """The names whose objects a statement changes, while they stay what they are."""
    match statement:
        case ast.Assign(targets=changed) | ast.Delete(targets=changed):
            pass
        case ast.AugAssign(target=ast.Name(id=name)):
            return {name}
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            changed = [target]
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method) as called)) if (
            method in _CHANGING
        ):
            changed = [called]
        case _:
            return set()
    places = [one for one in changed if isinstance(one, ast.Attribute | ast.Subscript)]
    return {found for one in places if (found := _find_root(one))}


def _find_root(expression: ast.expr) -> str:
    """The name that an attribute or item, however deep, is reached by."""
    while isinstance(expression, ast.Attribute | ast.Subscript):
        expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


def find_bound_names(statement: ast.stmt) -> set[str]:
    """The names that a statement at the top level binds, or deletes."""
    return {
        symbol.get_name()
        for symbol in symtable.symtable(ast.unparse(statement), "definition", "exec").get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    }


def find_used_names(table: symtable.SymbolTable) -> set[str]:
    """The names from outside that a statement, and the functions and classes in it, refer to."""
    used = {
        symbol.get_name()
        for symbol in table.get_symbols()
        # The body of a class may read a name outside before it binds its own.
        if symbol.is_referenced() and (table.get_type() != "function" or symbol.is_global())
    }
    return used.union(*map(find_used_names, table.get_children()))
