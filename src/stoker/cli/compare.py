# SPDX-License-Identifier: Apache-2.0
"""`stoker compare`: what differs between runs."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from stoker.cli.lookup import list_runs, require_run
from stoker.cli.options import complete, json_option, with_store
from stoker.cli.printing import print_answer
from stoker.metadata.store import Store
from stoker.views.pages.comparing import FEWEST, MOST, Comparison, Row, SliceRow, compare_runs
from stoker.views.pages.rendering import show_number
from stoker.views.pages.run_reading import describe_run
from stoker.views.table import Table, readable_size


@click.command()
@click.argument(
    "names",
    metavar="RUN RUN…",
    nargs=-1,
    shell_complete=complete(lambda store: ["last", *list_runs(store)]),
)
@click.option("--all", "everything", is_flag=True, help="Print what is the same, too.")
@json_option
@with_store(by="names")
def compare(store: Store, names: tuple[str, ...], everything: bool, as_json: bool) -> int:
    """Print what differs between two to ten RUNs: parameters, code, metrics, slices, model sizes.

    Give a RUN by its id, the first characters of its id, or `last`. The others are compared with
    the first.
    """
    if not FEWEST <= len(names) <= MOST:
        raise click.UsageError(f"Give {FEWEST} to {MOST} runs, such as two of `stoker runs`.")
    runs = [require_run(store, name) for name in names]
    comparison = compare_runs([describe_run(store, run) for run in runs])
    parts = list(_print_parts(comparison, everything=everything))
    print_answer(comparison.to_record(), *parts, as_json=as_json)
    return 0


def _print_parts(found: Comparison, *, everything: bool) -> Iterator[Table | str]:
    ids = [run.run_id for run in found.runs]
    sections: list[tuple[str, list[list[str]]]] = [
        ("run", _rows(found.facts, everything=True)),
        ("metric", [_add_change(row) for row in found.metrics if everything or row.differs]),
        ("parameter", _rows(found.parameters, everything=everything)),
        ("cache part", _rows(found.other_parts, everything=everything)),
        ("model", [[row.name, *map(_size, row.values)] for row in found.models]),
    ]
    for title, rows in sections:
        if rows:
            yield Table(columns=(title, *ids), rows=rows)
            yield ""
    slices = [row for row in found.slices if everything or len(set(row.values)) > 1]
    if slices:
        rows = [[row.slice, row.metric, *_values_and_changes(row)] for row in slices]
        yield Table(columns=("slice", "metric", *ids), rows=rows)
        yield ""
    for change in found.code:
        yield f"{change.step}: {change.part} differs"
        for lines in change.diffs.values():
            yield from lines
            yield ""
    if not any(row.differs for row in found.parameters) and not found.code:
        yield "Parameters and code are the same."


def _rows(rows: Sequence[Row], *, everything: bool) -> list[list[str]]:
    return [[row.name, *map(_show, row.values)] for row in rows if everything or row.differs]


def _show(value: Any) -> str:
    return "" if value is None else show_number(value)


def _size(value: int | None) -> str:
    return "" if value is None else readable_size(value)


def _add_change(row: Row) -> list[str]:
    return [row.name, *_values_and_changes(SliceRow(slice="", metric="", values=row.values))]


def _values_and_changes(row: SliceRow) -> list[str]:
    """Each value, with how far it is from that of the first run."""
    first, *others = row.values
    shown = [_show(first)]
    for value in others:
        change = f" ({value - first:+.4g})" if value is not None and first is not None else ""
        shown.append(f"{_show(value)}{change}")
    return shown
