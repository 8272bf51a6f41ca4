# SPDX-License-Identifier: Apache-2.0
"""Many runs at once: what is asked of all of them costs one statement each, however many there are.

A table of runs needs little of each: outlines to choose and sort by, and the values of one column.
What is shown is then read for the few runs of a page (`load.runs`).
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, func, select

from stoker.artifacts import PropertyValue
from stoker.metadata import load, queries
from stoker.metadata import schema as db
from stoker.metadata.queries import NODE, PIPELINE, RUN
from stoker.metadata.records import (
    DAG,
    METRIC,
    NOTE,
    OWN_PROPERTIES,
    RUN_STATE,
    TAGS,
    WAITING,
    PipelineRun,
)
from stoker.metadata.values import COLUMNS, decode

_NOT_PARAMETERS = (*OWN_PROPERTIES, load.ERROR)
_MOST_LOCKS = 1_000
"""Of more runs that no end is recorded of, the newest may be alive."""


@dataclass(slots=True, kw_only=True)
class RunOutline:
    """As much of a run as is needed to find it among many."""

    context_id: int
    run_id: str
    pipeline_name: str = ""
    created_ms: int
    updated_ms: int
    properties: dict[str, PropertyValue] = field(default_factory=dict)
    """How it stands, and what people have said of it."""
    held: frozenset[str] = frozenset()

    def to_run(self, standings: Mapping[str, int]) -> PipelineRun:
        """This row as a record of a run, which says where the run stands."""
        return PipelineRun(
            run_id=self.run_id,
            pipeline_name=self.pipeline_name,
            properties=self.properties,
            standings=standings,
            created_ms=self.created_ms,
            updated_ms=self.updated_ms,
            held=self.held,
        )


def count_runs(connection: Connection) -> int:
    """How many runs there are."""
    runs = queries.contexts(RUN).subquery()
    return connection.scalar(select(func.count()).select_from(runs)) or 0


def list_newest(connection: Connection, offset: int, limit: int) -> list[int]:
    """The contexts of some runs, newest first."""
    return list(connection.scalars(queries.runs(newest=limit).offset(offset)))


def read_outlines(connection: Connection) -> list[RunOutline]:
    """All runs, newest first."""
    table, parent, pipeline = db.context, db.parent_context, db.context.alias("pipeline")
    state = db.context_property.alias("state")
    stands = (state.c.context_id == table.c.id) & (state.c.name == RUN_STATE)
    newest_first = table.c.create_time_since_epoch.desc(), table.c.id.desc()
    wanted = (
        queries.runs()
        .outerjoin(state, stands & state.c.is_custom_property.is_(True))
        .outerjoin(parent, parent.c.context_id == table.c.id)
        .outerjoin(pipeline, pipeline.c.id == parent.c.parent_context_id)
        .with_only_columns(
            table.c.id,
            table.c.name,
            table.c.create_time_since_epoch,
            table.c.last_update_time_since_epoch,
            state.c.string_value,
            pipeline.c.name,
        )
        .order_by(*newest_first)
    )
    outlines = {
        context_id: RunOutline(
            context_id=context_id,
            run_id=run_id,
            pipeline_name=name or "",
            created_ms=created_ms,
            updated_ms=updated_ms,
            properties={RUN_STATE: stands} if stands is not None else {},
        )
        for context_id, run_id, created_ms, updated_ms, stands, name in connection.execute(wanted)
    }
    _add_rare_properties(connection, outlines)
    orphans = [one.context_id for one in outlines.values() if not one.pipeline_name]
    for context_id, name in load.pipelines_of_runs(connection, orphans).items() if orphans else ():
        outlines[context_id].pipeline_name = name
    return list(outlines.values())


def _add_rare_properties(connection: Connection, outlines: dict[int, RunOutline]) -> None:
    """What people have said, and the locks of runs that may be alive; few runs have either."""
    said = db.context_property
    values = (said.c[name] for name in COLUMNS)
    few = [
        one.context_id
        for one in outlines.values()
        if one.properties.get(RUN_STATE) in (None, "running", WAITING)
    ]
    told = said.c.name.in_((NOTE, TAGS))
    lock = ("lock_file",) if connection.dialect.name == "sqlite" else ("lock_file", DAG)
    locks = said.c.name.in_(lock) & said.c.context_id.in_(few[:_MOST_LOCKS])
    wanted = select(said.c.context_id, said.c.name, *values).where(told | locks if few else told)
    for row in connection.execute(wanted):
        if row[0] in outlines:
            outlines[row[0]].properties[row[1]] = decode(row)
    newest = [outlines[one] for one in few[:_MOST_LOCKS]]
    held = load.find_held(connection, {one.run_id: one.properties for one in newest})
    for one in newest:
        one.held = held.get(one.run_id, frozenset())


def read_runs(connection: Connection, context_ids: Sequence[int]) -> dict[int, PipelineRun]:
    """Some runs, by their contexts."""
    table = db.context
    wanted = queries.contexts(RUN).where(table.c.id.in_(context_ids))
    names = connection.execute(wanted.with_only_columns(table.c.name, table.c.id))
    ids: dict[str, int] = dict(map(tuple, names))
    return {ids[run.run_id]: run for run in load.runs(connection, wanted)}


def list_pipelines(connection: Connection) -> list[str]:
    """The names of all pipelines."""
    return list(connection.scalars(queries.contexts(PIPELINE).with_only_columns(db.context.c.name)))


def list_metrics(connection: Connection) -> list[str]:
    """The names of all metrics that some run has."""
    name: ColumnElement[str] = db.context_property.c.name
    if connection.dialect.name == "postgresql":  # sorts as people do, who skip dots
        name = name.collate("C")
    after = METRIC[:-1] + chr(ord(METRIC[-1]) + 1)  # a range, which the index knows
    found = connection.scalars(select(name).where(name >= METRIC, name < after).distinct())
    return sorted(one.removeprefix(METRIC) for one in found)


def read_metric(connection: Connection, name: str) -> dict[int, float]:
    """The values of a metric, by the contexts of the runs that have it."""
    table = db.context_property
    number = func.coalesce(table.c.double_value, table.c.int_value)
    wanted = select(table.c.context_id, number).where(
        table.c.name == f"{METRIC}{name}", table.c.is_custom_property.is_(True)
    )
    return {row[0]: float(row[1]) for row in connection.execute(wanted) if row[1] is not None}


def count_standings(
    connection: Connection, context_ids: Sequence[int]
) -> dict[int, dict[str, int]]:
    """How many executions of each run stand where."""
    return {
        one: dict(found) for one, found in load.count_standings(connection, context_ids)[0].items()
    }


def read_parameters(
    connection: Connection, context_ids: Collection[int]
) -> dict[int, dict[str, dict[str, PropertyValue]]]:
    """The parameters of the steps of some runs: by run, context of the node, and name."""
    said, link = db.execution_property, db.association
    in_runs = select(link.c.execution_id, link.c.context_id).where(
        link.c.context_id.in_(list(context_ids))
    )
    runs: dict[int, int] = dict(map(tuple, connection.execute(in_runs)))
    # Both columns of the index are given: the table itself may be long.
    of_nodes = (
        select(link.c.execution_id, db.context.c.name)
        .join(db.context, db.context.c.id == link.c.context_id)
        .where(link.c.context_id.in_(queries.contexts(NODE)), link.c.execution_id.in_(list(runs)))
    )
    nodes: dict[int, str] = dict(map(tuple, connection.execute(of_nodes)))
    columns = (said.c[column] for column in COLUMNS)
    wanted = select(said.c.execution_id, said.c.name, *columns).where(
        said.c.execution_id.in_(list(runs)), said.c.name.not_in(_NOT_PARAMETERS)
    )
    found: dict[int, dict[str, dict[str, PropertyValue]]] = defaultdict(lambda: defaultdict(dict))
    for row in connection.execute(wanted):
        found[runs[row[0]]][nodes.get(row[0], "")][row[1]] = decode(row)
    return found


def read_parameter(
    connection: Connection, nodes: Collection[str], name: str
) -> dict[int, PropertyValue]:
    """One parameter of a step in all runs, by the run; `nodes` are the names of its contexts."""
    said, link = db.execution_property, db.association
    context = queries.contexts(NODE).where(db.context.c.name.in_(nodes))
    of_node = select(link.c.execution_id).where(link.c.context_id.in_(context))
    columns = (said.c[column] for column in COLUMNS)
    wanted = select(said.c.execution_id, *columns).where(
        said.c.execution_id.in_(of_node), said.c.name == name
    )
    values = {row[0]: decode(row) for row in connection.execute(wanted)}
    if not values:
        return {}
    runs = link.alias("runs")
    in_runs = select(runs.c.context_id, runs.c.execution_id).where(
        runs.c.context_id.in_(queries.contexts(RUN)), runs.c.execution_id.in_(of_node)
    )
    return {run: values[one] for run, one in connection.execute(in_runs) if one in values}
