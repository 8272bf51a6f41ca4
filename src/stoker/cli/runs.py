# SPDX-License-Identifier: Apache-2.0
"""`stoker runs`: the runs of a store, newest first."""

from typing import Any

import click

from stoker.cli.lookup import run_state
from stoker.cli.options import json_option, with_store
from stoker.cli.printing import print_answer, readable_duration, readable_time
from stoker.metadata.store import Store
from stoker.views.table import Table


@click.command()
@click.argument("pipeline", required=False)
@click.option("--number", "-n", default=20, show_default=True, help="How many, newest first.")
@json_option
@with_store
def runs(store: Store, pipeline: str | None, number: int, as_json: bool) -> int:
    """List the runs of a PIPELINE, or of all, newest first."""
    known = store.runs()
    if pipeline and pipeline not in {run.pipeline_name for run in known}:
        names = ", ".join(sorted({run.pipeline_name for run in known})) or "none"
        raise click.UsageError(f"The store has no pipeline {pipeline!r}; it has {names}.")
    wanted = [run for run in known if pipeline in (None, run.pipeline_name)][:number]
    records: list[dict[str, Any]] = []
    for run in wanted:
        executions = store.executions(run_id=run.run_id)
        ended_ms = max((execution.updated_ms for execution in executions), default=run.created_ms)
        records.append(
            {
                "run": run.run_id,
                "pipeline": run.pipeline_name,
                "state": run_state(run, executions),
                "steps": len(executions),
                "cached": sum(step.state.name == "CACHED" for step in executions),
                "started_ms": run.created_ms,
                "took_ms": ended_ms - run.created_ms,
            }
        )
    print_answer(records, _table(records), as_json=as_json)
    return 0


def _table(records: list[dict[str, Any]]) -> Table:
    return Table(
        columns=("run", "pipeline", "state", "steps", "cached", "started", "took"),
        rows=[
            (
                *(str(record[key]) for key in ("run", "pipeline", "state", "steps", "cached")),
                readable_time(record["started_ms"]),
                readable_duration(record["took_ms"]),
            )
            for record in records
        ],
    )
