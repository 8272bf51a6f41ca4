# SPDX-License-Identifier: Apache-2.0
"""Stoker: the TFX Trainer for today's Python.

The names here are the promise. Each is loaded from its home when it is first used, so that
`import stoker` does nothing but define names, and a worker loads only what it runs.

To promise a name: import it below TYPE_CHECKING, which type checkers and editors read, and add it
to _HOMES, which Python reads; a test compares them. Steps are listed in stoker/components.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stoker.components import STEPS as _STEPS

if TYPE_CHECKING:  # `as` makes them names of this module for type checkers, too
    from stoker import artifacts as artifacts
    from stoker.components import *
    from stoker.components.resolver import LatestArtifactStrategy as LatestArtifactStrategy
    from stoker.components.resolver import LatestBlessedModelStrategy as LatestBlessedModelStrategy
    from stoker.components.resolver import ResolverStrategy as ResolverStrategy
    from stoker.components.resolver import SpanRangeStrategy as SpanRangeStrategy
    from stoker.components.tuner.component import TunerFnResult as TunerFnResult
    from stoker.dsl import BaseComponent as BaseComponent
    from stoker.dsl import BaseExecutor as BaseExecutor
    from stoker.dsl import Channel as Channel
    from stoker.dsl import ChannelParameter as ChannelParameter
    from stoker.dsl import ComponentSpec as ComponentSpec
    from stoker.dsl import Cond as Cond
    from stoker.dsl import ExecutionParameter as ExecutionParameter
    from stoker.dsl import ExecutorClassSpec as ExecutorClassSpec
    from stoker.dsl import ForEach as ForEach
    from stoker.dsl import InputArtifact as InputArtifact
    from stoker.dsl import OutputArtifact as OutputArtifact
    from stoker.dsl import OutputDict as OutputDict
    from stoker.dsl import Parameter as Parameter
    from stoker.dsl import Pipeline as Pipeline
    from stoker.dsl import RuntimeParameter as RuntimeParameter
    from stoker.dsl import component as component
    from stoker.dsl import logical_and as logical_and
    from stoker.dsl import logical_not as logical_not
    from stoker.dsl import logical_or as logical_or
    from stoker.dsl import union as union
    from stoker.dsl.proto.pusher_pb2 import PushDestination as PushDestination
    from stoker.dsl.proto.trainer_pb2 import EvalArgs as EvalArgs
    from stoker.dsl.proto.trainer_pb2 import TrainArgs as TrainArgs
    from stoker.dsl.proto.transform_pb2 import SplitsConfig as SplitsConfig
    from stoker.dsl.proto.tuner_pb2 import TuneArgs as TuneArgs
    from stoker.errors import BadData as BadData
    from stoker.errors import MissingPart as MissingPart
    from stoker.errors import ModelRejected as ModelRejected
    from stoker.errors import NothingWritten as NothingWritten
    from stoker.errors import RewriteFailed as RewriteFailed
    from stoker.errors import StepFailed as StepFailed
    from stoker.errors import StokerError as StokerError
    from stoker.errors import StoreError as StoreError
    from stoker.errors import TrainingDiverged as TrainingDiverged
    from stoker.launchers.in_process import InProcess as InProcess
    from stoker.launchers.on_ray import OnRay as OnRay
    from stoker.launchers.processes import Processes as Processes
    from stoker.metadata.config import StoreConfig as StoreConfig
    from stoker.metadata.config import (
        sqlite_metadata_connection_config as sqlite_metadata_connection_config,
    )
    from stoker.notebook.context import InteractiveContext as InteractiveContext
    from stoker.runner import LocalDagRunner as LocalDagRunner
    from stoker.runner import Run as Run
    from stoker.task import Workers as Workers
    from stoker.training import checkpoint as checkpoint
    from stoker.training import log_metrics as log_metrics
    from stoker.user_code.fn_args import DataAccessor as DataAccessor
    from stoker.user_code.fn_args import FnArgs as FnArgs
    from stoker.user_code.warm_start import WarmStart as WarmStart
    from stoker.user_code.warm_start import warm_start as warm_start

    __version__: str

_HOMES = {
    "components": " ".join(_STEPS),
    "components.resolver": (
        "LatestArtifactStrategy LatestBlessedModelStrategy ResolverStrategy SpanRangeStrategy"
    ),
    "components.tuner.component": "TunerFnResult",
    "dsl": (
        "BaseComponent BaseExecutor Channel ChannelParameter ComponentSpec Cond "
        "ExecutionParameter ExecutorClassSpec ForEach InputArtifact OutputArtifact OutputDict "
        "Parameter Pipeline RuntimeParameter component logical_and logical_not logical_or "
        "union"
    ),
    "dsl.proto.pusher_pb2": "PushDestination",
    "dsl.proto.trainer_pb2": "EvalArgs TrainArgs",
    "dsl.proto.transform_pb2": "SplitsConfig",
    "dsl.proto.tuner_pb2": "TuneArgs",
    "errors": (
        "BadData MissingPart ModelRejected NothingWritten RewriteFailed StepFailed "
        "StokerError StoreError TrainingDiverged"
    ),
    "launchers.in_process": "InProcess",
    "launchers.on_ray": "OnRay",
    "launchers.processes": "Processes",
    "metadata.config": "StoreConfig sqlite_metadata_connection_config",
    "notebook.context": "InteractiveContext",
    "runner": "LocalDagRunner Run",
    "task": "Workers",
    "training": "checkpoint log_metrics",
    "user_code.fn_args": "DataAccessor FnArgs",
    "user_code.warm_start": "WarmStart warm_start",
}
"""Modules of this package, and the promised names in each."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted([*_HOME_OF, "__version__", "artifacts"])


def __getattr__(name: str) -> Any:
    if home := _HOME_OF.get(name):
        return getattr(import_module(f"stoker.{home}"), name)
    if name == "artifacts":
        return import_module("stoker.artifacts")
    if name == "__version__":
        from importlib.metadata import version

        return version("stoker")
    raise AttributeError(f"module 'stoker' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
