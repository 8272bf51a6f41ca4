# SPDX-License-Identifier: Apache-2.0
"""What commands print: tables that fit a terminal, plain aligned text elsewhere, JSON."""

import datetime
import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from stoker.metadata.masking import mask_secrets
from stoker.views.table import Table


def print_answer(record: Any, *parts: Table | Mapping[str, str] | str, as_json: bool) -> None:
    """Print what a command has found: a record as JSON, its secrets masked; or its parts as text.

    A part is a table, names with their values, or a line.
    """
    if as_json:
        click.echo(json.dumps(mask_secrets(record), indent=2))
        return
    for part in parts:
        if isinstance(part, Table):
            print_table(part)
        elif isinstance(part, Mapping):
            print_pairs(part)
        else:
            click.echo(part)


def print_table(table: Table) -> None:
    """Print a table as the reader can best use it: a person at a terminal, or a program."""
    if sys.stdout.isatty():
        _print_rich(table)
        return
    for line in table.lines():
        click.echo(line)


def print_pairs(pairs: Mapping[str, str]) -> None:
    """Print names and values, one pair to a line; a name without a value is left out."""
    pairs = {name: value for name, value in pairs.items() if value}
    width = max(map(len, pairs), default=0)
    for name, value in pairs.items():
        first, *more = value.splitlines() or [""]
        click.echo(f"{click.style(name.ljust(width), bold=True)}  {first}".rstrip())
        for line in more:
            click.echo(f"{' ' * width}  {line}")


def _print_rich(table: Table) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    rich_table = RichTable(
        *table.columns, title=table.title or None, title_justify="left", box=box.SIMPLE_HEAD
    )
    for row in table.rows:
        rich_table.add_row(*map(Text, row))  # as text: a path in brackets is not markup
    Console().print(rich_table)


def readable_duration(milliseconds: int) -> str:
    """A duration in seconds, or in minutes and seconds."""
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def readable_time(milliseconds: int) -> str:
    """A moment since the epoch as the date and time of this place."""
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000)
    return moment.isoformat(sep=" ", timespec="seconds")
