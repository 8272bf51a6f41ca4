# SPDX-License-Identifier: Apache-2.0
"""Many runs at once: what is asked of all of them costs one statement each, however many there are.

A table of runs needs little of each: outlines to choose and sort by, and the values of one column.
What is shown is then read for the few runs of a page (`load.runs`).
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, and_, func, select

from stoker.artifacts import PropertyValue
from stoker.metadata import load, queries
from stoker.metadata import schema as db
from stoker.metadata.queries import NODE, PIPELINE, RUN
from stoker.metadata.records import METRIC, NOTE, RUN_STATE, TAGS, PipelineRun
from stoker.metadata.values import COLUMNS, decode

_NOT_PARAMETERS = (
    "cache_key",
    "cache_parts",
    "cache_explanation",
    "observed",
    "edits_while_running",
    "skipped",
    load.ERROR,
)
"""Properties of executions that the runner keeps for itself."""
_OUTLINED = (RUN_STATE, "lock_file", NOTE, TAGS)


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

    def to_run(self, standings: Mapping[str, int]) -> PipelineRun:
        """The same as a record of a run, for who asks where it stands."""
        return PipelineRun(
            run_id=self.run_id,
            pipeline_name=self.pipeline_name,
            properties=self.properties,
            standings=standings,
            created_ms=self.created_ms,
            updated_ms=self.updated_ms,
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
    table = db.context
    wanted = queries.runs().with_only_columns(
        table.c.id,
        table.c.name,
        table.c.create_time_since_epoch,
        table.c.last_update_time_since_epoch,
    )
    newest_first = table.c.create_time_since_epoch.desc(), table.c.id.desc()
    outlines = {
        row[0]: RunOutline(context_id=row[0], run_id=row[1], created_ms=row[2], updated_ms=row[3])
        for row in connection.execute(wanted.order_by(*newest_first))
    }
    said = db.context_property
    values = (said.c[name] for name in COLUMNS)
    for row in connection.execute(
        select(said.c.context_id, said.c.name, *values).where(said.c.name.in_(_OUTLINED))
    ):
        if row[0] in outlines:
            outlines[row[0]].properties[row[1]] = decode(row)
    for context_id, name in load.pipelines_of_runs(connection, list(outlines)).items():
        outlines[context_id].pipeline_name = name
    return list(outlines.values())


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
    name = db.context_property.c.name
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
    return {one: dict(found) for one, found in load.standings(connection, context_ids)[0].items()}


def read_parameters(
    connection: Connection,
    context_ids: Collection[int] | None = None,
    name: str | None = None,
) -> dict[int, dict[str, dict[str, PropertyValue]]]:
    """The parameters of the steps of some runs or of all: by run, node and name.

    With a `name`, only parameters that are called so.
    """
    said, link, node_link = db.execution_property, db.association, db.association.alias("of_node")
    node = db.context.alias("node")
    values = (said.c[column] for column in COLUMNS)
    runs, nodes = queries.contexts(RUN), queries.contexts(NODE)
    wanted = (
        select(link.c.context_id, node.c.name.label("node"), said.c.name, *values)
        .select_from(link)
        .join(said, said.c.execution_id == link.c.execution_id)
        .join(node_link, node_link.c.execution_id == link.c.execution_id)
        .join(node, and_(node.c.id == node_link.c.context_id, node.c.id.in_(nodes)))
        .where(said.c.name.not_in(_NOT_PARAMETERS))
        .order_by(link.c.execution_id)
    )
    among = runs if context_ids is None else list(context_ids)
    wanted = wanted.where(link.c.context_id.in_(among))
    if name is not None:
        wanted = wanted.where(said.c.name == name)
    found: dict[int, dict[str, dict[str, PropertyValue]]] = defaultdict(lambda: defaultdict(dict))
    for row in connection.execute(wanted):
        found[row[0]][row[1]][row[2]] = decode(row)
    return found
