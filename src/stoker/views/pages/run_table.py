# SPDX-License-Identifier: Apache-2.0
"""The table of runs: of thousands, those that were asked for, and as much of each as is shown."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from stoker.metadata import run_table as db
from stoker.metadata.masking import mask_secrets
from stoker.metadata.records import NOTE, NUM_STEPS, TAGS, PipelineRun
from stoker.metadata.run_table import RunOutline
from stoker.metadata.standings import run_state
from stoker.metadata.store import Store
from stoker.views.pages.run_query import FACTS, PER_PAGE, RunQuery, flatten
from stoker.views.pages.run_reading import read_recorded_metrics, read_tags

_FEW_METRICS = 4
_NUM_LOOKED_AT = 8
"""So many runs of a page are asked which parameters there are to choose from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run in the table."""

    run_id: str
    pipeline_name: str
    state: str
    started_ms: int
    took_ms: int
    num_steps: int
    num_begun: int
    num_cached: int
    note: str
    tags: Sequence[str]
    values: Mapping[str, Any]
    """Of the metrics and parameters that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """A page of runs, and what else could be shown of them."""

    rows: Sequence[RunRow]
    columns: Sequence[str]
    metrics: Sequence[str]
    parameters: Sequence[str]
    num_found: int
    num_runs: int
    unknown: Sequence[str] = ()
    """Columns of conditions that no run has."""

    @property
    def is_live(self) -> bool:
        """Whether a run that is shown goes on."""
        return any(row.state == "running" for row in self.rows)


def read_table(store: Store, query: RunQuery) -> RunTable:
    """The runs that a query asks for."""
    return store.ask(lambda connection: _read(connection, query))


def _read(connection: Connection, query: RunQuery) -> RunTable:
    num_runs = db.count_runs(connection)
    metrics = db.list_metrics(connection)
    offset = (query.page - 1) * PER_PAGE
    unknown: list[str] = []
    if query.is_plain:
        chosen, num_found = db.list_newest(connection, offset, PER_PAGE), num_runs
    else:
        fitting, unknown = _choose(connection, query, metrics)
        chosen, num_found = fitting[offset : offset + PER_PAGE], len(fitting)
    runs = db.read_runs(connection, chosen)
    columns = list(query.columns) or metrics[:_FEW_METRICS]
    wanted = [one for one in columns if one not in metrics]
    looked_at = chosen if wanted else chosen[:_NUM_LOOKED_AT]
    parameters = _read_parameters(connection, looked_at)
    names = {name for found in parameters.values() for name in found}
    rows = [_make_row(runs[one], parameters.get(one, {}), columns) for one in chosen if one in runs]
    return RunTable(
        rows=rows,
        columns=columns,
        metrics=metrics,
        parameters=sorted(names),
        num_found=num_found,
        num_runs=num_runs,
        unknown=unknown,
    )


def _read_parameters(
    connection: Connection, context_ids: Sequence[int]
) -> dict[int, dict[str, Any]]:
    """The parameters of runs as plain values: `Trainer.train_args.num_steps`."""
    found = db.read_parameters(connection, context_ids)
    pipelines = [f"{one}." for one in sorted(db.list_pipelines(connection), key=len)]
    flat: dict[int, dict[str, Any]] = {}
    for context_id, by_node in found.items():
        values = flat.setdefault(context_id, {})
        for node, parameters in by_node.items():
            # A node's context is named <pipeline>.<node>, and both names may have dots.
            prefix = next((one for one in reversed(pipelines) if node.startswith(one)), "")
            for key, value in parameters.items():
                values |= flatten(f"{node.removeprefix(prefix)}.{key}", value)
    return flat


def _make_row(run: PipelineRun, parameters: Mapping[str, Any], columns: Sequence[str]) -> RunRow:
    state = run_state(run)
    end_ms = int(time.time() * 1000) if state == "running" else run.updated_ms
    begun = sum(run.standings.values())
    planned = run.properties.get(NUM_STEPS)
    values: dict[str, Any] = {**parameters, **read_recorded_metrics(run)}
    shown = mask_secrets({name: values[name] for name in columns if name in values})
    return RunRow(
        run_id=run.run_id,
        pipeline_name=run.pipeline_name,
        state=state,
        started_ms=run.created_ms,
        took_ms=max(0, end_ms - run.created_ms),
        num_steps=int(planned) if isinstance(planned, int | float) else begun,
        num_begun=begun,
        num_cached=run.standings.get("cached", 0),
        note=str(run.properties.get(NOTE) or ""),
        tags=read_tags(run),
        values=shown,
    )


_Column = Callable[[RunOutline], Any]


def _choose(
    connection: Connection, query: RunQuery, metrics: Sequence[str]
) -> tuple[list[int], list[str]]:
    """The contexts of the runs that fit, in order, and the columns that no run has."""
    outlines = db.read_outlines(connection)
    columns: dict[str, _Column] = {}
    unknown = []
    for name in query.asked_columns:
        column = _make_column(connection, name, outlines, metrics)
        if column is None:
            unknown.append(name)
        else:
            columns[name] = column
    state = _make_column(connection, "state", outlines, metrics) if query.words else None
    fitting = [
        one
        for one in outlines
        if all(_has_word(one, word, state) for word in query.words)
        and all(
            condition.column in columns and condition.holds(columns[condition.column](one))
            for condition in query.conditions
        )
    ]
    if query.sort in columns:
        fitting = _sort(fitting, columns[query.sort], descending=query.descending)
    return [one.context_id for one in fitting], unknown


def _sort(outlines: list[RunOutline], column: _Column, *, descending: bool) -> list[RunOutline]:
    """By a column, those without a value last; of equals, the newest first."""
    found = [(column(one), one) for one in outlines]
    numbers = [pair for pair in found if isinstance(pair[0], int | float)]
    texts = [pair for pair in found if isinstance(pair[0], str) and pair[0]]
    others = [one for value, one in found if not (isinstance(value, int | float) or value)]
    numbers.sort(key=lambda pair: float(pair[0]), reverse=descending)
    texts.sort(key=lambda pair: str(pair[0]), reverse=descending)
    return [one for _, one in (*numbers, *texts)] + others


def _has_word(one: RunOutline, word: str, state: _Column | None) -> bool:
    texts = [one.run_id, one.pipeline_name, str(one.properties.get(NOTE) or "")]
    texts += [str(state(one))] if state else []
    texts += _list_tags(one)
    return any(word in text.lower() for text in texts)


def _make_column(
    connection: Connection, name: str, outlines: Sequence[RunOutline], metrics: Sequence[str]
) -> _Column | None:
    """What a column says of a run; None if there is no such column."""
    if name in FACTS:
        return _make_fact(connection, name, outlines)
    if name in metrics:
        values = db.read_metric(connection, name)
        return lambda one: values.get(one.context_id)
    return _make_parameter(connection, name)


def _make_parameter(connection: Connection, name: str) -> _Column | None:
    """A parameter by its dotted name: <step>.<parameter>.<what is in it>, and all may have dots."""
    parts, pipelines = name.split("."), db.list_pipelines(connection)
    for number in range(1, len(parts)):
        step, key = ".".join(parts[:number]), parts[number]
        found = db.read_parameter(connection, [f"{one}.{step}" for one in pipelines], key)
        values = {
            context_id: flat[name]
            for context_id, value in found.items()
            if name in (flat := flatten(f"{step}.{key}", value))
        }
        if values:
            return lambda one: _plain(values.get(one.context_id))
    return None


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | None) else str(value)


def _make_fact(connection: Connection, name: str, outlines: Sequence[RunOutline]) -> _Column:
    if name in ("steps", "cached"):
        counts = db.count_standings(connection, [one.context_id for one in outlines])
        if name == "steps":
            return lambda one: sum(counts.get(one.context_id, {}).values())
        return lambda one: counts.get(one.context_id, {}).get("cached", 0)
    if name == "state":
        untold = [one.context_id for one in outlines if "state" not in one.properties]
        counts = db.count_standings(connection, untold) if untold else {}
        return lambda one: run_state(one.to_run(counts.get(one.context_id, {})))
    facts: dict[str, _Column] = {
        "started": lambda one: one.created_ms,
        "duration": lambda one: (one.updated_ms - one.created_ms) / 1000,
        "pipeline": lambda one: one.pipeline_name,
        "note": lambda one: str(one.properties.get(NOTE) or ""),
        "tags": lambda one: " ".join(_list_tags(one)),
    }
    return facts[name]


def _list_tags(one: RunOutline) -> list[str]:
    found = one.properties.get(TAGS)
    return [str(tag) for tag in found] if isinstance(found, list) else []
