# SPDX-License-Identifier: Apache-2.0
"""`get_lineage_subgraph`: what is reached from some nodes, hop by hop along the events."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from stoker.dsl.proto import metadata_store_pb2 as pb
from stoker.metadata import schema as db
from stoker.metadata.queries import OUTPUTS
from stoker.metadata.records import USED, EventType
from stoker.stand_ins.mlmd import rows
from stoker.stand_ins.mlmd.errors import InvalidArgumentError
from stoker.stand_ins.mlmd.filters import find_ids
from stoker.stand_ins.mlmd.nodes import ARTIFACT, CONTEXT, EXECUTION, NodeKind

_INPUTS = (*USED, EventType.INTERNAL_INPUT)
_DIRECTIONS = pb.LineageSubgraphQueryOptions
_MOST_HOPS = 100


def trace(connection: Connection, options: Any, masks: Sequence[str] | None) -> Any:
    """The graph that is reached, with the parts of it that `masks` names; all of it without."""
    start = options.WhichOneof("starting_nodes")
    if start is None:
        raise InvalidArgumentError("get_lineage_subgraph needs starting_artifacts or _executions.")
    kind = ARTIFACT if start == "starting_artifacts" else EXECUTION
    hops = min(options.max_num_hops, _MOST_HOPS) if options.HasField("max_num_hops") else _MOST_HOPS
    first = _select_ids(connection, kind, getattr(options, start).filter_query)
    reached, events = _walk(connection, kind, first, hops, options)
    return _collect(connection, reached, events, masks)


def _walk(
    connection: Connection, kind: NodeKind, first: set[int], hops: int, options: Any
) -> tuple[dict[str, set[int]], set[int]]:
    """The nodes by kind, and the events, that are reached within a number of hops."""
    reached: dict[str, set[int]] = {"artifact": set(), "execution": set()}
    reached[kind.name] |= first
    events: set[int] = set()
    ending = {
        ARTIFACT.name: _find_ending(connection, ARTIFACT, options.ending_artifacts),
        EXECUTION.name: _find_ending(connection, EXECUTION, options.ending_executions),
    }
    border = first
    for _ in range(hops):
        other = EXECUTION if kind is ARTIFACT else ARTIFACT
        table = db.event
        rows_found = connection.execute(
            select(table.c.id, table.c[other.owner].label("reached")).where(
                table.c[kind.owner].in_(border), table.c.type.in_(_types(kind, options.direction))
            )
        ).all()
        stop, keep = ending[other.name]
        steps = [row for row in rows_found if keep or row.reached not in stop]
        events |= {row.id for row in steps}
        border = {row.reached for row in steps} - reached[other.name] - stop
        reached[other.name] |= {row.reached for row in steps}
        kind = other
        if not border:
            break
    return reached, events


def _types(kind: NodeKind, direction: Any) -> tuple[Any, ...]:
    """The events that are followed from a node of a kind."""
    towards_makers = OUTPUTS if kind is ARTIFACT else _INPUTS
    towards_users = _INPUTS if kind is ARTIFACT else OUTPUTS
    if direction == _DIRECTIONS.UPSTREAM:
        return towards_makers
    return towards_users if direction == _DIRECTIONS.DOWNSTREAM else _INPUTS + OUTPUTS


def _find_ending(connection: Connection, kind: NodeKind, nodes: Any) -> tuple[set[int], bool]:
    """The nodes to stop at, and whether they belong to the graph."""
    found = _select_ids(connection, kind, nodes.filter_query) if nodes.filter_query else set()
    return found, nodes.include_ending_nodes


def _select_ids(connection: Connection, kind: NodeKind, query: str) -> set[int]:
    wanted = find_ids(kind, query) if query else select(kind.table.c.id)
    return set(connection.scalars(wanted))


def _collect(
    connection: Connection,
    reached: dict[str, set[int]],
    events: set[int],
    masks: Sequence[str] | None,
) -> Any:
    artifacts, executions = reached["artifact"], reached["execution"]
    links = {
        "attributions": (db.attribution, pb.Attribution, "artifact_id", artifacts),
        "associations": (db.association, pb.Association, "execution_id", executions),
    }
    found: dict[str, list[Any]] = {
        name: [
            message(**{column: row[column], "context_id": row["context_id"]})
            for row in connection.execute(
                select(table).where(table.c[column].in_(members))
            ).mappings()
        ]
        for name, (table, message, column, members) in links.items()
    }
    contexts = {link.context_id for name in links for link in found[name]}
    for kind, ids in ((ARTIFACT, artifacts), (EXECUTION, executions), (CONTEXT, contexts)):
        nodes = rows.read_nodes(connection, kind, [kind.table.c.id.in_(ids)])
        types = {node.type_id for node in nodes}
        found[f"{kind.name}s"] = nodes
        found[f"{kind.name}_types"] = rows.read_types(connection, kind, db.type_.c.id.in_(types))
    found["events"] = rows.read_events(connection, db.event.c.id.in_(events))
    return pb.LineageGraph(**{name: found[name] for name in masks or found})
