# SPDX-License-Identifier: Apache-2.0
"""Rows become records: a query for ids is asked once, and what it names is read table by table."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Connection, Row, Select, Table, func, literal_column, select

from stoker.artifacts import (
    STANDARD_TYPES,
    Artifact,
    PropertyType,
    PropertyValue,
    State,
    artifact_class,
)
from stoker.metadata import queries
from stoker.metadata import schema as db
from stoker.metadata.queries import NODE, PIPELINE, RUN, Ids
from stoker.metadata.records import (
    DAG,
    RUN_STATE,
    SKIPPED,
    WAITING,
    Event,
    EventType,
    Execution,
    ExecutionState,
    PipelineRun,
    describe_standing,
)
from stoker.metadata.values import COLUMNS, decode
from stoker.storage.root import name_step

ERROR = "__error__"
"""The custom property of an execution that says why it failed."""
NAME = "name"
"""Where TFX keeps an artifact's name; in MLMD's own column it would have to be unique."""

_ByName = dict[str, PropertyValue]
_ROW_ORDERS = {"sqlite": "rowid", "postgresql": "ctid"}
"""In MySQL, rows of a table without a key come as they were inserted, unless they are sorted."""
_MANY_IDS = 10_000
"""As many as one statement of any database takes."""


def _ask(connection: Connection, wanted: Ids) -> list[int]:
    """The ids that a query names, in ascending order."""
    return sorted(set(connection.scalars(wanted)))


def _rows(
    connection: Connection, statement: Select[Any], column: Column[Any], ids: Sequence[int]
) -> Iterator[Row[Any]]:
    """The rows of a statement where a column is one of the ids."""
    for start in range(0, len(ids), _MANY_IDS):
        few = ids[start : start + _MANY_IDS]
        yield from connection.execute(statement.where(column.in_(few)))


def artifacts(connection: Connection, wanted: Ids) -> list[Artifact]:
    """Artifacts, oldest first, each an instance of its standard class or of one made up for it."""
    table, ids = db.artifact, _ask(connection, wanted)
    rows = _rows(connection, _with_type(table), table.c.id, ids)
    found = sorted(rows, key=lambda row: (row.create_time_since_epoch, row.id))
    typed, custom = _properties(connection, db.artifact_property, ids)
    types = {row.type_id: row.type_name for row in found}
    classes = {
        type_id: STANDARD_TYPES.get(name)
        or artifact_class(name, read_declared_properties(connection, type_id))
        for type_id, name in types.items()
    }
    return [_artifact(classes[row.type_id](), row, typed[row.id], custom[row.id]) for row in found]


def _artifact(artifact: Artifact, row: Any, typed: _ByName, custom: _ByName) -> Artifact:
    artifact.id, artifact.type_id = row.id, row.type_id
    artifact.uri = row.uri or ""
    artifact.state = State(row.state or 0)
    artifact.name = str(custom.pop(NAME, row.name or ""))
    artifact.properties, artifact.custom_properties = typed, custom
    return artifact


def read_declared_properties(connection: Connection, type_id: int) -> dict[str, PropertyType]:
    """The declared properties of one type."""
    table = db.type_property
    found = connection.execute(
        select(table.c.name, table.c.data_type).where(
            table.c.type_id == type_id, table.c.data_type > 0
        )
    )
    return {name: PropertyType(kind) for name, kind in found}


def executions(
    connection: Connection, wanted: Ids, only: Collection[str] | None = None
) -> list[Execution]:
    """Executions, oldest first; of their properties, `only` those with these names."""
    table, ids = db.execution, _ask(connection, wanted)
    found = sorted(
        _rows(connection, _with_type(table), table.c.id, ids), key=lambda row: int(row.id)
    )
    typed, custom = _properties(connection, db.execution_property, ids, only)
    contexts = _contexts(connection, ids)
    return [
        Execution(
            id=row.id,
            type_name=row.type_name,
            state=ExecutionState(row.last_known_state or 0),
            **_where(contexts[row.id]),
            error=str(custom[row.id].pop(ERROR, "")),
            properties={**typed[row.id], **custom[row.id]},
            created_ms=row.create_time_since_epoch,
            updated_ms=row.last_update_time_since_epoch,
        )
        for row in found
    ]


def _with_type(table: Table) -> Select[Any]:
    """The rows of a table, each with the name of its type."""
    name = db.type_.c.name.label("type_name")
    return select(table, name).join(db.type_, db.type_.c.id == table.c.type_id)


def _contexts(connection: Connection, executions: Sequence[int]) -> dict[int, dict[str, str]]:
    """The names of the contexts of each execution, by the type of the context."""
    link = db.association
    statement = (
        select(link.c.execution_id, db.type_.c.name.label("type_name"), db.context.c.name)
        .join(db.context, db.context.c.id == link.c.context_id)
        .join(db.type_, db.type_.c.id == db.context.c.type_id)
    )
    contexts: dict[int, dict[str, str]] = defaultdict(dict)
    for row in _rows(connection, statement, link.c.execution_id, executions):
        contexts[row.execution_id][row.type_name] = row.name
    return contexts


def _where(contexts: Mapping[str, str]) -> dict[str, str]:
    pipeline_name = contexts.get(PIPELINE, "")
    return {
        "pipeline_name": pipeline_name,
        "run_id": contexts.get(RUN, ""),
        "node_id": contexts.get(NODE, "").removeprefix(f"{pipeline_name}."),
    }


def events(connection: Connection, wanted: Ids) -> list[Event]:
    """Events, in the order in which they were written."""
    table, ids = db.event, _ask(connection, wanted)
    paths = read_paths(connection, ids)
    found = _rows(connection, select(table).order_by(table.c.id), table.c.id, ids)
    return [
        Event(
            artifact_id=row.artifact_id,
            execution_id=row.execution_id,
            type=EventType(row.type),
            path=tuple(paths.get(row.id, ())),
            at_ms=row.milliseconds_since_epoch or 0,
        )
        for row in found
    ]


def read_paths(connection: Connection, events: Sequence[int]) -> dict[int, list[str | int]]:
    """The paths of events; MLMD keeps the order of their steps only in that of the rows.

    Servers promise no such order, so that ours carry their place in the column that MLMD does not
    use (`write.make_steps`).
    """
    path, order = db.event_path, _ROW_ORDERS.get(connection.dialect.name)
    statement = select(path)
    if order:
        statement = statement.order_by(path.c.event_id, literal_column(order))
    found: dict[int, list[tuple[int, str | int]]] = defaultdict(list)
    for row in _rows(connection, statement, path.c.event_id, events):
        step, place = row.step_key, row.step_index
        if row.is_index_step:
            step, place = place, step
        steps = found[row.event_id]
        steps.append((len(steps) if place is None else int(place), step))
    return {
        event: [step for _, step in sorted(steps, key=_by_place)] for event, steps in found.items()
    }


def _by_place(step: tuple[int, str | int]) -> int:
    return step[0]


def runs(connection: Connection, wanted: Ids) -> list[PipelineRun]:
    """Runs, newest first."""
    table, ids = db.context, _ask(connection, wanted)
    rows = _rows(connection, select(table), table.c.id, ids)
    found = sorted(rows, key=lambda row: (row.create_time_since_epoch, row.id), reverse=True)
    typed, custom = _properties(connection, db.context_property, ids)
    pipelines = pipelines_of_runs(connection, ids)
    counted, changed_ms = count_standings(connection, ids)
    held = find_held(connection, {row.name: custom[row.id] for row in found})
    return [
        PipelineRun(
            run_id=row.name,
            pipeline_name=pipelines.get(row.id, ""),
            properties={**typed[row.id], **custom[row.id]},
            standings=counted[row.id],
            created_ms=row.create_time_since_epoch,
            updated_ms=max(row.last_update_time_since_epoch, changed_ms[row.id]),
            held=held.get(row.name, frozenset()),
        )
        for row in found
    ]


def find_held(
    connection: Connection, runs: Mapping[str, Mapping[str, PropertyValue]]
) -> dict[str, frozenset[str]]:
    """By the ids of some runs, given with their properties, the locks that the database holds.

    They are named after the run, or a step that has joined it; in a file, there are none.
    """
    if connection.dialect.name == "sqlite":
        return {}
    names = {
        run_id: {run_id, *(name_step(run_id, node_id) for node_id in _list_nodes(properties))}
        for run_id, properties in runs.items()
        if properties.get(RUN_STATE) in (None, "running", WAITING)
    }
    if not names:
        return {}
    from stoker.metadata import session_locks  # no module of a local store

    held = session_locks.find_held(connection, set().union(*names.values()))
    return {run_id: frozenset(own & held) for run_id, own in names.items()}


def _list_nodes(properties: Mapping[str, PropertyValue]) -> list[str]:
    return [step["id"] for step in json.loads(str(properties.get(DAG) or "[]"))]


def count_standings(
    connection: Connection, runs: Sequence[int]
) -> tuple[dict[int, Counter[str]], dict[int, int]]:
    """How many executions of each run stand where, and when the last of them changed."""
    link, execution, told = db.association, db.execution, db.execution_property
    why = (told.c.execution_id == execution.c.id) & (told.c.name == SKIPPED)
    groups = link.c.context_id, execution.c.last_known_state, told.c.name
    statement = (
        select(*groups, func.count(), func.max(execution.c.last_update_time_since_epoch))
        .select_from(link)
        .join(execution, execution.c.id == link.c.execution_id)
        .outerjoin(told, why)
        .group_by(*groups)
    )
    counted: dict[int, Counter[str]] = defaultdict(Counter)
    changed_ms: dict[int, int] = defaultdict(int)
    for run, state, skipped, number, last_ms in map(
        tuple, _rows(connection, statement, link.c.context_id, runs)
    ):
        word = describe_standing(ExecutionState(state or 0), skipped=skipped is not None)
        counted[run][word] += number
        changed_ms[run] = max(changed_ms[run], last_ms)
    return counted, changed_ms


def pipelines_of_runs(connection: Connection, runs: Sequence[int]) -> dict[int, str]:
    """The pipeline of each run's context: its parent, or in TFX's stores its executions'."""
    pipeline, parent = db.context, db.parent_context
    of_parent = (
        queries.contexts(PIPELINE)
        .join(parent, parent.c.parent_context_id == pipeline.c.id)
        .with_only_columns(parent.c.context_id, pipeline.c.name)
    )
    found = dict(map(tuple, _rows(connection, of_parent, parent.c.context_id, runs)))
    ours, theirs = db.association.alias("ours"), db.association.alias("theirs")
    of_executions = (
        queries.contexts(PIPELINE)
        .join(theirs, theirs.c.context_id == pipeline.c.id)
        .join(ours, ours.c.execution_id == theirs.c.execution_id)
        .with_only_columns(ours.c.context_id, pipeline.c.name)
        .distinct()
    )
    orphans = [run for run in runs if run not in found]
    return found | dict(map(tuple, _rows(connection, of_executions, ours.c.context_id, orphans)))


def _properties(
    connection: Connection, table: Table, owners: Sequence[int], only: Collection[str] | None = None
) -> tuple[dict[int, _ByName], dict[int, _ByName]]:
    """The declared and the custom properties of many rows, by the row's id."""
    owner = table.columns[0]
    values = (table.c[name] for name in COLUMNS)
    statement = select(owner, table.c.is_custom_property, table.c.name, *values)
    if only is not None:
        statement = statement.where(table.c.name.in_(only))
    typed: dict[int, _ByName] = defaultdict(dict)
    custom: dict[int, _ByName] = defaultdict(dict)
    for row in _rows(connection, statement, owner, owners):
        (custom if row.is_custom_property else typed)[row[0]][row.name] = decode(row)
    return typed, custom
