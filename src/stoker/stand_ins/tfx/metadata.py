# SPDX-License-Identifier: Apache-2.0
"""A pipeline's store as TFX's notebooks read it: `with Metadata(config) as handle`."""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any, Self

from stoker.artifacts import Artifact, ArtifactMap, State, every
from stoker.metadata.config import StoreConfig, as_store_config, is_in_memory
from stoker.metadata.records import MADE, USED, EventType


def sqlite_metadata_connection_config(metadata_db_uri: str | os.PathLike[str]) -> Any:
    """A store in an SQLite file as ML Metadata's message, that of an installed one or Stoker's."""
    from ml_metadata.proto import metadata_store_pb2

    config = metadata_store_pb2.ConnectionConfig()
    config.sqlite.filename_uri = os.path.abspath(metadata_db_uri)
    config.sqlite.connection_mode = config.sqlite.READWRITE_OPENCREATE
    return config


def mysql_metadata_connection_config(
    host: str, port: int, database: str, username: str, password: str
) -> Any:
    """A store on a MySQL or MariaDB server as ML Metadata's message."""
    from ml_metadata.proto import metadata_store_pb2

    config = metadata_store_pb2.ConnectionConfig()
    config.mysql.host, config.mysql.port, config.mysql.database = host, port, database
    config.mysql.user, config.mysql.password = username, password
    return config


class Metadata:
    """A store that is open inside of a `with` block; `store` has ML Metadata's methods."""

    connection_config: StoreConfig

    def __init__(self, connection_config: Any) -> None:
        self._message = connection_config
        self._store: Any = None
        self._end = contextlib.ExitStack()
        if not is_in_memory(connection_config):
            self.connection_config = as_store_config(connection_config)

    def __enter__(self) -> Self:
        from ml_metadata.metadata_store import metadata_store
        from ml_metadata.proto import metadata_store_pb2

        config = self._message
        if is_in_memory(config):
            folder = self._end.enter_context(tempfile.TemporaryDirectory())
            self.connection_config = as_store_config(
                sqlite_metadata_connection_config(os.path.join(folder, "metadata.db"))
            )
        if self.connection_config.is_file:
            config = metadata_store_pb2.ConnectionConfig()
            config.sqlite.filename_uri = self.connection_config.path
        self._store = metadata_store.MetadataStore(config)
        return self

    def __exit__(self, *_: object) -> None:
        self._store = None
        self._end.close()

    @property
    def store(self) -> Any:
        """ML Metadata's MetadataStore, an installed one or Stoker's."""
        if self._store is None:
            raise RuntimeError("The store is not open: use it inside of `with Metadata(…) as …:`.")
        return self._store


def get_artifacts_dict(
    metadata_handle: Metadata, execution_id: int, event_types: Iterable[int]
) -> dict[str, list[Artifact]]:
    """The artifacts of one execution by their keys, of events of these types."""
    from stoker.metadata.store import Store

    with Store(metadata_handle.connection_config) as store:
        return store.artifacts_by_key(execution_id, [EventType(one) for one in event_types])


def get_output_artifacts(metadata_handle: Metadata, execution_id: int) -> dict[str, list[Artifact]]:
    """What an execution made, by key."""
    return get_artifacts_dict(metadata_handle, execution_id, MADE)


def get_input_artifacts(metadata_handle: Metadata, execution_id: int) -> dict[str, list[Artifact]]:
    """What an execution read, by key."""
    return get_artifacts_dict(metadata_handle, execution_id, USED)


def get_artifacts_by_ids(metadata_handle: Metadata, artifact_ids: Sequence[int]) -> list[Artifact]:
    """Artifacts as instances of their classes; all of them must be there."""
    from stoker.metadata.store import Store

    with Store(metadata_handle.connection_config) as store:
        found = store.some_artifacts(artifact_ids)
    if missing := set(artifact_ids) - {one.id for one in found}:
        first = min(missing)
        raise ValueError(f"The store has no artifact {first}. See `stoker show RUN` for ids.")
    return found


def update_artifacts(
    metadata_handle: Metadata,
    tfx_artifact_map: ArtifactMap,
    new_artifact_state: State | None = None,
) -> None:
    """Write what was changed of artifacts that the store has."""
    changed = list(every(tfx_artifact_map))
    for artifact in changed:
        if not artifact.id:
            raise ValueError(f"{artifact!r} is not in the store: put it there before its update.")
        if new_artifact_state is not None:
            artifact.state = new_artifact_state
    metadata_handle.store.put_artifacts([one.mlmd_artifact for one in changed])


CONTEXT_TYPE_EXECUTION_CACHE = "execution_cache"


def register_context_if_not_exists(
    metadata_handle: Metadata, context_type_name: str, context_name: str
) -> Any:
    """The context of a type and a name, which is made if it is new."""
    from ml_metadata import errors
    from ml_metadata.proto import metadata_store_pb2

    store = metadata_handle.store
    type_id = store.put_context_type(
        metadata_store_pb2.ContextType(name=context_type_name), can_omit_fields=True
    )
    # Who put it there a moment ago was another process, or this one before.
    with contextlib.suppress(errors.AlreadyExistsError):
        store.put_contexts([metadata_store_pb2.Context(type_id=type_id, name=context_name)])
    return store.get_context_by_type_and_name(context_type_name, context_name)


def get_executions_associated_with_all_contexts(
    metadata_handle: Metadata, contexts: Iterable[Any]
) -> list[Any]:
    """The executions that are in every one of the contexts."""
    in_each = [metadata_handle.store.get_executions_by_context(one.id) for one in contexts]
    common = set.intersection(*({one.id for one in found} for found in in_each)) if in_each else ()
    return [one for one in in_each[0] if one.id in common] if in_each else []


def is_execution_successful(execution: Any) -> bool:
    """Whether an execution ended well, by itself or through the cache."""
    return execution.last_known_state in (execution.COMPLETE, execution.CACHED)


def is_execution_failed(execution: Any) -> bool:
    """Whether an execution failed."""
    return bool(execution.last_known_state == execution.FAILED)


def is_execution_active(execution: Any) -> bool:
    """Whether an execution has yet to end."""
    return execution.last_known_state in (execution.NEW, execution.RUNNING)


def sort_executions_newest_to_oldest(executions: Sequence[Any]) -> list[Any]:
    """Executions by when they began, the newest first."""
    return sorted(executions, key=lambda one: one.create_time_since_epoch, reverse=True)
