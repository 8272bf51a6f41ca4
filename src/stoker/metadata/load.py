# SPDX-License-Identifier: Apache-2.0
"""Rows become records: whatever a query for ids names is read with one statement per table."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Table, select

from stoker.artifacts import (
    STANDARD_TYPES,
    Artifact,
    PropertyType,
    PropertyValue,
    State,
    artifact_class,
)
from stoker.metadata import schema as db
from stoker.metadata.queries import NODE, PIPELINE, RUN, Ids
from stoker.metadata.records import Event, EventType, Execution, ExecutionState, PipelineRun
from stoker.metadata.schema import TypeKind
from stoker.metadata.values import COLUMNS, decode

ERROR = "__error__"
"""The custom property of an execution that says why it failed."""
NAME = "name"
"""Where TFX keeps an artifact's name; in MLMD's own column it would have to be unique."""

_ByName = dict[str, PropertyValue]


def artifacts(connection: Connection, wanted: Ids) -> list[Artifact]:
    """Artifacts, oldest first, each an instance of its standard class or of one made up for it."""
    table = db.artifact
    found = connection.execute(
        select(table, db.type_.c.name.label("type_name"))
        .join(db.type_, db.type_.c.id == table.c.type_id)
        .where(table.c.id.in_(wanted))
        .order_by(table.c.create_time_since_epoch, table.c.id)
    ).all()
    typed, custom = _properties(connection, db.artifact_property, wanted)
    types = {row.type_id: row.type_name for row in found}
    classes = {
        type_id: STANDARD_TYPES.get(name)
        or artifact_class(name, declared_properties(connection, type_id))
        for type_id, name in types.items()
    }
    return [_artifact(classes[row.type_id](), row, typed[row.id], custom[row.id]) for row in found]


def _artifact(artifact: Artifact, row: Any, typed: _ByName, custom: _ByName) -> Artifact:
    artifact.id = row.id
    artifact.uri = row.uri or ""
    artifact.state = State(row.state or 0)
    artifact.name = str(custom.pop(NAME, row.name or ""))
    artifact.properties, artifact.custom_properties = typed, custom
    return artifact


def declared_properties(connection: Connection, type_id: int) -> dict[str, PropertyType]:
    """The declared properties of one type."""
    table = db.type_property
    found = connection.execute(
        select(table.c.name, table.c.data_type).where(
            table.c.type_id == type_id, table.c.data_type > 0
        )
    )
    return {name: PropertyType(kind) for name, kind in found}


def executions(connection: Connection, wanted: Ids) -> list[Execution]:
    """Executions, oldest first."""
    table = db.execution
    found = connection.execute(
        select(table, db.type_.c.name.label("type_name"))
        .join(db.type_, db.type_.c.id == table.c.type_id)
        .where(table.c.id.in_(wanted))
        .order_by(table.c.id)
    ).all()
    typed, custom = _properties(connection, db.execution_property, wanted)
    contexts = _contexts(connection, wanted)
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


def _contexts(connection: Connection, wanted: Ids) -> dict[int, dict[str, str]]:
    """The names of the contexts of each execution, by the type of the context."""
    found = connection.execute(
        select(db.association.c.execution_id, db.type_.c.name, db.context.c.name)
        .join(db.context, db.context.c.id == db.association.c.context_id)
        .join(db.type_, db.type_.c.id == db.context.c.type_id)
        .where(db.association.c.execution_id.in_(wanted))
    )
    contexts: dict[int, dict[str, str]] = defaultdict(dict)
    for execution_id, type_name, name in found:
        contexts[execution_id][type_name] = name
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
    path = db.event_path
    paths: dict[int, list[str | int]] = defaultdict(list)
    steps = select(path).where(path.c.event_id.in_(wanted)).order_by(path.c.event_id, path.c.rowid)
    for step in connection.execute(steps):
        paths[step.event_id].append(step.step_index if step.is_index_step else step.step_key)
    table = db.event
    found = connection.execute(select(table).where(table.c.id.in_(wanted)).order_by(table.c.id))
    return [
        Event(
            artifact_id=row.artifact_id,
            execution_id=row.execution_id,
            type=EventType(row.type),
            path=tuple(paths[row.id]),
            at_ms=row.milliseconds_since_epoch or 0,
        )
        for row in found
    ]


def runs(connection: Connection) -> list[PipelineRun]:
    """All runs, newest first."""
    context = db.context
    named = db.type_.c.type_kind == TypeKind.CONTEXT, db.type_.c.name == RUN
    of_type = context.c.type_id.in_(select(db.type_.c.id).where(*named))
    pipelines = _pipelines(connection)
    wanted = select(context.c.id).where(of_type)
    typed, custom = _properties(connection, db.context_property, wanted)
    newest_first = context.c.create_time_since_epoch.desc(), context.c.id.desc()
    return [
        PipelineRun(
            run_id=row.name,
            pipeline_name=pipelines.get(row.id, ""),
            properties={**typed[row.id], **custom[row.id]},
            created_ms=row.create_time_since_epoch,
            updated_ms=row.last_update_time_since_epoch,
        )
        for row in connection.execute(select(context).where(of_type).order_by(*newest_first))
    ]


def _pipelines(connection: Connection) -> dict[int, str]:
    """The pipeline of each run's context: its parent, or in TFX's stores its executions'."""
    pipeline = (
        select(db.context.c.id, db.context.c.name)
        .join(db.type_, db.type_.c.id == db.context.c.type_id)
        .where(db.type_.c.type_kind == TypeKind.CONTEXT, db.type_.c.name == PIPELINE)
        .subquery()
    )
    parent = db.parent_context
    of_parent = select(parent.c.context_id, pipeline.c.name).join(
        pipeline, pipeline.c.id == parent.c.parent_context_id
    )
    ours, theirs = db.association.alias("ours"), db.association.alias("theirs")
    of_executions = (
        select(ours.c.context_id, pipeline.c.name)
        .join(theirs, theirs.c.execution_id == ours.c.execution_id)
        .join(pipeline, pipeline.c.id == theirs.c.context_id)
        .where(ours.c.context_id.not_in(select(parent.c.context_id)))
        .distinct()
    )
    return {
        context_id: name
        for query in (of_executions, of_parent)
        for context_id, name in connection.execute(query)
    }


def _properties(
    connection: Connection, table: Table, owners: Ids
) -> tuple[dict[int, _ByName], dict[int, _ByName]]:
    """The declared and the custom properties of many rows, by the row's id."""
    owner = table.columns[0]
    found = connection.execute(
        select(
            owner, table.c.is_custom_property, table.c.name, *(table.c[name] for name in COLUMNS)
        ).where(owner.in_(owners))
    )
    typed: dict[int, _ByName] = defaultdict(dict)
    custom: dict[int, _ByName] = defaultdict(dict)
    for row in found:
        (custom if row.is_custom_property else typed)[row[0]][row.name] = decode(row)
    return typed, custom
