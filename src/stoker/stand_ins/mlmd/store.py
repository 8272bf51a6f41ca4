# SPDX-License-Identifier: Apache-2.0
"""MetadataStore: ML Metadata's way to read and write a store, on Stoker's database.

Every call is one transaction: it is done whole, or not at all.
"""

import contextlib
import enum
import functools
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, insert, select
from sqlalchemy.exc import IntegrityError

from stoker.dsl.proto import metadata_store_pb2 as pb
from stoker.errors import StoreError
from stoker.metadata import schema as db
from stoker.metadata.config import (
    as_store_config,
    is_in_memory,
    sqlite_metadata_connection_config,
)
from stoker.metadata.database import Database
from stoker.metadata.write import add_links
from stoker.stand_ins.mlmd import rows
from stoker.stand_ins.mlmd.errors import (
    AlreadyExistsError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
)
from stoker.stand_ins.mlmd.filters import find_ids
from stoker.stand_ins.mlmd.lineage import trace
from stoker.stand_ins.mlmd.nodes import ARTIFACT, CONTEXT, EXECUTION, NodeKind


class OrderByField(enum.Enum):
    """What lists are ordered by."""

    CREATE_TIME = 1
    UPDATE_TIME = 2
    ID = 3


_ORDERS = {
    OrderByField.CREATE_TIME: "create_time_since_epoch",
    OrderByField.UPDATE_TIME: "last_update_time_since_epoch",
    OrderByField.ID: "id",
}


@dataclass
class ListOptions:
    """Which nodes a list has, how many, and in which order."""

    limit: int | None = None
    order_by: OrderByField | None = None
    is_asc: bool = True
    filter_query: str | None = None


@dataclass
class ExtraOptions:
    """What every call takes beside."""

    transaction_options: Any = None


def _take_extra_options(cls: type) -> type:
    """Let every public method take `extra_options` too, which say nothing that matters here."""
    for name, method in list(vars(cls).items()):
        if not name.startswith("_"):
            setattr(cls, name, _without_extra_options(method))
    return cls


def _without_extra_options(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(
        self: Any, *args: Any, extra_options: ExtraOptions | None = None, **kwargs: Any
    ) -> Any:
        del extra_options
        return method(self, *args, **kwargs)

    return call


@_take_extra_options
class MetadataStore:
    """A store of artifacts, executions, contexts and what lies between them."""

    def __init__(self, config: Any, enable_upgrade_migration: bool = False) -> None:
        del enable_upgrade_migration  # a store of another version is refused by Database, with why
        self._read_only = False
        self._end = contextlib.ExitStack()
        try:
            self._database = Database(self._find(config))
        except (StoreError, ValueError) as error:
            raise RuntimeError(str(error)) from error
        self._end.callback(self._database.close)
        weakref.finalize(self, self._end.close)  # few users close a store

    def _find(self, config: Any) -> Any:
        kind = config.WhichOneof("config") if hasattr(config, "sqlite") else ""
        if is_in_memory(config):
            folder = self._end.enter_context(tempfile.TemporaryDirectory())
            return sqlite_metadata_connection_config(os.path.join(folder, "metadata.db"))
        found = as_store_config(config)
        if kind == "sqlite":
            modes = config.sqlite.ConnectionMode
            mode = modes.Name(config.sqlite.connection_mode)
            self._read_only = mode == "READONLY"
            if mode in ("READONLY", "READWRITE") and not found.exists():
                raise RuntimeError(
                    f"There is no store at {found.place}. Name another file, or let it be made: "
                    "connection_mode = READWRITE_OPENCREATE."
                )
        return found

    def close(self) -> None:
        """Close the database; a store that was in memory is gone."""
        self._end.close()

    # Types

    def put_artifact_type(
        self,
        artifact_type: Any,
        can_add_fields: bool = False,
        can_omit_fields: bool = False,
    ) -> int:
        """Register a type of artifacts, or find it; returns its id."""
        return self._put_type(ARTIFACT, artifact_type, can_add_fields, can_omit_fields)

    def put_execution_type(
        self,
        execution_type: Any,
        can_add_fields: bool = False,
        can_omit_fields: bool = False,
    ) -> int:
        """Register a type of executions, or find it; returns its id."""
        return self._put_type(EXECUTION, execution_type, can_add_fields, can_omit_fields)

    def put_context_type(
        self,
        context_type: Any,
        can_add_fields: bool = False,
        can_omit_fields: bool = False,
    ) -> int:
        """Register a type of contexts, or find it; returns its id."""
        return self._put_type(CONTEXT, context_type, can_add_fields, can_omit_fields)

    def get_artifact_type(self, type_name: str, type_version: str | None = None) -> Any:
        """The type of artifacts of a name."""
        return self._get_type(ARTIFACT, type_name, type_version)

    def get_execution_type(self, type_name: str, type_version: str | None = None) -> Any:
        """The type of executions of a name."""
        return self._get_type(EXECUTION, type_name, type_version)

    def get_context_type(self, type_name: str, type_version: str | None = None) -> Any:
        """The type of contexts of a name."""
        return self._get_type(CONTEXT, type_name, type_version)

    def get_artifact_types(self) -> list[Any]:
        """Every type of artifacts."""
        return self._get_types(ARTIFACT)

    def get_execution_types(self) -> list[Any]:
        """Every type of executions."""
        return self._get_types(EXECUTION)

    def get_context_types(self) -> list[Any]:
        """Every type of contexts."""
        return self._get_types(CONTEXT)

    def get_artifact_types_by_id(self, type_ids: Iterable[int]) -> list[Any]:
        """Types of artifacts; ids that are not there are left out."""
        return self._get_types(ARTIFACT, db.type_.c.id.in_(list(type_ids)))

    def get_execution_types_by_id(self, type_ids: Iterable[int]) -> list[Any]:
        """Types of executions; ids that are not there are left out."""
        return self._get_types(EXECUTION, db.type_.c.id.in_(list(type_ids)))

    def get_context_types_by_id(self, type_ids: Iterable[int]) -> list[Any]:
        """Types of contexts; ids that are not there are left out."""
        return self._get_types(CONTEXT, db.type_.c.id.in_(list(type_ids)))

    def get_artifact_types_by_external_ids(self, external_ids: Iterable[str]) -> list[Any]:
        """Types of artifacts by the ids that another system gave them."""
        return self._get_types(ARTIFACT, db.type_.c.external_id.in_(list(external_ids)))

    def get_execution_types_by_external_ids(self, external_ids: Iterable[str]) -> list[Any]:
        """Types of executions by the ids that another system gave them."""
        return self._get_types(EXECUTION, db.type_.c.external_id.in_(list(external_ids)))

    def get_context_types_by_external_ids(self, external_ids: Iterable[str]) -> list[Any]:
        """Types of contexts by the ids that another system gave them."""
        return self._get_types(CONTEXT, db.type_.c.external_id.in_(list(external_ids)))

    # Artifacts

    def put_artifacts(
        self,
        artifacts: Sequence[Any],
        field_mask_paths: Sequence[str] | None = None,
    ) -> list[int]:
        """Insert artifacts, or write over those whose id is given; returns their ids."""
        return self._put(ARTIFACT, artifacts, field_mask_paths)

    def get_artifacts(self, list_options: ListOptions | None = None) -> list[Any]:
        """All artifacts, or those that the options name."""
        return self._list(ARTIFACT, list_options)

    def get_artifacts_by_id(self, artifact_ids: Iterable[int]) -> list[Any]:
        """Artifacts; ids that are not there are left out."""
        return self._get(ARTIFACT, db.artifact.c.id.in_(list(artifact_ids)))

    def get_artifacts_and_types_by_artifact_ids(
        self, artifact_ids: Iterable[int]
    ) -> tuple[list[Any], list[Any]]:
        """Artifacts, and the types that they are of."""
        artifacts = self.get_artifacts_by_id(artifact_ids)
        return artifacts, self.get_artifact_types_by_id({one.type_id for one in artifacts})

    def get_artifacts_by_type(self, type_name: str, type_version: str | None = None) -> list[Any]:
        """The artifacts of a type; none if there is no such type."""
        return self._get(ARTIFACT, _is_of_type(ARTIFACT, type_name, type_version))

    def get_artifact_by_type_and_name(
        self,
        type_name: str,
        artifact_name: str,
        type_version: str | None = None,
    ) -> Any:
        """The artifact of a type and a name, or None."""
        return self._get_named(ARTIFACT, type_name, type_version, artifact_name)

    def get_artifacts_by_uri(self, uri: str) -> list[Any]:
        """The artifacts at a URI."""
        return self._get(ARTIFACT, db.artifact.c.uri == uri)

    def get_artifacts_by_context(
        self, context_id: int, list_options: ListOptions | None = None
    ) -> list[Any]:
        """The artifacts in a context."""
        inside = _select_linked(db.attribution, "context_id", context_id, "artifact_id")
        return self._list(ARTIFACT, list_options, db.artifact.c.id.in_(inside))

    def get_artifacts_by_external_ids(self, external_ids: Iterable[str]) -> list[Any]:
        """Artifacts by the ids that another system gave them."""
        return self._get(ARTIFACT, db.artifact.c.external_id.in_(list(external_ids)))

    # Executions

    def put_executions(
        self,
        executions: Sequence[Any],
        field_mask_paths: Sequence[str] | None = None,
    ) -> list[int]:
        """Insert executions, or write over those whose id is given; returns their ids."""
        return self._put(EXECUTION, executions, field_mask_paths)

    def get_executions(self, list_options: ListOptions | None = None) -> list[Any]:
        """All executions, or those that the options name."""
        return self._list(EXECUTION, list_options)

    def get_executions_by_id(self, execution_ids: Iterable[int]) -> list[Any]:
        """Executions; ids that are not there are left out."""
        return self._get(EXECUTION, db.execution.c.id.in_(list(execution_ids)))

    def get_executions_by_type(self, type_name: str, type_version: str | None = None) -> list[Any]:
        """The executions of a type; none if there is no such type."""
        return self._get(EXECUTION, _is_of_type(EXECUTION, type_name, type_version))

    def get_execution_by_type_and_name(
        self,
        type_name: str,
        execution_name: str,
        type_version: str | None = None,
    ) -> Any:
        """The execution of a type and a name, or None."""
        return self._get_named(EXECUTION, type_name, type_version, execution_name)

    def get_executions_by_context(
        self, context_id: int, list_options: ListOptions | None = None
    ) -> list[Any]:
        """The executions in a context."""
        inside = _select_linked(db.association, "context_id", context_id, "execution_id")
        return self._list(EXECUTION, list_options, db.execution.c.id.in_(inside))

    def get_executions_by_external_ids(self, external_ids: Iterable[str]) -> list[Any]:
        """Executions by the ids that another system gave them."""
        return self._get(EXECUTION, db.execution.c.external_id.in_(list(external_ids)))

    # Contexts

    def put_contexts(
        self,
        contexts: Sequence[Any],
        field_mask_paths: Sequence[str] | None = None,
    ) -> list[int]:
        """Insert contexts, or write over those whose id is given; returns their ids."""
        return self._put(CONTEXT, contexts, field_mask_paths)

    def get_contexts(self, list_options: ListOptions | None = None) -> list[Any]:
        """All contexts, or those that the options name."""
        return self._list(CONTEXT, list_options)

    def get_contexts_by_id(self, context_ids: Iterable[int]) -> list[Any]:
        """Contexts; ids that are not there are left out."""
        return self._get(CONTEXT, db.context.c.id.in_(list(context_ids)))

    def get_contexts_by_type(self, type_name: str, type_version: str | None = None) -> list[Any]:
        """The contexts of a type; none if there is no such type."""
        return self._get(CONTEXT, _is_of_type(CONTEXT, type_name, type_version))

    def get_context_by_type_and_name(
        self,
        type_name: str,
        context_name: str,
        type_version: str | None = None,
    ) -> Any:
        """The context of a type and a name, or None."""
        return self._get_named(CONTEXT, type_name, type_version, context_name)

    def get_contexts_by_external_ids(self, external_ids: Iterable[str]) -> list[Any]:
        """Contexts by the ids that another system gave them."""
        return self._get(CONTEXT, db.context.c.external_id.in_(list(external_ids)))

    def get_contexts_by_artifact(self, artifact_id: int) -> list[Any]:
        """The contexts that an artifact is in."""
        return self._get_around(db.attribution, "artifact_id", artifact_id, "context_id")

    def get_contexts_by_execution(self, execution_id: int) -> list[Any]:
        """The contexts that an execution is in."""
        return self._get_around(db.association, "execution_id", execution_id, "context_id")

    def get_parent_contexts_by_context(self, context_id: int) -> list[Any]:
        """The contexts above a context."""
        parents = _select_linked(db.parent_context, "context_id", context_id, "parent_context_id")
        return self._get(CONTEXT, db.context.c.id.in_(parents))

    def get_children_contexts_by_context(self, context_id: int) -> list[Any]:
        """The contexts below a context."""
        children = _select_linked(db.parent_context, "parent_context_id", context_id, "context_id")
        return self._get(CONTEXT, db.context.c.id.in_(children))

    def put_parent_contexts(self, parent_contexts: Sequence[Any]) -> None:
        """Put contexts below others."""
        with self._write() as connection:
            for link in parent_contexts:
                for field in ("child_id", "parent_id"):
                    rows.check_reference(connection, db.context, link, field)
                ids = {"context_id": link.child_id, "parent_context_id": link.parent_id}
                connection.execute(insert(db.parent_context).values(ids))

    # Between them

    def put_events(self, events: Sequence[Any]) -> None:
        """Say which executions read and wrote which artifacts."""
        with self._write() as connection:
            for event in events:
                rows.put_event(connection, event)

    def get_events_by_execution_ids(self, execution_ids: Iterable[int]) -> list[Any]:
        """What some executions read and wrote."""
        with self._read() as connection:
            return rows.read_events(connection, db.event.c.execution_id.in_(list(execution_ids)))

    def get_events_by_artifact_ids(self, artifact_ids: Iterable[int]) -> list[Any]:
        """What read and wrote some artifacts."""
        with self._read() as connection:
            return rows.read_events(connection, db.event.c.artifact_id.in_(list(artifact_ids)))

    def put_attributions_and_associations(
        self, attributions: Sequence[Any], associations: Sequence[Any]
    ) -> None:
        """Put artifacts and executions into contexts."""
        with self._write() as connection:
            for link in attributions:
                rows.check_reference(connection, db.artifact, link, "artifact_id")
                rows.check_reference(connection, db.context, link, "context_id")
                add_links(connection, db.attribution, [link.context_id], [link.artifact_id])
            for link in associations:
                rows.check_reference(connection, db.execution, link, "execution_id")
                rows.check_reference(connection, db.context, link, "context_id")
                add_links(connection, db.association, [link.context_id], [link.execution_id])

    def put_execution(
        self,
        execution: Any,
        artifact_and_events: Sequence[tuple[Any, Any]],
        contexts: Sequence[Any] | None,
        reuse_context_if_already_exist: bool = False,
        reuse_artifact_if_already_exist_by_external_id: bool = False,
        force_reuse_context: bool = False,
        force_update_time: bool = False,
    ) -> tuple[int, list[int], list[int]]:
        """An execution with its artifacts, events and contexts, all at once; returns the ids."""
        del force_update_time
        artifacts = [artifact for artifact, _ in artifact_and_events]
        edges = [
            (0, number, event) for number, (_, event) in enumerate(artifact_and_events) if event
        ]
        executions, artifact_ids, context_ids = self.put_lineage_subgraph(
            [execution],
            artifacts,
            contexts or [],
            edges,
            reuse_context_if_already_exist or force_reuse_context,
            reuse_artifact_if_already_exist_by_external_id,
        )
        return executions[0], artifact_ids, context_ids

    def put_lineage_subgraph(
        self,
        executions: Sequence[Any],
        artifacts: Sequence[Any],
        contexts: Sequence[Any],
        event_edges: Sequence[tuple[int | None, int | None, Any]],
        reuse_context_if_already_exist: bool = False,
        reuse_artifact_if_already_exist_by_external_id: bool = False,
    ) -> tuple[list[int], list[int], list[int]]:
        """Nodes and the events between them, all at once; returns the ids."""
        with self._write() as connection:
            context_ids = [
                (reuse_context_if_already_exist and _find_context(connection, one))
                or rows.put_node(connection, CONTEXT, one)
                for one in contexts
            ]
            execution_ids = [rows.put_node(connection, EXECUTION, one) for one in executions]
            artifact_ids = [
                (reuse_artifact_if_already_exist_by_external_id and _find_external(connection, one))
                or rows.put_node(connection, ARTIFACT, one)
                for one in artifacts
            ]
            for execution, artifact, event in event_edges:
                whole = pb.Event()
                whole.MergeFromString(event.SerializeToString())
                if execution is not None:
                    whole.execution_id = execution_ids[execution]
                if artifact is not None:
                    whole.artifact_id = artifact_ids[artifact]
                rows.put_event(connection, whole)
            add_links(connection, db.association, context_ids, execution_ids)
            add_links(connection, db.attribution, context_ids, artifact_ids)
        return execution_ids, artifact_ids, context_ids

    def get_lineage_subgraph(
        self,
        query_options: Any,
        field_mask_paths: Sequence[str] | None = None,
    ) -> Any:
        """The nodes that are reached from some others, and what is between them."""
        with self._read() as connection:
            return trace(connection, query_options, field_mask_paths)

    # What they share

    def _put_type(self, kind: NodeKind, wanted: Any, can_add: bool, can_omit: bool) -> int:
        with self._write() as connection:
            return rows.put_type(connection, kind, wanted, can_add=can_add, can_omit=can_omit)

    def _get_type(self, kind: NodeKind, name: str, version: str | None) -> Any:
        found = self._get_types(kind, *_name_type(name, version))
        if not found:
            raise NotFoundError(f"There is no type of {kind.name}s called {name!r}: put it first.")
        return found[0]

    def _get_types(self, kind: NodeKind, *conditions: Any) -> list[Any]:
        with self._read() as connection:
            return rows.read_types(connection, kind, *conditions)

    def _put(self, kind: NodeKind, nodes: Sequence[Any], mask: Sequence[str] | None) -> list[int]:
        with self._write() as connection:
            return [rows.put_node(connection, kind, node, mask or ()) for node in nodes]

    def _get(self, kind: NodeKind, *conditions: ColumnElement[bool]) -> list[Any]:
        with self._read() as connection:
            return rows.read_nodes(connection, kind, conditions)

    def _get_named(self, kind: NodeKind, type_name: str, version: str | None, name: str) -> Any:
        of_type = _is_of_type(kind, type_name, version)
        return next(iter(self._get(kind, of_type, kind.table.c.name == name)), None)

    def _get_around(self, link: Any, here: str, node_id: int, there: str) -> list[Any]:
        found = self._get(CONTEXT, db.context.c.id.in_(_select_linked(link, here, node_id, there)))
        if not found:
            raise NotFoundError(f"There is no context with the {here} {node_id}: put it first.")
        return found

    def _list(self, kind: NodeKind, options: Any, *conditions: ColumnElement[bool]) -> list[Any]:
        options = options or ListOptions()
        if options.filter_query:
            found = find_ids(kind, options.filter_query)
            conditions = (*conditions, kind.table.c.id.in_(found))
        # ML Metadata's own enum and ours have the same names.
        name = options.order_by.name if options.order_by else "ID"
        column, by_id = kind.table.c[_ORDERS[OrderByField[name]]], kind.table.c.id
        order = (column, by_id) if options.is_asc else (column.desc(), by_id.desc())
        with self._read() as connection:
            return rows.read_nodes(connection, kind, conditions, (order, options.limit or None))

    @contextlib.contextmanager
    def _read(self) -> Iterator[Connection]:
        with _explain_errors(), self._database.connect_to_read() as connection:
            yield connection

    @contextlib.contextmanager
    def _write(self) -> Iterator[Connection]:
        if self._read_only:
            raise InternalError("The store was opened READONLY: open it READWRITE to write.")
        with _explain_errors(), self._database.connect_to_write() as connection:
            yield connection


@contextlib.contextmanager
def _explain_errors() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        if isinstance(error.__cause__, IntegrityError):
            raise AlreadyExistsError(str(error)) from error
        raise InternalError(str(error)) from error


def _name_type(name: str, version: str | None) -> list[Any]:
    table = db.type_
    of_version = table.c.version.is_(None) if version is None else table.c.version == version
    return [table.c.name == name, of_version]


def _is_of_type(kind: NodeKind, name: str, version: str | None) -> ColumnElement[bool]:
    types = select(db.type_.c.id).where(
        db.type_.c.type_kind == kind.type_kind, *_name_type(name, version)
    )
    return kind.table.c.type_id.in_(types)


def _select_linked(link: Any, here: str, node_id: int, there: str) -> Select[int]:
    return select(link.c[there]).where(link.c[here] == node_id)


def _find_context(connection: Connection, context: Any) -> int | None:
    table = db.context
    known = select(table.c.id).where(
        table.c.type_id == context.type_id, table.c.name == context.name
    )
    return connection.scalar(known)


def _find_external(connection: Connection, artifact: Any) -> int | None:
    table = db.artifact
    if not artifact.external_id:
        return None
    return connection.scalar(select(table.c.id).where(table.c.external_id == artifact.external_id))


def downgrade_schema(config: Any, downgrade_to_schema_version: int) -> None:
    """Not done here: ML Metadata itself can."""
    del config
    raise InvalidArgumentError(
        f"Stoker works with version {db.VERSION} of the store and cannot make it "
        f"{downgrade_to_schema_version}: use ml-metadata in an environment of its own."
    )
