# SPDX-License-Identifier: Apache-2.0
"""`stoker runs`: the runs of all stores, newest first."""

from collections.abc import Iterable, Sequence
from typing import Any

import click

from stoker.any_python.lines import did_you_mean
from stoker.cli.lookup import run_state
from stoker.cli.metrics import describe_steps, find_metrics
from stoker.cli.options import (
    complete,
    find_stores,
    json_option,
    name_store,
    open_store,
    store_options,
)
from stoker.cli.printing import print_answer, readable_duration, readable_time
from stoker.metadata.config import StoreConfig
from stoker.metadata.records import NUM_STEPS, PipelineRun
from stoker.metadata.store import Store
from stoker.views.table import Table


@click.command()
@click.argument("pipeline", required=False, shell_complete=complete(Store.pipelines))
@click.option("--number", "-n", default=20, show_default=True, help="How many, newest first.")
@json_option
@store_options
def runs(root: str, place: str | None, pipeline: str | None, number: int, as_json: bool) -> int:
    """List the runs of a PIPELINE, or of all, newest first."""
    stores = find_stores(root, place)
    found = [record for one in stores for record in _list_runs(one, pipeline, number)]
    if pipeline and not found:
        raise _unknown_pipeline(pipeline, stores)
    found.sort(key=lambda record: int(record["started_ms"]), reverse=True)
    shown = found[:number]
    for one in stores:
        _add_metrics(one, [record for record in shown if record["store"] == name_store(one)])
    _print(shown, with_store=len(stores) > 1, as_json=as_json)
    return 0


def _add_metrics(config: StoreConfig, records: list[dict[str, Any]]) -> None:
    """Add the last metrics of the runs that are shown; those of others are not read."""
    if not records:
        return
    with open_store(config) as store:
        found = find_metrics(store, [record["run"] for record in records])
    for record in records:
        record["metrics"] = found.get(record["run"], {})


def _list_runs(config: StoreConfig, pipeline: str | None, number: int) -> list[dict[str, Any]]:
    with open_store(config) as store:
        found = store.runs(pipeline, newest=number)
        return [{**_describe(run), "store": name_store(config)} for run in found]


def _unknown_pipeline(name: str, stores: Sequence[StoreConfig]) -> click.UsageError:
    known: list[str] = []
    for config in stores:
        with open_store(config) as store:
            known += store.pipelines()
    names = ", ".join(dict.fromkeys(known)) or "none"
    return click.UsageError(
        f"There is no pipeline {name!r}; there is {names}.{did_you_mean(name, known)}"
    )


def print_runs(runs: Iterable[PipelineRun], *, as_json: bool = False) -> None:
    """Print a line for each run."""
    _print([_describe(run) for run in runs], with_store=False, as_json=as_json)


def _print(records: list[dict[str, Any]], *, with_store: bool, as_json: bool) -> None:
    table = _table(records)
    if with_store:
        stores = [str(record["store"]) for record in records]
        rows = [(*row, store) for row, store in zip(table.rows, stores, strict=True)]
        table = Table(columns=(*table.columns, "store"), rows=rows)
    print_answer(records, table, as_json=as_json)


def _describe(run: PipelineRun) -> dict[str, Any]:
    num_steps = sum(run.standings.values())
    return {
        "run": run.run_id,
        "pipeline": run.pipeline_name,
        "state": run_state(run),
        "steps": num_steps,
        "steps_planned": run.properties.get(NUM_STEPS, num_steps),
        "cached": run.standings.get("cached", 0),
        "started_ms": run.created_ms,
        "took_ms": run.updated_ms - run.created_ms,
    }


def _table(records: list[dict[str, Any]]) -> Table:
    columns = ["run", "pipeline", "state", "steps", "cached", "started", "took"]
    rows = [
        [
            *(str(record[key]) for key in ("run", "pipeline", "state")),
            _count_steps(record),
            str(record["cached"]),
            readable_time(record["started_ms"]),
            readable_duration(record["took_ms"]),
        ]
        for record in records
    ]
    told = [describe_steps(record.get("metrics", {})) for record in records]
    if any(told):
        columns.append("metrics")
        rows = [[*row, metrics] for row, metrics in zip(rows, told, strict=True)]
    return Table(columns=columns, rows=rows)


def _count_steps(record: dict[str, Any]) -> str:
    begun, planned = record["steps"], record["steps_planned"]
    return str(begun) if begun == planned else f"{begun} of {planned}"
