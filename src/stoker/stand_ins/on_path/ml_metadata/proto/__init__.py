# SPDX-License-Identifier: Apache-2.0
"""ML Metadata's messages."""

from ml_metadata.proto import metadata_store_pb2
from ml_metadata.proto.metadata_store_pb2 import (
    Artifact,
    ArtifactType,
    Association,
    Attribution,
    ConnectionConfig,
    Context,
    ContextType,
    Event,
    Execution,
    ExecutionType,
    FakeDatabaseConfig,
    MetadataStoreClientConfig,
    MySQLDatabaseConfig,
    ParentContext,
    SqliteMetadataSourceConfig,
)
