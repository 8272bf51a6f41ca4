# SPDX-License-Identifier: Apache-2.0
"""What user code finds as `tensorflow_model_analysis`, installed or not.

TFMA is large, dropped EvalSavedModels after 0.46, and its 0.52 lacks the names of its own
configuration. The names below are added to an installed TFMA that lacks them, and where none is
installed they are all there is.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from stoker.errors import MissingPart
from stoker.evaluation.tfma import tfma_is_installed

__all__ = ["CONFIG_NAMES", "HOMES", "RESULT_NAMES", "name_of_tfma", "provide_tfma"]

HOMES = {
    "export": "stoker.any_python.eval_export",
    "view": "stoker.stand_ins.tfma_view",
}
"""Names of TFMA, and the module that each is."""

RESULT_NAMES = ("EvalResult", "load_eval_result", "load_metrics", "load_validation_result")
"""What reads an evaluation; it is in `tfma_results`."""

CONFIG_NAMES = (
    *("AggregationOptions", "BinarizationOptions", "ConfidenceIntervalOptions"),
    *("CrossSliceMetricThreshold", "CrossSliceMetricThresholds", "CrossSlicingSpec", "EvalConfig"),
    *("ExampleWeightOptions", "GenericChangeThreshold", "GenericValueThreshold", "MetricConfig"),
    *("MetricDirection", "MetricThreshold", "MetricsSpec", "ModelSpec", "Options"),
    *("PaddingOptions", "PerSliceMetricThreshold", "PerSliceMetricThresholds"),
    *("RepeatedInt32Value", "RepeatedStringValue", "SlicingSpec"),
)
"""Messages of a configuration: TFMA's own classes where it is installed, and else Stoker's."""

_TFMA = "tensorflow_model_analysis"


def provide_tfma() -> None:
    """Let `import tensorflow_model_analysis` give our names too.

    It takes effect at that import, and where it has been done already; a second call changes
    nothing.
    """
    if loaded := sys.modules.get(_TFMA):
        _add_names(loaded)
    elif not any(isinstance(finder, _TfmaFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _TfmaFinder())


class _TfmaFinder(MetaPathFinder):
    """Finds the installed TFMA, or stands in for it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _TFMA:
            return None
        installed = PathFinder.find_spec(fullname, path)
        if installed is None or installed.loader is None:
            return ModuleSpec(fullname, _StandInLoader(), is_package=True)
        installed.loader = _AddingLoader(installed.loader)
        return installed


class _AddingLoader(Loader):
    """Loads the installed TFMA as ever, then adds what it lacks."""

    def __init__(self, installed: Loader) -> None:
        self._installed = installed

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._installed.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._installed.exec_module(module)
        _add_names(module)


class _StandInLoader(Loader):
    """Makes a module of our names alone; any other name says what to install."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        _add_names(module)


def _add_names(tfma: ModuleType) -> None:
    """Each is loaded when it is first asked for: some of their homes are heavy."""
    vars(tfma).setdefault("__getattr__", name_of_tfma)


def name_of_tfma(name: str) -> Any:
    """The `__getattr__` of TFMA: what it lacks, and we have."""
    if name in HOMES:
        return importlib.import_module(HOMES[name])
    installed = tfma_is_installed()
    if name in (*CONFIG_NAMES, "config"):
        home = f"{_TFMA}.proto.config_pb2" if installed else "stoker.dsl.proto.eval_config_pb2"
        messages = importlib.import_module(home)
        return messages if name == "config" else getattr(messages, name)
    if name in RESULT_NAMES and not installed:
        return getattr(importlib.import_module("stoker.stand_ins.tfma_results"), name)
    if installed or name.startswith("__"):
        raise AttributeError(f"module {_TFMA!r} has no attribute {name!r}")
    raise MissingPart(
        f"{_TFMA}.{name} needs TFMA, which is not installed; Stoker itself has the messages of an "
        f"EvalConfig, {', '.join((*HOMES, *RESULT_NAMES))}. Install it: "
        "pip install 'stoker[evaluator]'.",
        name=name,
    )
