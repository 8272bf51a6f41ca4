# SPDX-License-Identifier: Apache-2.0
"""Records become rows, inside a transaction that the store opened."""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from stoker.artifacts import Artifact, ArtifactMap, PropertyType, PropertyValue, State
from stoker.errors import StoreError
from stoker.metadata import load, queries
from stoker.metadata import schema as db
from stoker.metadata.queries import PIPELINE, RUN
from stoker.metadata.records import EventType, ExecutionState
from stoker.metadata.schema import TypeKind
from stoker.metadata.values import encode

Properties = Mapping[str, PropertyValue]


# Types and properties


def _add_type(
    connection: Connection,
    kind: TypeKind,
    name: str,
    properties: Mapping[str, PropertyType] | None = None,
    base_type: str | None = None,
) -> int:
    """The id of a type, which is registered first if it is new or has new properties."""
    table = db.type_
    type_id = connection.scalar(
        select(table.c.id).where(
            table.c.name == name, table.c.type_kind == kind, table.c.version.is_(None)
        )
    )
    if type_id is None:
        type_id = insert_row(connection, table, name=name, type_kind=kind)
        if base_type:
            base = select(table.c.id).where(table.c.name == base_type).scalar_subquery()
            parent = insert(db.parent_type).values(type_id=type_id, parent_type_id=base)
            connection.execute(parent)
    if properties:
        _declare(connection, type_id, name, properties)
    return type_id


def _declare(
    connection: Connection, type_id: int, type_name: str, properties: Mapping[str, PropertyType]
) -> None:
    known = load.read_declared_properties(connection, type_id)
    for name, kind in properties.items():
        if known.get(name, kind) != kind:
            raise StoreError(
                f"The store knows {type_name}.{name} as {known[name].name}, and the pipeline "
                f"declares it as {kind.name}. Give the property or the type another name."
            )
    insert_rows(
        connection,
        db.type_property,
        [
            {"type_id": type_id, "name": name, "data_type": kind}
            for name, kind in properties.items()
            if name not in known
        ],
    )


def add_properties(
    connection: Connection,
    table: Table,
    owner: int,
    properties: Properties,
    *,
    kinds: Mapping[str, PropertyType] | None = None,
) -> None:
    """Write properties of one row over older ones: custom ones, or those that `kinds` declares."""
    if not properties:
        return
    owner_column, custom = table.columns[0], kinds is None
    connection.execute(
        delete(table).where(
            owner_column == owner,
            table.c.is_custom_property == custom,
            table.c.name.in_(list(properties)),
        )
    )
    insert_rows(
        connection,
        table,
        [
            {
                owner_column.name: owner,
                "name": name,
                "is_custom_property": custom,
                **encode(name, value, kinds[name] if kinds else None),
            }
            for name, value in properties.items()
            if value is not None
        ],
    )


# Contexts


def add_context(connection: Connection, type_name: str, name: str) -> int:
    """The id of a context, which is inserted first if it is new."""
    type_id = _add_type(connection, TypeKind.CONTEXT, type_name)
    table = db.context
    known = connection.scalar(
        select(table.c.id).where(table.c.type_id == type_id, table.c.name == name)
    )
    return known or insert_row(connection, table, type_id=type_id, name=name, **make_times())


def add_run(connection: Connection, pipeline_name: str, run_id: str) -> int:
    """The context of a run, below the context of its pipeline."""
    pipeline = add_context(connection, PIPELINE, pipeline_name)
    run = add_context(connection, RUN, run_id)
    table = db.parent_context
    known = connection.scalar(select(table.c.parent_context_id).where(table.c.context_id == run))
    if known is None:
        connection.execute(insert(table).values(context_id=run, parent_context_id=pipeline))
    elif known != pipeline:
        raise StoreError(
            f"The run id {run_id!r} belongs to another pipeline in this store. Give the run of "
            f"{pipeline_name!r} another id."
        )
    return run


def touch_context(connection: Connection, context: int) -> None:
    """Say that a context has changed now."""
    table = db.context
    changed = update(table).where(table.c.id == context)
    connection.execute(changed.values(last_update_time_since_epoch=_now_ms()))


def add_links(
    connection: Connection, table: Table, contexts: Iterable[int], members: Collection[int]
) -> None:
    """Put executions (Association) or artifacts (Attribution) into contexts, where they are not."""
    member = table.columns[2]
    for context in contexts:
        linked = select(member).where(table.c.context_id == context, member.in_(members))
        known = set(connection.scalars(linked))
        new = [{"context_id": context, member.name: one} for one in members if one not in known]
        insert_rows(connection, table, new)


# Executions


def add_execution(
    connection: Connection,
    type_name: str,
    base_type: str | None,
    at_least: int,
    external_id: str | None = None,
) -> int:
    """Insert a RUNNING execution whose id is new and not below `at_least`."""
    type_id = _add_type(connection, TypeKind.EXECUTION, type_name, base_type=base_type)
    highest = connection.scalar(select(func.max(db.execution.c.id))) or 0
    values: dict[str, Any] = {
        "type_id": type_id,
        "last_known_state": ExecutionState.RUNNING,
        **make_times(),
    }
    if external_id:
        values["external_id"] = external_id
    if at_least > highest + 1:
        values["id"] = at_least
    execution_id = insert_row(connection, db.execution, **values)
    if "id" in values:
        count_on(connection, db.execution)
    return execution_id


def find_execution(connection: Connection, external_id: str) -> int | None:
    """The id of the execution with an id from outside, if there is one."""
    table = db.execution
    return connection.scalar(select(table.c.id).where(table.c.external_id == external_id))


def count_on(connection: Connection, table: Table) -> None:
    """Let the ids that a table gives follow those that it was given; only PostgreSQL must be told.

    SQLite and MySQL do so by themselves.
    """
    if connection.dialect.name == "postgresql":
        highest = select(func.max(table.c.id)).scalar_subquery()
        sequence = func.pg_get_serial_sequence(table.name.lower(), "id")
        connection.execute(select(func.setval(sequence, highest)))


def get_state(connection: Connection, execution_id: int) -> ExecutionState:
    """Where an execution stands."""
    table = db.execution
    row = connection.execute(
        select(table.c.last_known_state).where(table.c.id == execution_id)
    ).one_or_none()
    if row is None:
        raise StoreError(f"The store has no execution {execution_id}. Register it first.")
    return ExecutionState(row.last_known_state or 0)


def require_running(connection: Connection, execution_id: int) -> None:
    """Refuse to publish what another run has closed in the meantime."""
    found = get_state(connection, execution_id)
    if found != ExecutionState.RUNNING:
        raise StoreError(
            f"Execution {execution_id} is {found.name}, so nothing can be published for it. "
            "Another run closed it, taking its run for dead; run the pipeline again."
        )


def set_state(connection: Connection, execution_id: int, state: ExecutionState) -> None:
    """Move an execution to `state`."""
    connection.execute(
        update(db.execution)
        .where(db.execution.c.id == execution_id)
        .values(last_known_state=state, last_update_time_since_epoch=_now_ms())
    )


# Artifacts


def add_artifact(connection: Connection, artifact: Artifact, state: State) -> None:
    """Insert an artifact in `state`, and give the object its id and state."""
    type_id = _add_type(
        connection,
        TypeKind.ARTIFACT,
        artifact.type_name,
        _kinds(artifact),
        artifact.system_type(),
    )
    artifact.id = insert_row(
        connection, db.artifact, type_id=type_id, uri=artifact.uri, state=state, **make_times()
    )
    artifact.state = state
    _add_artifact_properties(connection, artifact)


def publish_artifact(connection: Connection, artifact: Artifact) -> None:
    """Make a pending artifact LIVE, with what its object says now."""
    connection.execute(
        update(db.artifact)
        .where(db.artifact.c.id == artifact.id)
        .values(uri=artifact.uri, state=State.LIVE, last_update_time_since_epoch=_now_ms())
    )
    properties = db.artifact_property
    connection.execute(delete(properties).where(properties.c.artifact_id == artifact.id))
    _add_artifact_properties(connection, artifact)
    artifact.state = State.LIVE


def _add_artifact_properties(connection: Connection, artifact: Artifact) -> None:
    kinds = _kinds(artifact)
    if unknown := sorted(artifact.properties.keys() - kinds.keys()):
        raise ValueError(
            f"{artifact.type_name} declares no property {unknown[0]!r}; it has "
            f"{', '.join(kinds) or 'none'}. Add it to PROPERTIES, or set it in custom_properties."
        )
    table, custom = db.artifact_property, artifact.custom_properties
    if artifact.name:
        custom = {**custom, load.NAME: artifact.name}
    add_properties(connection, table, artifact.id, artifact.properties, kinds=kinds)
    add_properties(connection, table, artifact.id, custom)


def _kinds(artifact: Artifact) -> dict[str, PropertyType]:
    return {name: declared.type for name, declared in (artifact.PROPERTIES or {}).items()}


def abandon_pending(connection: Connection, execution_id: int) -> None:
    """Give up the artifacts that an execution promised and did not publish."""
    connection.execute(
        update(db.artifact)
        .where(db.artifact.c.id.in_(queries.pending_outputs(execution_id)))
        .values(state=State.ABANDONED, last_update_time_since_epoch=_now_ms())
    )


def require_live(connection: Connection, artifact_ids: Collection[int]) -> None:
    """Refuse to publish once more what is not published."""
    table = db.artifact
    live = select(table.c.id).where(table.c.id.in_(artifact_ids), table.c.state == State.LIVE)
    if missing := set(artifact_ids) - set(connection.scalars(live)):
        raise StoreError(
            f"Artifact {min(missing)} is not LIVE in the store, so no execution can give it as an "
            "output. Publish the execution that writes it first."
        )


# Events


def add_events(
    connection: Connection,
    execution_id: int,
    kind: EventType,
    artifacts: ArtifactMap,
    *,
    besides: Collection[int] = (),
) -> None:
    """Record that an execution read or wrote artifacts, with the key and index of each.

    MLMD allows one event of a kind between two rows, so an artifact that was given twice has one
    event whose path names both places. Those whose ids are in `besides` have theirs already.
    """
    paths: dict[int, list[str | int]] = defaultdict(list)
    for key, found in artifacts.items():
        for index, artifact in enumerate(found):
            if artifact.id not in besides:
                paths[artifact.id] += [key, index]
    now = _now_ms()
    insert_rows(
        connection,
        db.event,
        [
            {
                "artifact_id": artifact_id,
                "execution_id": execution_id,
                "type": kind,
                "milliseconds_since_epoch": now,
            }
            for artifact_id in paths
        ],
    )
    made = select(db.event.c.id, db.event.c.artifact_id).where(
        db.event.c.execution_id == execution_id, db.event.c.type == kind
    )
    steps = [
        step
        for event_id, artifact_id in connection.execute(made).all()
        for step in make_steps(connection, event_id, paths[artifact_id])
    ]
    insert_rows(connection, db.event_path, steps)


def make_steps(
    connection: Connection, event_id: int, path: Sequence[str | int]
) -> list[dict[str, Any]]:
    """The path of an event; on a server, each step has its place in the column that it leaves."""
    tells_place = connection.dialect.name != "sqlite"
    steps = []
    for position, step in enumerate(path):
        is_index, place = isinstance(step, int), position if tells_place else None
        spare = None if place is None else str(place)
        steps.append(
            {
                "event_id": event_id,
                "is_index_step": is_index,
                "step_index": step if is_index else place,
                "step_key": spare if is_index else step,
            }
        )
    return steps


def settle_events(
    connection: Connection, execution_id: int, kind: EventType, artifact_ids: Collection[int]
) -> None:
    """Turn the pending events of published artifacts into events of `kind`."""
    table = db.event
    connection.execute(
        update(table)
        .where(table.c.execution_id == execution_id, table.c.type == EventType.PENDING_OUTPUT)
        .where(table.c.artifact_id.in_(artifact_ids))
        .values(type=kind, milliseconds_since_epoch=_now_ms())
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def make_times() -> dict[str, int]:
    """When a row is made and changed: now."""
    now = _now_ms()
    return {"create_time_since_epoch": now, "last_update_time_since_epoch": now}


def insert_row(connection: Connection, table: Table, **values: Any) -> int:
    """Insert one row, and return its id."""
    key = connection.execute(insert(table).values(**values)).inserted_primary_key
    assert key
    return int(key[0])


def insert_rows(connection: Connection, table: Table, new: list[dict[str, Any]]) -> None:
    """Insert any number of rows, or none."""
    if new:
        connection.execute(insert(table), new)
