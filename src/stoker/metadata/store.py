# SPDX-License-Identifier: Apache-2.0
"""The metadata store as the runner uses it: each step of a run is one transaction.

    begin_run ─▶ begin_execution ─┬─▶ publish            artifacts LIVE, execution COMPLETE
                                  └─▶ close_execution    artifacts ABANDONED, execution FAILED
              ─▶ the next one … ─▶ end_run

Types, contexts and paths have TFX's names: a `pipeline`, its `pipeline_run`s, and a `node` named
`<pipeline>.<node>`.

On a server, every method is done again when the connection is lost meanwhile. What is written once
only (`begin_execution`, `publish`, `close_execution`) then first looks whether it took effect.
"""

import contextlib
import functools
import os
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias, TypeVar

from sqlalchemy import Connection

from stoker.artifacts import Artifact, ArtifactMap, PropertyValue, State, every
from stoker.errors import StoreError
from stoker.metadata import load, queries, write
from stoker.metadata import schema as db
from stoker.metadata.config import StoreConfig
from stoker.metadata.database import Database
from stoker.metadata.queries import NODE, PIPELINE, RUN
from stoker.metadata.records import (
    MADE,
    METRIC,
    METRICS,
    NOTE,
    NUM_ROUNDS,
    ROUND,
    RUN_STATE,
    SKIPPED,
    TAGS,
    USED,
    BaseType,
    Event,
    EventType,
    Execution,
    ExecutionState,
    Lineage,
    PipelineRun,
    RunEnd,
    find_run_state,
)
from stoker.metadata.write import Properties
from stoker.storage.digests import DamagedManifest, Manifest
from stoker.storage.root import find_moved_root, manifest_file, move_path

__all__ = ["BaseType", "Store"]

T = TypeVar("T")
_ByExecution: TypeAlias = dict[int, dict[str, list[Artifact]]]

_READ = (*USED, EventType.INTERNAL_INPUT)
_WRITTEN = (*MADE, EventType.INTERNAL_OUTPUT)
_LONGEST_NAME = 240
"""As many characters as MLMD's column takes, without what ours begin with."""
_DO_SO_THEMSELVES = (
    *("begin_execution", "publish", "close_execution", "close", "be_patient", "hold_run"),
)


def _insist(cls: type[T]) -> type[T]:
    """Let public methods be done again after a lost connection: all but those named may be."""
    for name, method in list(vars(cls).items()):
        if callable(method) and not name.startswith("_") and name not in _DO_SO_THEMSELVES:
            setattr(cls, name, _do_again(method))
    return cls


def _do_again(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._database.is_file:
            return method(self, *args, **kwargs)
        return self._database.insist(lambda: method(self, *args, **kwargs))

    return call


@_insist
class Store:
    """The record of runs, executions and artifacts in a database of MLMD's schema.

    Any number of processes and threads may use one database at a time.
    """

    def __init__(
        self, config: StoreConfig, *, looks_on: bool = False, must_exist: bool = False
    ) -> None:
        """Open it; who only looks on makes no file and no table, and waits for nobody for long."""
        self._config = config
        self._database = Database(config, looks_on=looks_on, must_exist=must_exist)
        self._path = os.path.abspath(config.path) if config.is_file else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def be_patient(self, seconds: float, tell: Callable[[str], None] | None = None) -> None:
        """Wait so long for a server that does not answer, and `tell` that it is waited for."""
        self._database.patience_seconds = seconds
        if tell:
            self._database.tell = tell

    @contextlib.contextmanager
    def hold_run(
        self, name: str, before_waiting: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """Inside, others see that a run is alive, or a step that has joined one.

        Of a file's, the lock in its root tells that. Who gives `before_waiting` is told that
        another process holds this name, and waits for it.
        """
        if self._database.is_file:
            yield
            return
        from stoker.metadata.session_locks import hold_session_lock

        with hold_session_lock(self._config, name, before_waiting):
            yield

    @property
    def doubt_seconds(self) -> float:
        """How long a run that is alive may be seen without its lock."""
        if self._database.is_file:
            return 0
        from stoker.metadata.session_locks import RETAKEN_SECONDS

        return RETAKEN_SECONDS

    # What a run writes

    def begin_run(self, pipeline_name: str, run_id: str, *, properties: Properties) -> None:
        """Record a run; for a run that is known, write `properties` over its older ones."""
        with self._database.connect_to_write() as connection:
            run = write.add_run(connection, pipeline_name, run_id)
            write.add_properties(connection, db.context_property, run, properties)

    def end_run(self, pipeline_name: str, run_id: str, state: RunEnd) -> None:
        """Record how a run ended."""
        with self._database.connect_to_write() as connection:
            run = write.add_run(connection, pipeline_name, run_id)
            write.add_properties(connection, db.context_property, run, {RUN_STATE: state})
            write.touch_context(connection, run)

    def settle_run(
        self, pipeline_name: str, run_id: str, node_ids: Collection[str], *, again: str = ""
    ) -> None:
        """Record where a run of these steps stands, by where each of them does.

        The step `again` is about to be run, perhaps after it has failed.
        """
        steps = queries.executions(pipeline_name, run_id)
        with self._database.connect_to_write() as connection:
            run = write.add_run(connection, pipeline_name, run_id)
            known = load.executions(connection, steps, only=(SKIPPED, ROUND, NUM_ROUNDS))
            state = find_run_state(known, node_ids, again)
            write.add_properties(connection, db.context_property, run, {RUN_STATE: state})
            write.touch_context(connection, run)

    def describe_run(self, run_id: str, *, note: str, tags: Sequence[str]) -> None:
        """Record what people say of a run; how long it took stays as it was."""
        with self._database.connect_to_write() as connection:
            for run in connection.scalars(queries.one_run(run_id)).all():
                said: dict[str, PropertyValue] = {NOTE: note, TAGS: list(tags)}
                write.add_properties(connection, db.context_property, run, said)

    def begin_execution(
        self,
        *,
        pipeline_name: str,
        run_id: str,
        node_id: str,
        type_name: str,
        base_type: BaseType | None = None,
        properties: Properties,
        inputs: ArtifactMap,
        outputs: Callable[[int], ArtifactMap],
        at_least: int = 1,
    ) -> int:
        """Record that a step starts, and return the id of its execution.

        The id is new and not below `at_least`. `outputs` is given it, and returns the artifacts
        that the step will write: they get their ids, and are PENDING until they are published.
        Inputs without an id come from outside the store, and are inserted as LIVE.
        """
        base = f"mlmd.{base_type.capitalize()}" if base_type else None
        # Whoever begins knows its own by this, if the answer to a COMMIT is lost.
        own = None if self._database.is_file else f"stoker-{uuid.uuid4().hex}"
        new = [artifact for artifact in every(inputs) if not artifact.id]

        def begin() -> int:
            with self._database.connect_to_write() as connection:
                if own and (begun := write.find_execution(connection, own)):
                    return begun
                execution_id = write.add_execution(connection, type_name, base, at_least, own)
                write.add_properties(connection, db.execution_property, execution_id, properties)
                for artifact in new:
                    artifact.id = 0
                for artifact in every(inputs):
                    if not artifact.id:
                        write.add_artifact(connection, artifact, State.LIVE)
                write.add_events(connection, execution_id, EventType.INPUT, inputs)
                contexts = [
                    write.add_context(connection, PIPELINE, pipeline_name),
                    write.add_context(connection, RUN, run_id),
                    write.add_context(connection, NODE, f"{pipeline_name}.{node_id}"),
                ]
                write.add_links(connection, db.association, contexts, [execution_id])
                promised = outputs(execution_id)
                for artifact in every(promised):
                    write.add_artifact(connection, artifact, State.PENDING)
                write.add_events(connection, execution_id, EventType.PENDING_OUTPUT, promised)
            return execution_id

        return self._database.insist(begin)

    def publish(
        self,
        execution_id: int,
        outputs: ArtifactMap,
        *,
        properties: Properties | None = None,
        state: Literal[ExecutionState.COMPLETE, ExecutionState.CACHED] = ExecutionState.COMPLETE,
        event: Literal[EventType.OUTPUT, EventType.INTERNAL_OUTPUT] = EventType.OUTPUT,
    ) -> None:
        """Close a running execution as a success, and make its outputs LIVE.

        Its pending artifacts are written as their objects say now, or ABANDONED if they are not
        among `outputs`; artifacts without an id are inserted. Others exist already (a cache hit, a
        Resolver's result): they must be LIVE, and stay as they are. A Resolver's are recorded with
        `event=EventType.INTERNAL_OUTPUT`. `properties` are added to the execution's.
        """
        new = [artifact for artifact in every(outputs) if not artifact.id]
        tries = 0

        def publish() -> None:
            nonlocal tries
            tries += 1
            with self._database.connect_to_write() as connection:
                if tries > 1 and write.get_state(connection, execution_id) == state:
                    return  # only the answer was lost
                for artifact in new:
                    artifact.id = 0
                self._publish(connection, execution_id, outputs, properties or {}, event)
                write.set_state(connection, execution_id, state)

        self._database.insist(publish)

    def _publish(
        self,
        connection: Connection,
        execution_id: int,
        outputs: ArtifactMap,
        properties: Properties,
        event: EventType,
    ) -> None:
        write.require_running(connection, execution_id)
        pending = set(connection.scalars(queries.pending_outputs(execution_id)))
        given = {artifact.id for artifact in every(outputs)} - {0}
        write.require_live(connection, given - pending)
        for artifact in every(outputs):
            if artifact.id in pending:
                write.publish_artifact(connection, artifact)
            elif not artifact.id:
                write.add_artifact(connection, artifact, State.LIVE)
        write.settle_events(connection, execution_id, event, given & pending)
        write.add_events(connection, execution_id, event, outputs, besides=pending)
        contexts = connection.scalars(queries.contexts_of(execution_id)).all()
        published = {artifact.id for artifact in every(outputs)}
        write.add_links(connection, db.attribution, contexts, published)
        write.abandon_pending(connection, execution_id)
        write.add_properties(connection, db.execution_property, execution_id, properties)
        self._note_metrics(connection, execution_id, outputs)

    def _note_metrics(
        self, connection: Connection, execution_id: int, outputs: ArtifactMap
    ) -> None:
        """Give a run the metrics of what its steps publish, so that many runs can be compared."""
        told = [one.custom_properties.get(METRICS) for one in every(outputs)]
        metrics = {
            f"{METRIC}{name}": value
            for found in told
            if isinstance(found, dict)
            for name, value in found.items()
            if isinstance(value, int | float) and len(name) < _LONGEST_NAME
        }
        for run in connection.scalars(queries.runs_of([execution_id])) if metrics else ():
            write.add_properties(connection, db.context_property, run, metrics)

    def close_execution(
        self,
        execution_id: int,
        state: Literal[ExecutionState.FAILED, ExecutionState.CANCELED],
        error: str,
    ) -> bool:
        """Close a running execution that published nothing; False if it was closed before."""
        # A traceback may quote file names that are not UTF-8.
        why = {load.ERROR: error.encode("utf-8", "backslashreplace").decode()}
        tries = 0

        def close() -> bool:
            nonlocal tries
            tries += 1
            with self._database.connect_to_write() as connection:
                found = write.get_state(connection, execution_id)
                if found != ExecutionState.RUNNING:
                    return tries > 1 and found == state
                write.abandon_pending(connection, execution_id)
                write.add_properties(connection, db.execution_property, execution_id, why)
                write.set_state(connection, execution_id, state)
            return True

        return self._database.insist(close)

    # What can be asked

    def ask(self, question: Callable[[Connection], T]) -> T:
        """The answer to a question that is about one state of the store."""
        with self._database.connect_to_read() as connection:
            return question(connection)

    @functools.cached_property
    def moved_roots(self) -> dict[str, str]:
        """The pipeline roots that runs have had and that lie elsewhere now, with where.

        A project that is moved or copied takes its store with it. What is recorded stays as it was.
        """
        if not self._path:  # a server's tells nothing of where files are
            return {}
        with self._database.connect_to_read() as connection:
            found = connection.execute(queries.places_of_runs()).all()
        places = {root: find_moved_root(root, store_file, self._path) for root, store_file in found}
        return {root: now for root, now in places.items() if now != root}

    def _load_artifacts(self, connection: Connection, wanted: queries.Ids) -> list[Artifact]:
        """Artifacts, each with the URI that it has now."""
        artifacts = load.artifacts(connection, wanted)
        for artifact in artifacts if self.moved_roots else ():
            there = move_path(artifact.uri, self.moved_roots)
            if there and _is_there(artifact, there):
                artifact.uri = there
        return artifacts

    def _list_places_before(self, uri: str) -> list[str]:
        """The URIs under which the store may know what lies at a URI now."""
        moved = ({now: root} for root, now in self.moved_roots.items())
        return [path for one in moved if (path := move_path(uri, one))]

    def artifact(self, artifact_id: int) -> Artifact:
        """One artifact by its id."""
        with self._database.connect_to_read() as connection:
            found = self._load_artifacts(connection, queries.one_artifact(artifact_id))
        if not found:
            raise StoreError(
                f"The store has no artifact {artifact_id}. See `stoker show RUN` for ids."
            )
        return found[0]

    def some_artifacts(self, artifact_ids: Collection[int]) -> list[Artifact]:
        """Artifacts by their ids, oldest first; those that there are."""
        with self._database.connect_to_read() as connection:
            return self._load_artifacts(connection, queries.some_artifacts(artifact_ids))

    def artifacts(
        self,
        *,
        type_name: str | None = None,
        pipeline_name: str | None = None,
        run_id: str | None = None,
        node_id: str | None = None,
        output_key: str | None = None,
        states: Collection[State] = (State.LIVE,),
        uri: str | None = None,
        newest: int | None = None,
    ) -> list[Artifact]:
        """The artifacts that fit, oldest first; `newest` keeps only the last few of them.

        A pipeline, run, node or output key means outputs of its executions: those that were written
        there, and those that a cache hit or a Resolver gave.
        """
        anywhere = pipeline_name is run_id is node_id is None
        wanted = queries.artifacts(
            states=states,
            type_name=type_name,
            uris=None if uri is None else [uri, *self._list_places_before(uri)],
            output_of=None if anywhere else queries.executions(pipeline_name, run_id, node_id),
            output_key=output_key,
            newest=newest,
        )
        with self._database.connect_to_read() as connection:
            return self._load_artifacts(connection, wanted)

    def execution(self, execution_id: int) -> Execution:
        """One execution by its id."""
        with self._database.connect_to_read() as connection:
            found = load.executions(connection, queries.one_execution(execution_id))
        if not found:
            raise StoreError(
                f"The store has no execution {execution_id}. See `stoker show RUN` for ids."
            )
        return found[0]

    def executions(
        self,
        *,
        pipeline_name: str | None = None,
        run_id: str | None = None,
        node_id: str | None = None,
        states: Collection[ExecutionState] | None = None,
        having: Mapping[str, str] | None = None,
        newest: int | None = None,
        only: Collection[str] | None = None,
    ) -> list[Execution]:
        """The executions that fit, oldest first; `newest` keeps only the last few of them.

        `having` asks for properties that are text, by name. With `only`, they have no properties
        but those with these names, and are there sooner.
        """
        wanted = queries.executions(pipeline_name, run_id, node_id, states, having, newest)
        with self._database.connect_to_read() as connection:
            return load.executions(connection, wanted, only)

    def pipelines(self) -> list[str]:
        """The names of all pipelines."""
        named = queries.contexts(PIPELINE).with_only_columns(db.context.c.name)
        with self._database.connect_to_read() as connection:
            return sorted(connection.scalars(named))

    def runs(
        self, pipeline_name: str | None = None, *, begin: str = "", newest: int | None = None
    ) -> list[PipelineRun]:
        """The runs of one pipeline, or of all, newest first; those whose ids begin so."""
        with self._database.connect_to_read() as connection:
            return load.runs(connection, queries.runs(pipeline_name, begin, newest))

    def run(self, run_id: str) -> PipelineRun | None:
        """One run by its id; None if there is no such run."""
        with self._database.connect_to_read() as connection:
            return next(iter(load.runs(connection, queries.one_run(run_id))), None)

    def find_unfinished(self, pipeline_name: str) -> list[tuple[Execution, PipelineRun]]:
        """The executions of a pipeline that are RUNNING, each with its run."""
        wanted = queries.executions(pipeline_name, states=(ExecutionState.RUNNING,))
        with self._database.connect_to_read() as connection:
            running = load.executions(connection, wanted)
            found = load.runs(connection, queries.runs_of([one.id for one in running]))
        runs = {run.run_id: run for run in found}
        return [(one, runs[one.run_id]) for one in running if one.run_id in runs]

    def events(self, execution_id: int) -> list[Event]:
        """What one execution read and wrote, in the order in which it was recorded."""
        with self._database.connect_to_read() as connection:
            return load.events(connection, queries.events_of([execution_id]))

    def inputs(self, execution_id: int) -> dict[str, list[Artifact]]:
        """The artifacts that an execution was given, by key."""
        return self.artifacts_by_key(execution_id, _READ)

    def outputs(self, execution_id: int) -> dict[str, list[Artifact]]:
        """The artifacts that an execution published, by key."""
        return self.artifacts_by_key(execution_id, _WRITTEN)

    def artifacts_by_key(
        self, execution_id: int, types: Collection[EventType]
    ) -> dict[str, list[Artifact]]:
        """The artifacts of one execution's events of these types, by key."""
        return self._by_key(queries.events_of([execution_id], types)).get(execution_id, {})

    def outputs_of_run(self, run_id: str) -> dict[int, dict[str, list[Artifact]]]:
        """The artifacts that the executions of a run published, by execution and key."""
        return self._by_key(queries.events_of(queries.executions(run_id=run_id), _WRITTEN))

    def inputs_and_outputs_of_run(self, run_id: str) -> tuple[_ByExecution, _ByExecution]:
        """What the executions of a run read, and what they wrote or are writing, by their keys."""
        steps = queries.executions(run_id=run_id)
        written = (*_WRITTEN, EventType.PENDING_OUTPUT)
        read, made = (queries.events_of(steps, types) for types in (_READ, written))
        return self._by_key(read), self._by_key(made)

    def outputs_of_runs(
        self, run_ids: Collection[str], type_names: Collection[str]
    ) -> list[tuple[Execution, Artifact]]:
        """What steps of some runs have written of these types, oldest first, each with its step.

        Also what is being written, and what a step that failed has left; of a cache hit, what it
        gave. The executions have no properties.
        """
        wanted = queries.outputs_of_runs(run_ids, type_names)
        with self._database.connect_to_read() as connection:
            events = load.events(connection, wanted)
            touched = self._load_artifacts(
                connection, wanted.with_only_columns(db.event.c.artifact_id)
            )
            steps = load.executions(
                connection, wanted.with_only_columns(db.event.c.execution_id), only=()
            )
        artifacts = {artifact.id: artifact for artifact in touched}
        executions = {step.id: step for step in steps}
        return [(executions[one.execution_id], artifacts[one.artifact_id]) for one in events]

    def _by_key(self, wanted: queries.Ids) -> dict[int, dict[str, list[Artifact]]]:
        """The artifacts of some events, by execution and key."""
        with self._database.connect_to_read() as connection:
            events = load.events(connection, wanted)
            touched = self._load_artifacts(
                connection, wanted.with_only_columns(db.event.c.artifact_id)
            )
        artifacts = {artifact.id: artifact for artifact in touched}
        places: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
        for event in events:
            for key, index in event.places():
                places[event.execution_id, key].append((index, event.artifact_id))
        by_key: dict[int, dict[str, list[Artifact]]] = defaultdict(dict)
        for (execution_id, key), found in places.items():
            by_key[execution_id][key] = [artifacts[id_] for _, id_ in sorted(found)]
        return by_key

    def lineage(
        self, artifact_id: int, direction: Literal["upstream", "downstream"] = "upstream"
    ) -> Lineage:
        """What an artifact was made from, step by step, or what was made from it.

        Executions that made nothing themselves (cache hits, Resolvers) are left out.
        """
        arriving, leaving = (MADE, USED) if direction == "upstream" else (USED, MADE)
        reached = queries.artifacts_reached(artifact_id, arriving, leaving)
        passed = queries.executions_arriving(reached, arriving)
        links = queries.links_between(reached, passed, (*USED, *MADE))
        with self._database.connect_to_read() as connection:
            lineage = Lineage(
                artifacts=tuple(self._load_artifacts(connection, reached)),
                executions=tuple(load.executions(connection, passed)),
                events=tuple(load.events(connection, links)),
            )
        if not lineage.artifacts:
            raise StoreError(
                f"The store has no artifact {artifact_id}. See `stoker show RUN` for ids."
            )
        return lineage


def _is_there(artifact: Artifact, uri: str) -> bool:
    """Whether an artifact lies at another URI than the one that was recorded."""
    if digest := artifact.custom_properties.get("content_digest"):
        with contextlib.suppress(OSError, DamagedManifest):
            return Manifest.read(manifest_file(uri)).digest == digest
    return os.path.exists(uri) and not os.path.exists(artifact.uri)
