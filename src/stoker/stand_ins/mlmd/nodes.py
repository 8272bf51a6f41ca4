# SPDX-License-Identifier: Apache-2.0
"""The three kinds of nodes in a store: their messages, their tables, and what lies between them."""

from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from sqlalchemy import Table

from stoker.dsl.proto import metadata_store_pb2 as pb
from stoker.metadata import schema as db
from stoker.metadata.schema import TypeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKind:
    """Artifacts, executions or contexts."""

    name: str
    message: type[Message]
    type_message: type[Message]
    type_kind: TypeKind
    table: Table
    properties: Table
    fields: tuple[str, ...]
    """What a message may say, and a column keeps, beside properties."""
    state: tuple[str, Any] = ("", None)
    """The field that is an enum, and the enum."""

    @property
    def owner(self) -> str:
        """The column of other tables that names a node of this kind."""
        return f"{self.name}_id"


ARTIFACT = NodeKind(
    name="artifact",
    message=pb.Artifact,
    type_message=pb.ArtifactType,
    type_kind=TypeKind.ARTIFACT,
    table=db.artifact,
    properties=db.artifact_property,
    fields=("uri", "state", "external_id"),
    state=("state", pb.Artifact.State),
)
EXECUTION = NodeKind(
    name="execution",
    message=pb.Execution,
    type_message=pb.ExecutionType,
    type_kind=TypeKind.EXECUTION,
    table=db.execution,
    properties=db.execution_property,
    fields=("last_known_state", "external_id"),
    state=("last_known_state", pb.Execution.State),
)
CONTEXT = NodeKind(
    name="context",
    message=pb.Context,
    type_message=pb.ContextType,
    type_kind=TypeKind.CONTEXT,
    table=db.context,
    properties=db.context_property,
    fields=("name", "external_id"),
)
