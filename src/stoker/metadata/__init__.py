# SPDX-License-Identifier: Apache-2.0
"""What runs remember: MLMD's store of artifacts, executions, contexts and the events between them.

    config.py    where a store is
    records.py   what the store tells about executions, runs, events and lineage
    values.py    property values in MLMD's columns
    schema.py    MLMD's tables, version 10
    database.py  opening, creating and checking a database
    queries.py   which rows are meant
    load.py      rows become records
    write.py     records become rows
    store.py     Store: the transactions of a run, and the queries

Only light names are here; `from stoker.metadata.store import Store` loads SQLAlchemy.
"""

from stoker.metadata.config import StoreConfig, sqlite_metadata_connection_config
from stoker.metadata.records import (
    Event,
    EventType,
    Execution,
    ExecutionState,
    Lineage,
    PipelineRun,
)

__all__ = [
    "Event",
    "EventType",
    "Execution",
    "ExecutionState",
    "Lineage",
    "PipelineRun",
    "StoreConfig",
    "sqlite_metadata_connection_config",
]
