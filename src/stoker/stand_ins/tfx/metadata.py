# SPDX-License-Identifier: Apache-2.0
"""A pipeline's store as TFX's notebooks read it: `with Metadata(config) as handle`."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Self

from stoker.artifacts import Artifact
from stoker.metadata.config import StoreConfig, as_store_config
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

    def __init__(self, connection_config: Any) -> None:
        self.connection_config: StoreConfig = as_store_config(connection_config)
        self._message = connection_config
        self._store: Any = None

    def __enter__(self) -> Self:
        from ml_metadata.metadata_store import metadata_store
        from ml_metadata.proto import metadata_store_pb2

        config = self._message
        if self.connection_config.is_file:
            config = metadata_store_pb2.ConnectionConfig()
            config.sqlite.filename_uri = self.connection_config.path
        self._store = metadata_store.MetadataStore(config)
        return self

    def __exit__(self, *_: object) -> None:
        self._store = None

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
