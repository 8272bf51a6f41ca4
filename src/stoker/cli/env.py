# SPDX-License-Identifier: Apache-2.0
"""`stoker env`: the environments with other TensorFlows that `--python NAME` can name."""

import click

from stoker.cli.options import json_option
from stoker.cli.printing import Table, print_json, print_table, readable_path
from stoker.launchers.interpreters import RECIPES, Made, create, made, remove

__all__ = ["env"]


@click.group()
def env() -> None:
    """Make, list and remove Pythons with other TensorFlows, for `stoker train --python NAME`."""


@env.command("create")
@click.argument("name", type=click.Choice(list(RECIPES)))
def create_one(name: str) -> int:
    """Make the environment NAME from the package index, unless it is there already."""
    python = create(RECIPES[name], lambda line: click.echo(line, err=True))
    click.echo(f"{name} is ready: {readable_path(python)}")
    return 0


@env.command("list")
@json_option
def list_all(as_json: bool) -> int:
    """List the environments that can be made, and where those are that were."""
    there = {one.name: one for one in made()}
    rows = [
        (
            name,
            RECIPES[name].summary if name in RECIPES else "",
            _state(there.get(name)),
            there[name].python if name in there else "",
        )
        for name in dict.fromkeys([*RECIPES, *there])
    ]
    columns = ("name", "what", "state", "python")
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        shown = [(*row[:-1], readable_path(row[-1])) for row in rows]
        print_table(Table(columns=columns, rows=shown))
    return 0


@env.command("remove")
@click.argument("name")
def remove_one(name: str) -> int:
    """Remove the environment NAME."""
    if not remove(name):
        raise click.UsageError(f"There is no environment {name!r}; stoker env list shows them.")
    click.echo(f"{name} is removed.")
    return 0


def _state(found: Made | None) -> str:
    if found is None:
        return "not made"
    return "ready" if found.current else "made for another version of Stoker: create it again"
