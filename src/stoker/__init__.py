# SPDX-License-Identifier: Apache-2.0
"""Stoker: the TFX Trainer for today's Python.

The names here are the promise. Each is loaded from its home when it is first used, so that
`import stoker` costs nothing, and a worker loads only what it runs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stoker.patches.tfma_names import provide_tfma as _provide_tfma

if TYPE_CHECKING:
    from stoker import artifacts as artifacts
    from stoker.components.bulk_inferrer import BulkInferrer
    from stoker.components.evaluator import Evaluator
    from stoker.components.example_gen import (
        CsvExampleGen,
        FileBasedExampleGen,
        ImportExampleGen,
        JsonExampleGen,
        ParquetExampleGen,
    )
    from stoker.components.example_validator import ExampleValidator
    from stoker.components.importer import Importer
    from stoker.components.infra_validator import InfraValidator
    from stoker.components.pusher import Pusher
    from stoker.components.resolver import (
        LatestArtifactStrategy,
        LatestBlessedModelStrategy,
        Resolver,
        ResolverStrategy,
        SpanRangeStrategy,
    )
    from stoker.components.rewriter import Rewriter
    from stoker.components.schema_gen import ImportSchemaGen, SchemaGen
    from stoker.components.statistics_gen import StatisticsGen
    from stoker.components.trainer.component import Trainer
    from stoker.components.transform.component import Transform
    from stoker.components.tuner.component import Tuner, TunerFnResult
    from stoker.dsl import (
        BaseComponent,
        BaseExecutor,
        Channel,
        ChannelParameter,
        ComponentSpec,
        Cond,
        ExecutionParameter,
        ExecutorClassSpec,
        InputArtifact,
        OutputArtifact,
        OutputDict,
        Parameter,
        Pipeline,
        RuntimeParameter,
        component,
        logical_and,
        logical_not,
        logical_or,
        union,
    )
    from stoker.dsl.proto.pusher_pb2 import PushDestination
    from stoker.dsl.proto.trainer_pb2 import EvalArgs, TrainArgs
    from stoker.dsl.proto.transform_pb2 import SplitsConfig
    from stoker.dsl.proto.tuner_pb2 import TuneArgs
    from stoker.errors import (
        BadData,
        MissingPart,
        ModelRejected,
        NothingWritten,
        RewriteFailed,
        StepFailed,
        StokerError,
        StoreError,
    )
    from stoker.launchers.in_process import InProcess
    from stoker.launchers.on_ray import OnRay
    from stoker.launchers.processes import Processes
    from stoker.metadata.config import StoreConfig, sqlite_metadata_connection_config
    from stoker.notebook.context import InteractiveContext
    from stoker.runner import LocalDagRunner, Run
    from stoker.task import Workers
    from stoker.training import checkpoint, log_metrics
    from stoker.user_code.fn_args import DataAccessor, FnArgs
    from stoker.user_code.warm_start import WarmStart, warm_start

    __version__: str

__all__ = [
    "BadData",
    "BaseComponent",
    "BaseExecutor",
    "BulkInferrer",
    "Channel",
    "ChannelParameter",
    "ComponentSpec",
    "Cond",
    "CsvExampleGen",
    "DataAccessor",
    "EvalArgs",
    "Evaluator",
    "ExampleValidator",
    "ExecutionParameter",
    "ExecutorClassSpec",
    "FileBasedExampleGen",
    "FnArgs",
    "ImportExampleGen",
    "ImportSchemaGen",
    "Importer",
    "InProcess",
    "InfraValidator",
    "InputArtifact",
    "InteractiveContext",
    "JsonExampleGen",
    "LatestArtifactStrategy",
    "LatestBlessedModelStrategy",
    "LocalDagRunner",
    "MissingPart",
    "ModelRejected",
    "NothingWritten",
    "OnRay",
    "OutputArtifact",
    "OutputDict",
    "Parameter",
    "ParquetExampleGen",
    "Pipeline",
    "Processes",
    "PushDestination",
    "Pusher",
    "Resolver",
    "ResolverStrategy",
    "RewriteFailed",
    "Rewriter",
    "Run",
    "RuntimeParameter",
    "SchemaGen",
    "SpanRangeStrategy",
    "SplitsConfig",
    "StatisticsGen",
    "StepFailed",
    "StokerError",
    "StoreConfig",
    "StoreError",
    "TrainArgs",
    "Trainer",
    "Transform",
    "TuneArgs",
    "Tuner",
    "TunerFnResult",
    "WarmStart",
    "Workers",
    "__version__",
    "artifacts",
    "checkpoint",
    "component",
    "log_metrics",
    "logical_and",
    "logical_not",
    "logical_or",
    "sqlite_metadata_connection_config",
    "union",
    "warm_start",
]

_HOMES = {
    "stoker.components.bulk_inferrer": ("BulkInferrer",),
    "stoker.components.evaluator": ("Evaluator",),
    "stoker.components.example_gen": (
        *("CsvExampleGen", "FileBasedExampleGen", "ImportExampleGen"),
        *("JsonExampleGen", "ParquetExampleGen"),
    ),
    "stoker.components.example_validator": ("ExampleValidator",),
    "stoker.components.importer": ("Importer",),
    "stoker.components.infra_validator": ("InfraValidator",),
    "stoker.components.pusher": ("Pusher",),
    "stoker.components.resolver": (
        *("LatestArtifactStrategy", "LatestBlessedModelStrategy", "Resolver"),
        *("ResolverStrategy", "SpanRangeStrategy"),
    ),
    "stoker.components.rewriter": ("Rewriter",),
    "stoker.components.schema_gen": ("ImportSchemaGen", "SchemaGen"),
    "stoker.components.statistics_gen": ("StatisticsGen",),
    "stoker.components.trainer.component": ("Trainer",),
    "stoker.components.transform.component": ("Transform",),
    "stoker.components.tuner.component": ("Tuner", "TunerFnResult"),
    "stoker.dsl": (
        *("BaseComponent", "BaseExecutor", "Channel", "ChannelParameter", "ComponentSpec", "Cond"),
        *("ExecutionParameter", "ExecutorClassSpec", "InputArtifact", "OutputArtifact"),
        *("OutputDict", "Parameter", "Pipeline", "RuntimeParameter", "component"),
        *("logical_and", "logical_not", "logical_or", "union"),
    ),
    "stoker.errors": (
        *("BadData", "MissingPart", "ModelRejected", "NothingWritten"),
        *("RewriteFailed", "StepFailed", "StokerError", "StoreError"),
    ),
    "stoker.launchers.in_process": ("InProcess",),
    "stoker.launchers.on_ray": ("OnRay",),
    "stoker.launchers.processes": ("Processes",),
    "stoker.metadata.config": ("StoreConfig", "sqlite_metadata_connection_config"),
    "stoker.notebook.context": ("InteractiveContext",),
    "stoker.dsl.proto.pusher_pb2": ("PushDestination",),
    "stoker.dsl.proto.trainer_pb2": ("EvalArgs", "TrainArgs"),
    "stoker.dsl.proto.transform_pb2": ("SplitsConfig",),
    "stoker.dsl.proto.tuner_pb2": ("TuneArgs",),
    "stoker.runner": ("LocalDagRunner", "Run"),
    "stoker.task": ("Workers",),
    "stoker.user_code.fn_args": ("DataAccessor", "FnArgs"),
    "stoker.user_code.warm_start": ("WarmStart", "warm_start"),
    "stoker.training": ("checkpoint", "log_metrics"),
}
# A pipeline file names tfma.EvalConfig and its parts, which an installed TFMA may lack.
_provide_tfma()

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if home := _HOME_OF.get(name):
        return getattr(import_module(home), name)
    if name == "artifacts":
        return import_module("stoker.artifacts")
    if name == "__version__":
        from importlib.metadata import version

        return version("stoker")
    raise AttributeError(f"module 'stoker' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
