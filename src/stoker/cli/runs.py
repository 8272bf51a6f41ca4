# SPDX-License-Identifier: Apache-2.0
"""`stoker runs`: the runs of a store, newest first."""

from collections.abc import Iterable
from typing import Any

import click

from stoker.cli.lookup import run_state
from stoker.cli.options import json_option, with_store
from stoker.cli.printing import print_answer, readable_duration, readable_time
from stoker.metadata.records import NUM_STEPS, PipelineRun
from stoker.metadata.store import Store
from stoker.views.table import Table


@click.command()
@click.argument("pipeline", required=False)
@click.option("--number", "-n", default=20, show_default=True, help="How many, newest first.")
@json_option
@with_store
def runs(store: Store, pipeline: str | None, number: int, as_json: bool) -> int:
    """List the runs of a PIPELINE, or of all, newest first."""
    if pipeline and pipeline not in (known := store.pipelines()):
        names = ", ".join(known) or "none"
        raise click.UsageError(f"The store has no pipeline {pipeline!r}; it has {names}.")
    print_runs(store.runs(pipeline, newest=number), as_json=as_json)
    return 0


def print_runs(runs: Iterable[PipelineRun], *, as_json: bool = False) -> None:
    """Print a line for each run."""
    records = [_describe(run) for run in runs]
    print_answer(records, _table(records), as_json=as_json)


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
    return Table(
        columns=("run", "pipeline", "state", "steps", "cached", "started", "took"),
        rows=[
            (
                *(str(record[key]) for key in ("run", "pipeline", "state")),
                _count_steps(record),
                str(record["cached"]),
                readable_time(record["started_ms"]),
                readable_duration(record["took_ms"]),
            )
            for record in records
        ],
    )


def _count_steps(record: dict[str, Any]) -> str:
    begun, planned = record["steps"], record["steps_planned"]
    return str(begun) if begun == planned else f"{begun} of {planned}"
