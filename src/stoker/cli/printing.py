# SPDX-License-Identifier: Apache-2.0
"""What commands print: tables that fit a terminal, plain aligned text elsewhere, JSON."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from stoker.any_python.lines import escape_controls
from stoker.metadata.masking import KnownSecrets, environment, find_secrets
from stoker.views.table import Table
from stoker.views.table import readable_duration as readable_duration
from stoker.views.table import readable_time as readable_time


def print_answer(record: Any, *parts: Table | Mapping[str, str] | str, as_json: bool) -> None:
    """Print what a command has found: a record as JSON, or its parts as text; no secrets.

    A part is a table, names with their values, or a line.
    """
    known = find_known_secrets()
    if as_json:
        click.echo(json.dumps(known.mask(record), indent=2))
        return
    for part in parts:
        if isinstance(part, Table):
            _print_table(replace(part, rows=known.mask(part.rows)))
        elif isinstance(part, Mapping):
            _print_pairs({name: known.mask(value) for name, value in part.items()})
        else:
            click.echo(escape_controls(known.mask(part)))


def print_line(text: str, *, error: bool = False) -> None:
    """Print a line, or several, without secrets and without what would steer a terminal."""
    click.echo(escape_controls(find_known_secrets().mask(text)), err=error)


def find_known_secrets() -> KnownSecrets:
    """What this command was given that no text may quote."""
    return find_secrets(environment(), sys.argv)


def _print_table(table: Table) -> None:
    """Print a table as the reader can best use it: a person at a terminal, or a program."""
    if sys.stdout.isatty():
        _print_rich(table.escape())
        return
    for line in table.lines():
        click.echo(line)


def _print_pairs(pairs: Mapping[str, str]) -> None:
    """Print names and values, one pair to a line; a name without a value is left out."""
    pairs = {name: value for name, value in pairs.items() if value}
    width = max(map(len, pairs), default=0)
    for name, value in pairs.items():
        first, *more = map(escape_controls, value.split("\n"))
        click.echo(f"{click.style(name.ljust(width), bold=True)}  {first}".rstrip())
        for line in more:
            click.echo(f"{' ' * width}  {line}")


def _print_rich(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    # All as text: a name or a path in brackets is not markup.
    title = Text(table.title) if table.title else None
    rich_table = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for name in table.columns:
        rich_table.add_column(Text(name))
    for row in table.rows:
        rich_table.add_row(*map(Text, row))
    Console().print(rich_table)
