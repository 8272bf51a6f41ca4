# SPDX-License-Identifier: Apache-2.0
"""Which rows are meant: pure functions that return queries for ids, which `load` then reads."""

from collections.abc import Collection, Mapping

from sqlalchemy import ColumnElement, Select, func, select

from stoker.artifacts import State
from stoker.metadata import schema as db
from stoker.metadata.records import MADE, ROOT, STORE_FILE, EventType, ExecutionState
from stoker.metadata.schema import TypeKind

Ids = Select[int]

PIPELINE, RUN, NODE = "pipeline", "pipeline_run", "node"

OUTPUTS = (
    EventType.OUTPUT,
    EventType.DECLARED_OUTPUT,
    EventType.INTERNAL_OUTPUT,
    EventType.PENDING_OUTPUT,
)

WRITTEN = (*MADE, EventType.PENDING_OUTPUT)
"""How a step touches what it writes itself, from its beginning on."""


def one_execution(execution_id: int) -> Ids:
    """One execution, if it exists."""
    return select(db.execution.c.id).where(db.execution.c.id == execution_id)


def one_artifact(artifact_id: int) -> Ids:
    """One artifact, if it exists."""
    return select(db.artifact.c.id).where(db.artifact.c.id == artifact_id)


def some_artifacts(artifact_ids: Collection[int]) -> Ids:
    """Some artifacts, as far as there are such."""
    return select(db.artifact.c.id).where(db.artifact.c.id.in_(artifact_ids))


def executions(
    pipeline_name: str | None = None,
    run_id: str | None = None,
    node_id: str | None = None,
    states: Collection[ExecutionState] | None = None,
    having: Mapping[str, str] | None = None,
    newest: int | None = None,
) -> Ids:
    """The executions in all contexts that are named, with the text properties in `having`."""
    if node_id is not None and pipeline_name is None:
        raise ValueError(
            f"The node {node_id!r} is known only within its pipeline: give pipeline_name too."
        )
    named = {
        RUN: run_id,
        NODE: None if node_id is None else f"{pipeline_name}.{node_id}",
        PIPELINE: pipeline_name,
    }
    table = db.execution
    wanted = select(table.c.id)
    narrowest_first = [
        *(_holders(name, text) for name, text in (having or {}).items()),
        *(_members(type_name, name) for type_name, name in named.items() if name is not None),
    ]
    # The first gives the candidates, and the others are asked about each of them: for the newest
    # of a node, the long past of its pipeline is not read.
    for among in narrowest_first[:1]:
        wanted = wanted.where(table.c.id.in_(among))
    for among in narrowest_first[1:]:
        (member,) = among.selected_columns
        wanted = wanted.where(among.where(member == table.c.id).exists())
    if states is not None:
        wanted = wanted.where(table.c.last_known_state.in_(states))
    if newest is not None:
        wanted = wanted.order_by(table.c.id.desc()).limit(newest)
    return wanted


def _holders(name: str, text: str) -> Ids:
    """The executions with this text in a custom property; all three columns are MLMD's index."""
    table = db.execution_property
    return select(table.c.execution_id).where(
        table.c.name == name,
        table.c.is_custom_property.is_(True),
        db.is_text(table.c.string_value, text),
    )


def _members(type_name: str, name: str) -> Ids:
    """The executions in one context."""
    context = contexts(type_name).where(db.context.c.name == name)
    return select(db.association.c.execution_id).where(db.association.c.context_id.in_(context))


def contexts(type_name: str) -> Ids:
    """The contexts of one type."""
    of_type = db.type_.c.type_kind == TypeKind.CONTEXT, db.type_.c.name == type_name
    return (
        select(db.context.c.id)
        .join(db.type_, db.type_.c.id == db.context.c.type_id)
        .where(*of_type)
    )


def runs(pipeline_name: str | None = None, begin: str = "", newest: int | None = None) -> Ids:
    """The contexts of runs, of one pipeline or of all, whose ids begin so."""
    table = db.context
    wanted = contexts(RUN)
    if pipeline_name is not None:
        wanted = wanted.where(_is_run_of(pipeline_name))
    if begin:
        wanted = wanted.where(table.c.name.startswith(begin, autoescape=True))
    if newest is not None:
        newest_first = table.c.create_time_since_epoch.desc(), table.c.id.desc()
        wanted = wanted.order_by(*newest_first).limit(newest)
    return wanted


def one_run(run_id: str) -> Ids:
    """The context of one run, if there is such a one."""
    return contexts(RUN).where(db.context.c.name == run_id)


def places_of_runs() -> Select[str, str]:
    """Where runs had their roots and their stores, each pair once; a store may not be told."""
    root, store = db.context_property, db.context_property.alias("store")
    same_run = (store.c.context_id == root.c.context_id) & (store.c.name == STORE_FILE)
    return (
        select(root.c.string_value, func.coalesce(store.c.string_value, ""))
        .outerjoin(store, same_run)
        .where(root.c.name == ROOT, root.c.string_value.is_not(None))
        .distinct()
    )


def runs_of(executions: Collection[int]) -> Ids:
    """The contexts of the runs that some executions are in."""
    link = db.association
    within = select(link.c.context_id).where(link.c.execution_id.in_(executions))
    return contexts(RUN).where(db.context.c.id.in_(within))


def _is_run_of(pipeline_name: str) -> ColumnElement[bool]:
    """A run is below its pipeline; in TFX's stores only its executions are in both contexts."""
    pipeline = contexts(PIPELINE).where(db.context.c.name == pipeline_name).correlate(None)
    parent, ours = db.parent_context, db.association.alias("ours")
    theirs = db.association.alias("theirs")
    below = select(parent).where(parent.c.context_id == db.context.c.id)
    shared = (
        select(ours)
        .join(theirs, theirs.c.execution_id == ours.c.execution_id)
        .where(ours.c.context_id == db.context.c.id, theirs.c.context_id.in_(pipeline))
    )
    return below.where(parent.c.parent_context_id.in_(pipeline)).exists() | (
        ~below.exists() & shared.exists()
    )


def artifacts(
    *,
    states: Collection[State],
    type_name: str | None = None,
    uris: Collection[str] | None = None,
    output_of: Ids | None = None,
    output_key: str | None = None,
    newest: int | None = None,
) -> Ids:
    """The artifacts that fit: in themselves, and as outputs of some executions under some key."""
    table = db.artifact
    wanted = select(table.c.id).where(table.c.state.in_(states))
    if newest is not None:
        wanted = wanted.order_by(table.c.id.desc()).limit(newest)
    if type_name is not None:
        named = db.type_.c.type_kind == TypeKind.ARTIFACT, db.type_.c.name == type_name
        wanted = wanted.where(table.c.type_id.in_(select(db.type_.c.id).where(*named)))
    if uris is not None:
        wanted = wanted.where(table.c.uri.in_(uris))
    if output_of is None and output_key is None:
        return wanted
    event = db.event
    written = select(event.c.artifact_id).where(event.c.type.in_(OUTPUTS))
    if output_of is not None:
        written = written.where(event.c.execution_id.in_(output_of))
    if output_key is not None:
        path = db.event_path
        step = select(path.c.event_id).where(path.c.step_key == output_key)
        written = written.where(step.where(path.c.event_id == event.c.id).exists())
    return wanted.where(table.c.id.in_(written))


def events_of(executions: Ids | Collection[int], types: Collection[EventType] | None = None) -> Ids:
    """The events of some executions."""
    wanted = select(db.event.c.id).where(db.event.c.execution_id.in_(executions))
    return wanted if types is None else wanted.where(db.event.c.type.in_(types))


def outputs_of_runs(run_ids: Collection[str], type_names: Collection[str]) -> Ids:
    """The events by which steps of some runs wrote artifacts of some types, published or not."""
    named = contexts(RUN).where(db.context.c.name.in_(run_ids))
    steps = select(db.association.c.execution_id).where(db.association.c.context_id.in_(named))
    kinds = db.type_.c.type_kind == TypeKind.ARTIFACT, db.type_.c.name.in_(type_names)
    typed = select(db.artifact.c.id).where(
        db.artifact.c.id == db.event.c.artifact_id,
        db.artifact.c.type_id.in_(select(db.type_.c.id).where(*kinds)),
    )
    return events_of(steps, WRITTEN).where(typed.exists())


def pending_outputs(execution_id: int) -> Ids:
    """The artifacts that one execution has promised and not yet published."""
    events = events_of([execution_id], (EventType.PENDING_OUTPUT,))
    return events.with_only_columns(db.event.c.artifact_id)


def contexts_of(execution_id: int) -> Ids:
    """The contexts of one execution."""
    table = db.association
    return select(table.c.context_id).where(table.c.execution_id == execution_id)


def artifacts_reached(
    artifact_id: int, arriving: Collection[EventType], leaving: Collection[EventType]
) -> Ids:
    """An artifact, and all that are reached from it through executions.

    An execution is entered by an event of a type in `arriving` and left by one in `leaving`.
    """
    found = one_artifact(artifact_id).cte("artifacts_reached", recursive=True)
    into, out_of = db.event.alias("into"), db.event.alias("out_of")
    following = (
        select(out_of.c.artifact_id)
        .join(into, into.c.execution_id == out_of.c.execution_id)
        .join(found, found.c.id == into.c.artifact_id)
        .join(db.execution, db.execution.c.id == into.c.execution_id)
        .where(into.c.type.in_(arriving), out_of.c.type.in_(leaving), _has_run())
    )
    return select(found.union(following).c.id)


def executions_arriving(artifacts: Ids, arriving: Collection[EventType]) -> Ids:
    """The executions that `reached` went through, or could not leave."""
    event = db.event
    return (
        select(event.c.execution_id)
        .join(db.execution, db.execution.c.id == event.c.execution_id)
        .where(event.c.artifact_id.in_(artifacts), event.c.type.in_(arriving), _has_run())
    )


def links_between(artifacts: Ids, executions: Ids, types: Collection[EventType]) -> Ids:
    """The events between some artifacts and some executions."""
    event = db.event
    return select(event.c.id).where(
        event.c.artifact_id.in_(artifacts),
        event.c.execution_id.in_(executions),
        event.c.type.in_(types),
    )


def _has_run() -> ColumnElement[bool]:
    """A cache hit points at what an earlier execution made."""
    return db.execution.c.last_known_state.is_distinct_from(ExecutionState.CACHED)
