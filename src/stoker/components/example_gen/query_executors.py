# SPDX-License-Identifier: Apache-2.0
"""What the ExampleGens of databases do in a worker: they ask a query for each split."""

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format

from stoker import dsl
from stoker.components.example_gen.executor import (
    Blocks,
    ColumnsExecutor,
    Source,
    encode_rows,
    warn,
)
from stoker.dsl.beam import parse_flags
from stoker.dsl.proto.example_gen_pb2 import CustomConfig
from stoker.dsl.proto.presto_config_pb2 import PrestoConnConfig


class _QueryExecutor(ColumnsExecutor):
    """Asks queries, and reads no files."""

    def find_places(self, parameters: Mapping[str, Any], pattern: str) -> list[str]:  # noqa: ARG002
        """The query of a split."""
        return [pattern]

    def write(self, *args: Any) -> None:
        """Write, and say how far this was tried."""
        warn(
            f"{type(self).__name__} was tried with the database's own client, and not yet with "
            "the database: compare some rows with the table."
        )
        super().write(*args)


class BigQueryExecutor(_QueryExecutor):
    """Rows of a BigQuery query to tf.Examples; `--project` among Beam's flags says who pays."""

    def blocks(self, source: Source) -> Blocks:  # noqa: D102
        from stoker.data.big_query import read_rows

        (query,) = source.places
        project = parse_flags(self._beam_pipeline_args).project
        yield from encode_rows(read_rows(query, project), source.key_feature)


class PrestoExecutor(_QueryExecutor):
    """Rows of a Presto query to tf.Examples."""

    def blocks(self, source: Source) -> Blocks:  # noqa: D102
        from stoker.data.presto import read_rows

        (query,) = source.places
        packed = dsl.parse_message(source.parameters["custom_config"], CustomConfig())
        config = PrestoConnConfig()
        packed.custom_config.Unpack(config)
        connection = json_format.MessageToDict(config, preserving_proto_field_name=True)
        yield from encode_rows(read_rows(query, connection), source.key_feature)
