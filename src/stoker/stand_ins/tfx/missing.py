# SPDX-License-Identifier: Apache-2.0
"""The parts of TFX that are not here: where they were, and what to do instead.

A module of the `tfx` package says `__getattr__ = find_part(__name__)`, or `raise
missing_module(__name__)` if it is missing as a whole.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from stoker.errors import MissingPart
from stoker.stand_ins.missing_modules import has_module

Advice = Mapping[str, str]

_VALIDATOR = (
    "Give ExampleValidator the statistics to compare with: previous_statistics, serving_statistics."
)
_STATES = "See how runs ended with `stoker runs`, or in the store's executions."
_DRIVERS = "Stoker has no drivers: put what one did into the executor's Do()."
_EXAMPLES = "Copy the file out of TFX's examples, beside your own, and import it from there."
_OF_TFMA = "It is TFMA's: `import tensorflow_model_analysis as tfma`, and take it from tfma."
_TEMPLATES = "Copy a template with `tfx template copy`, and import from your copy."

NAMES: Advice = {
    "AsyncOutputArtifact": "Use OutputArtifact: a step publishes its outputs when it ends.",
    "ComponentInfo": _DRIVERS,
    "DistributionValidator": _VALIDATOR,
    "DistributionValidatorConfig": _VALIDATOR,
    "DockerPlatformConfig": (
        "A container's environment and user are those of its image: set them there. What it reads "
        "and writes is mounted already."
    ),
    "DriverArgs": _DRIVERS,
    "EvalConfig": _OF_TFMA,
    "ExampleDiff": _VALIDATOR,
    "ExampleDiffConfig": _VALIDATOR,
    "ExecutionDecision": _DRIVERS,
    "ExecutionInfo": _DRIVERS,
    "FeatureComparator": _VALIDATOR,
    "MetricConfig": _OF_TFMA,
    "MetricThreshold": _OF_TFMA,
    "MetricsSpec": _OF_TFMA,
    "PairedExampleSkew": _VALIDATOR,
    "PipelineInfo": _DRIVERS,
    "RunState": _STATES,
    "SlicingSpec": _OF_TFMA,
    "distribution_validator_pb2": _VALIDATOR,
    "eval_config_pb2": _OF_TFMA,
    "example_diff_pb2": _VALIDATOR,
    "run_state_pb2": _STATES,
}
COMPILED: Advice = dict.fromkeys(
    [
        *("Pipeline", "PipelineInfo", "PipelineNode", "PipelineTaskFinalStatus"),
        *("RuntimeParameter", "prepare_contexts"),
    ],
    "Stoker compiles nothing: a pipeline's steps are in Pipeline(…).components.",
)
_EXAMPLE_PACKAGES = (
    *("airflow_workshop", "bert", "bigquery_ml", "chicago_taxi_pipeline", "cifar10"),
    *("custom_components.container_components", "custom_components.hello_world"),
    *("custom_components.slack", "google_cloud_ai_platform", "imdb", "mnist", "penguin", "ranking"),
    "tfjs_next_page_prediction",
)
MODULES: Advice = {
    **dict.fromkeys([f"tfx.examples.{name}" for name in _EXAMPLE_PACKAGES], _EXAMPLES),
    "tfx.experimental": _TEMPLATES,
    "tfx.proto.distribution_validator_pb2": _VALIDATOR,
    "tfx.proto.example_diff_pb2": _VALIDATOR,
    "tfx.proto.orchestration.run_state_pb2": _STATES,
}


def find_part(module_name: str, advice: Advice = NAMES) -> Callable[[str], Any]:
    """The `__getattr__` of a module of `tfx`: its submodules, and advice for names that it lacks.

    A submodule is imported when it is asked for, so that `import tfx` is enough and costs nothing.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name in advice:
            raise _missing_part(f"{module_name}.{name}", advice[name])
        if not name.startswith("__") and _has_submodule(module_name, name):
            return importlib.import_module(f"{module_name}.{name}")
        hint = hint_at_stable_name(f"{module_name}.{name}")
        raise AttributeError(f"module {module_name!r} has no attribute {name!r}{hint}")

    return __getattr__


def hint_at_stable_name(path: str) -> str:
    """What to write for a name that is in `tfx.v1` alone, as `tfx.proto.TrainArgs` is; or empty."""
    module_name, _, name = path.replace("tfx", "tfx.v1", 1).rpartition(".")
    if path.startswith("tfx.v1") or name.startswith("_"):
        return ""
    try:
        has_it = hasattr(importlib.import_module(module_name), name)
    except ImportError:
        return ""
    return f", which {module_name} has: write `from tfx import v1 as tfx`" if has_it else ""


def _has_submodule(module_name: str, name: str) -> bool:
    package = hasattr(sys.modules[module_name], "__path__")
    return package and has_module(f"{module_name}.{name}")


def missing_module(module_name: str) -> MissingPart:
    """What to raise when a module that is missing as a whole is imported."""
    return _missing_part(module_name, MODULES[module_name])


def _missing_part(name: str, advice: str) -> MissingPart:
    return MissingPart(f"{name} is not in this version of Stoker. {advice}", name=name)
