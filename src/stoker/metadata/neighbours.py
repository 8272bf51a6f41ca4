# SPDX-License-Identifier: Apache-2.0
"""What is near an artifact, as much as fits into a picture: thousands may have used it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from stoker.metadata import load
from stoker.metadata import schema as db
from stoker.metadata.records import (
    MADE,
    USED,
    Event,
    EventType,
    Execution,
    ExecutionState,
)

_FEW_STEPS = 24
_FEW_ARTIFACTS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """The ids of artifacts around one, the executions between them, and what links them."""

    artifact_ids: Sequence[int]
    executions: Sequence[Execution]
    events: Sequence[Event]
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """Who read an artifact, newest first, and how many did."""

    executions: Sequence[Execution]
    num_executions: int
    num_given_again: int
    """In how many runs a cache hit gave it."""


def read_neighbourhood(connection: Connection, artifact_id: int) -> Neighbourhood:
    """What an artifact was made from, and what was made from it, nearest first."""
    artifacts, steps, is_whole = {artifact_id}, set[int](), True
    for arriving, leaving in ((MADE, USED), (USED, MADE)):
        frontier = {artifact_id}
        while frontier:
            room = _FEW_STEPS - len(steps)
            found = _find_steps(connection, frontier, arriving, steps, room + 1)
            is_whole &= len(found) <= room
            new_steps = found[:room]
            steps.update(new_steps)
            beyond = select(db.event.c.artifact_id).where(
                db.event.c.execution_id.in_(new_steps), db.event.c.type.in_(leaving)
            )
            frontier = set(connection.scalars(beyond)) - artifacts if new_steps else set()
            if len(artifacts) + len(frontier) > _FEW_ARTIFACTS:
                frontier, is_whole = set(), False
            artifacts |= frontier
    links = select(db.event.c.id).where(
        db.event.c.execution_id.in_(steps),
        db.event.c.artifact_id.in_(artifacts),
        db.event.c.type.in_((*MADE, *USED)),
    )
    wanted = select(db.execution.c.id).where(db.execution.c.id.in_(steps))
    return Neighbourhood(
        artifact_ids=sorted(artifacts),
        executions=load.executions(connection, wanted, only=()),
        events=load.events(connection, links),
        is_whole=is_whole,
    )


def _find_steps(
    connection: Connection,
    artifacts: Collection[int],
    arriving: Collection[EventType],
    known: Collection[int],
    most: int,
) -> list[int]:
    """The newest executions that touched some artifacts so; a cache hit has made nothing."""
    event, execution = db.event, db.execution
    wanted = (
        select(event.c.execution_id)
        .join(execution, execution.c.id == event.c.execution_id)
        .where(
            event.c.artifact_id.in_(artifacts),
            event.c.type.in_(arriving),
            execution.c.last_known_state.is_distinct_from(ExecutionState.CACHED),
            event.c.execution_id.not_in(known),
        )
        .distinct()
        .order_by(event.c.execution_id.desc())
        .limit(max(0, most))
    )
    return list(connection.scalars(wanted))


def find_makers(connection: Connection, artifact_ids: Collection[int]) -> dict[int, Execution]:
    """The executions that made some artifacts, by the artifact."""
    made = (
        select(db.event.c.artifact_id, func.min(db.event.c.execution_id))
        .where(db.event.c.artifact_id.in_(artifact_ids), db.event.c.type.in_(MADE))
        .group_by(db.event.c.artifact_id)
    )
    makers: dict[int, int] = dict(map(tuple, connection.execute(made)))
    wanted = select(db.execution.c.id).where(db.execution.c.id.in_(list(makers.values())))
    found = {one.id: one for one in load.executions(connection, wanted, only=())}
    return {artifact: found[maker] for artifact, maker in makers.items() if maker in found}


def read_uses(connection: Connection, artifact_id: int, most: int = 30) -> Uses:
    """Who read an artifact."""
    event, execution = db.event, db.execution
    users = select(event.c.execution_id).where(
        event.c.artifact_id == artifact_id, event.c.type.in_(USED)
    )
    again = (
        select(event.c.execution_id)
        .join(execution, execution.c.id == event.c.execution_id)
        .where(
            event.c.artifact_id == artifact_id,
            event.c.type.in_(MADE),
            execution.c.last_known_state == ExecutionState.CACHED,
        )
    )
    newest = users.order_by(event.c.execution_id.desc()).limit(most)
    counts = [
        connection.scalar(select(func.count()).select_from(one.subquery())) or 0
        for one in (users, again)
    ]
    found = load.executions(connection, newest, only=())
    return Uses(
        executions=list(reversed(found)), num_executions=counts[0], num_given_again=counts[1]
    )
