# SPDX-License-Identifier: Apache-2.0
"""What the store tells about executions, runs, events and lineage; numbers and names are MLMD's."""

import enum
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from stoker.artifacts import Artifact, PropertyValue

SKIPPED = "skipped"
"""The property of an execution that a condition has canceled: why."""

ROUND, NUM_ROUNDS = "round", "num_rounds"
"""The properties of an execution in a loop: which of all its rounds it is."""

OWN_PROPERTIES = (
    *("cache_key", "cache_parts", "cache_explanation", "observed", "edits_while_running"),
    *(SKIPPED, ROUND, NUM_ROUNDS),
)
"""The properties of an execution that are no parameters: the runner's own."""

RUN_STATE = "state"
"""The property of a run that says how it ended; until then, that it is `running`."""
WAITING = "waiting"
"""The state of a run whose steps are started one by one, and of which none is at work."""
ROOT, STORE_FILE = "root", "store_file"
"""The properties of a run that say where its pipeline root and its store were."""
NUM_STEPS = "num_steps"
"""The property of a run that says how many steps it was to have."""
DAG = "dag"
"""The property of a run that says what its steps read from each other, also of those to come."""
PARAMETERS = "parameters"
"""The property of a run that says which values it was given, where steps join it."""
METRIC = "metric."
"""What the names of those properties of a run begin with that are its last metrics."""
METRICS = "metrics"
"""The custom property of an artifact with the last metrics that are told in it."""
NOTE, TAGS = "note", "tags"
"""The properties of a run that people write: a text, and a list of words."""
RunEnd = Literal["complete", "failed", "canceled"]
ENDED_WELL = ("complete", "cached", SKIPPED)
"""Where an execution stands whose step need not be run again in its run."""

BaseType = Literal["TRAIN", "TRANSFORM", "PROCESS", "EVALUATE", "DEPLOY"]


class ExecutionState(enum.IntEnum):
    """Where an execution stands; the numbers are MLMD's."""

    UNKNOWN = 0
    NEW = 1
    RUNNING = 2
    COMPLETE = 3
    FAILED = 4
    CACHED = 5
    CANCELED = 6


class EventType(enum.IntEnum):
    """How an execution touched an artifact; the numbers are MLMD's."""

    UNKNOWN = 0
    DECLARED_OUTPUT = 1
    DECLARED_INPUT = 2
    INPUT = 3
    OUTPUT = 4
    INTERNAL_INPUT = 5
    INTERNAL_OUTPUT = 6
    PENDING_OUTPUT = 7


USED = (EventType.INPUT, EventType.DECLARED_INPUT)
MADE = (EventType.OUTPUT, EventType.DECLARED_OUTPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One attempt to run a step.

    Pipeline, run and node are empty where another program left them out.
    """

    id: int
    type_name: str
    state: ExecutionState
    pipeline_name: str = ""
    run_id: str = ""
    node_id: str = ""
    properties: Mapping[str, PropertyValue]
    error: str = ""
    created_ms: int
    updated_ms: int

    @property
    def standing(self) -> str:
        """Where it stands, in one word."""
        return describe_standing(self.state, skipped=SKIPPED in self.properties)


def describe_standing(state: ExecutionState, *, skipped: bool) -> str:
    """Where an execution stands, in one word."""
    return SKIPPED if skipped else state.name.lower()


def find_run_state(
    executions: Iterable[Execution], node_ids: Collection[str], again: str = ""
) -> str:
    """Where a run of these steps stands whose steps are started one by one.

    How the step `again` ended earlier does not count, unless it ended well.
    """
    counted = (one for one in executions if one.node_id != again or one.standing in ENDED_WELL)
    last = {(one.node_id, str(one.properties.get(ROUND, ""))): one for one in counted}
    standings = [one.standing for one in last.values()]
    for end in ("failed", "canceled"):
        if end in standings:
            return end
    done = [one for one in last.values() if one.standing in ENDED_WELL]
    rounds = Counter(one.node_id for one in done)
    wanted = {one.node_id: one.properties.get(NUM_ROUNDS, 1) for one in done}
    whole = {node_id for node_id, number in rounds.items() if number == wanted[node_id]}
    return "complete" if whole.issuperset(node_ids) else WAITING


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineRun:
    """One run of a pipeline."""

    run_id: str
    pipeline_name: str
    properties: Mapping[str, PropertyValue]
    standings: Mapping[str, int]
    """How many of its executions stand where."""
    created_ms: int
    updated_ms: int
    """When it, or the last of its executions, was recorded or changed."""
    held: frozenset[str] = frozenset()
    """Which locks are held in a server's database: its own name, or those of steps that join it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One execution read or wrote one artifact."""

    artifact_id: int
    execution_id: int
    type: EventType
    path: tuple[str | int, ...] = ()
    """A key and an index; again a key and an index where the same artifact was given twice."""
    at_ms: int = 0

    def places(self) -> Iterator[tuple[str, int]]:
        """Each key and index in the path; MLMD's own users sometimes leave either out."""
        steps = list(self.path) or [""]
        for position, step in enumerate(steps):
            if isinstance(step, str):
                following = steps[position + 1] if position + 1 < len(steps) else 0
                yield step, following if isinstance(following, int) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Some artifacts, the executions around them, and the events between the two."""

    artifacts: tuple[Artifact, ...]
    executions: tuple[Execution, ...]
    events: tuple[Event, ...]
