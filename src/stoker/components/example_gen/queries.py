# SPDX-License-Identifier: Apache-2.0
"""The tables of the ExampleGens that ask databases, which need a client of the database."""

import importlib.util
from typing import Any, ClassVar

from stoker import dsl
from stoker.components.example_gen.component import (
    CustomConfig,
    InputConfig,
    OutputConfig,
    QueryBasedExampleGen,
    RangeConfig,
)
from stoker.components.example_gen.configs import make_default_input_config
from stoker.dsl.proto import example_gen_pb2
from stoker.dsl.proto.presto_config_pb2 import PrestoConnConfig
from stoker.errors import MissingPart

_EXECUTORS = "stoker.components.example_gen.query_executors"


class BigQueryExampleGen(QueryBasedExampleGen):
    """A BigQuery query to examples; it is read on this machine, whatever runner Beam's flags name.

    Tried with Google's client and a server of our own that answers like BigQuery; not with
    BigQuery itself.
    """

    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec(f"{_EXECUTORS}:BigQueryExecutor")
    TYPE_NAME: ClassVar = (
        "tfx.extensions.google_cloud_big_query.example_gen.component.BigQueryExampleGen"
    )
    PRELOAD: ClassVar = (_EXECUTORS,)

    @dsl.take_older_names
    def __init__(
        self,
        query: str | None = None,
        input_config: InputConfig = None,
        output_config: OutputConfig = None,
        range_config: RangeConfig = None,
        custom_executor_spec: dsl.ExecutorClassSpec | None = None,
        custom_config: CustomConfig = None,
        *,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            query: A query whose result is one split; or else give `input_config`.
            input_config: A query for each split of the input.
            output_config: The splits to write; see QueryBasedExampleGen.
            range_config: The day whose begin and end are filled into the queries.
            custom_executor_spec: An executor of your own, which asks the queries.
            custom_config: Anything that JSON can say, for a `custom_executor_spec`.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        _require("google.cloud.bigquery", "bigquery", self)
        super().__init__(
            _choose_input(query, input_config, self),
            output_config,
            custom_config,
            range_config,
            custom_executor_spec=custom_executor_spec,
            instance_name=instance_name,
        )


class PrestoExampleGen(QueryBasedExampleGen):
    """A Presto query to examples.

    Tried with Presto's client and a server of our own that answers like Presto; not with Presto
    itself.
    """

    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec(f"{_EXECUTORS}:PrestoExecutor")
    TYPE_NAME: ClassVar = (
        "tfx.examples.custom_components.presto_example_gen.presto_component.component."
        "PrestoExampleGen"
    )
    PRELOAD: ClassVar = (_EXECUTORS,)

    @dsl.take_older_names
    def __init__(
        self,
        conn_config: PrestoConnConfig,
        query: str | None = None,
        input_config: InputConfig = None,
        output_config: OutputConfig = None,
        *,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            conn_config: How to reach the server.
            query: A query whose result is one split; or else give `input_config`.
            input_config: A query for each split of the input.
            output_config: The splits to write; see QueryBasedExampleGen.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        _require("prestodb", "presto", self)
        if not conn_config.host:
            raise ValueError("PrestoExampleGen needs a host: PrestoConnConfig(host='localhost').")
        packed = example_gen_pb2.CustomConfig()
        packed.custom_config.Pack(conn_config)
        super().__init__(
            _choose_input(query, input_config, self),
            output_config,
            packed,
            instance_name=instance_name,
        )


def _choose_input(query: str | None, input_config: InputConfig, step: Any) -> InputConfig:
    if bool(query) == bool(input_config):
        raise ValueError(f"{type(step).__name__} needs either a `query` or an `input_config`.")
    return make_default_input_config(query) if query else input_config


def _require(module: str, extra: str, step: Any) -> None:
    """Say what is missing when the step is declared, before anything runs."""
    try:
        found = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        found = False
    if not found:
        name = type(step).__name__
        raise MissingPart(
            f"{name} needs {module}, which is not installed: pip install 'stoker[{extra}]'. Or "
            "export the table, and read its files with ParquetExampleGen.",
            name=name,
        )
