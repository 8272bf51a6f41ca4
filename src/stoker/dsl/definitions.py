# SPDX-License-Identifier: Apache-2.0
"""One definition with every other that it uses: what of some source a step depends on."""

import ast
import symtable
from collections.abc import Sequence


def definition_in(texts: Sequence[str], name: str) -> str | None:
    """The source of one definition, with that of every name in these texts that it uses.

    Of a name that several texts define, the last one counts, as in a notebook whose cells were run
    again. None if no text defines it; those that cannot be parsed define nothing.
    """
    definitions: dict[str, list[tuple[int, ast.stmt]]] = {}
    for number, text in enumerate(texts):
        definitions |= _definitions(text, number)
    wanted, taken = [name], dict[tuple[int, int], str]()
    seen: set[str] = set()
    while wanted:
        current = wanted.pop()
        if current in seen:
            continue
        seen.add(current)
        for number, statement in definitions.get(current, ()):
            source = ast.unparse(statement)
            taken[number, statement.lineno] = source
            wanted += used_names(symtable.symtable(source, "definition", "exec"))
    return "\n".join(taken[place] for place in sorted(taken)) or None


def _definitions(text: str, number: int) -> dict[str, list[tuple[int, ast.stmt]]]:
    """The statements at the top level of a text, by the names that they bind."""
    found: dict[str, list[tuple[int, ast.stmt]]] = {}
    try:
        statements = ast.parse(text).body
    except SyntaxError:
        return found
    for statement in statements:
        for name in bound_names(statement):
            found.setdefault(name, []).append((number, statement))
    return found


def bound_names(statement: ast.stmt) -> set[str]:
    """The names that a statement at the top level binds, or deletes."""
    return {
        symbol.get_name()
        for symbol in symtable.symtable(ast.unparse(statement), "definition", "exec").get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    }


def used_names(table: symtable.SymbolTable) -> set[str]:
    """The names from outside that a statement, and the functions and classes in it, refer to."""
    used = {
        symbol.get_name()
        for symbol in table.get_symbols()
        # The body of a class may read a name outside before it binds its own.
        if symbol.is_referenced() and (table.get_type() != "function" or symbol.is_global())
    }
    return used.union(*map(used_names, table.get_children()))
