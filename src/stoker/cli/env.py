# SPDX-License-Identifier: Apache-2.0
"""`stoker env`: the environments with other TensorFlows that `--python NAME` can name."""

import click

from stoker.cli.options import json_option
from stoker.cli.printing import print_answer, print_line
from stoker.launchers.interpreters.venvs import RECIPES, Venv, create, list_venvs, remove
from stoker.views.table import Table, readable_path


@click.group()
def env() -> None:
    """Create, list and remove Python environments with other versions of TensorFlow.

    Use one with `stoker train --python NAME`.
    """


@env.command("create")
@click.argument("name", type=click.Choice(list(RECIPES)))
def create_one(name: str) -> int:
    """Create the environment NAME from the package index, unless it exists already."""
    python = create(RECIPES[name], lambda line: print_line(line, error=True))
    print_line(f"{name} is ready: {readable_path(python)}")
    return 0


@env.command("list")
@json_option
def list_all(as_json: bool) -> int:
    """List the environments that can be created, and where the existing ones are."""
    there = {found.name: found for found in list_venvs()}
    records = [
        {
            "name": name,
            "what": RECIPES[name].summary if name in RECIPES else "",
            "state": _state(there.get(name)),
            "python": there[name].python if name in there else "",
        }
        for name in dict.fromkeys([*RECIPES, *there])
    ]
    rows = [
        (*values, readable_path(python))
        for *values, python in (record.values() for record in records)
    ]
    table = Table(columns=("name", "what", "state", "python"), rows=rows)
    print_answer(records, table, as_json=as_json)
    return 0


@env.command("remove")
@click.argument("name")
def remove_one(name: str) -> int:
    """Remove the environment NAME."""
    if not remove(name):
        raise click.UsageError(f"There is no environment {name!r}; stoker env list shows them.")
    print_line(f"{name} is removed.")
    return 0


def _state(found: Venv | None) -> str:
    if found is None:
        return "not made"
    return "ready" if found.current else "made for another version of Stoker: create it again"
