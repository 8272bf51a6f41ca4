# SPDX-License-Identifier: Apache-2.0
"""What user code finds as `tensorflow_model_analysis`, installed or not.

TFMA is large, dropped EvalSavedModels after 0.46, and its 0.52 lacks the names of its own
configuration. The names below are added to an installed TFMA that lacks them, and where none is
installed they are all there is.
"""

import importlib
import os
import sys
from importlib.machinery import PathFinder
from typing import Any

from stoker.errors import MissingPart
from stoker.evaluation.tfma import tfma_is_installed
from stoker.patches.tensorflow_model_analysis import add_names

HOMES = {
    "addons": "stoker.stand_ins.tfma.addons",
    "constants": "stoker.stand_ins.tfma.constants",
    "dataframe": "stoker.stand_ins.tfma.dataframes",
    "experimental": "stoker.stand_ins.tfma.experimental",
    "export": "stoker.any_python.eval_export",
    "extractors": "stoker.models.extractors",
    "metrics": "stoker.stand_ins.tfma.metrics",
    "post_export_metrics": "stoker.stand_ins.tfma.post_export_metrics",
    "slicer": "stoker.stand_ins.tfma.slicer",
    "types": "stoker.models.tfma_types",
    "utils": "stoker.models.tfma_utils",
    "version": "stoker.stand_ins.tfma.constants",
    "view": "stoker.stand_ins.tfma.view",
}
"""Names of TFMA, and the module that each is."""

_PACKAGES = (
    *("api", "eval_saved_model", "extractors", "post_export_metrics", "proto", "slicer", "utils"),
    "view",
)
"""Packages of the stand-in, through which user code reaches their modules too."""

MEMBERS = {
    "stoker.stand_ins.tfma.results": (
        *("EvalResult", "EvalResults", "load_eval_result", "load_eval_results", "load_metrics"),
        *("load_plots", "load_validation_result", "make_eval_results"),
    ),
    "stoker.stand_ins.tfma.shared_models": (
        *("EvalSharedModel", "MaybeMultipleEvalSharedModels", "ModelLoader"),
        *("default_eval_shared_model", "verify_and_update_eval_shared_models"),
    ),
    "stoker.stand_ins.tfma.configs": (
        *("get_model_type", "update_eval_config_with_defaults", "verify_eval_config"),
    ),
    "stoker.models.extractors": ("DoFnWithModels", "default_extractors"),
    "stoker.models.tfma_types": (
        *("AddMetricsCallbackType", "Extracts", "FeaturesPredictionsLabels"),
        *("MaterializedColumn", "RaggedTensorValue", "SparseTensorValue", "TensorType"),
        *("TensorTypeMaybeDict", "TensorValue", "VarLenTensorValue"),
    ),
    "stoker.models.model_analysis": (
        *("ExtractEvaluateAndWriteResults", "analyze_raw_data", "default_evaluators"),
        *("default_writers", "is_batched_input", "is_legacy_estimator"),
        *("multiple_data_analysis", "multiple_model_analysis", "run_model_analysis"),
    ),
    "stoker.dsl.proto.evaluation_pb2": (*("MetricsForSlice", "PlotsForSlice", "ValidationResult"),),
}
"""Names of TFMA by the module that has them where TFMA is not installed."""
_CONSTANTS = "stoker.stand_ins.tfma.constants"

_TFMA = "tensorflow_model_analysis"
_STAND_INS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "on_path")


def provide_tfma() -> None:
    """Let `import tensorflow_model_analysis` give our names too, before or after it was done."""
    if _STAND_INS not in sys.path:  # the wheel's .pth has not been read here
        sys.path.append(_STAND_INS)
    found = PathFinder.find_spec(_TFMA)
    if not (found and found.origin and found.origin.startswith(_STAND_INS)):
        add_names(find_name)  # the stand-in has them anyway


def find_name(name: str) -> Any:
    """The `__getattr__` of TFMA: what it lacks, and we have."""
    installed = tfma_is_installed()
    if name in _PACKAGES and not installed:
        return importlib.import_module(f"{_TFMA}.{name}")
    if name in HOMES:
        return importlib.import_module(HOMES[name])
    # Messages of a configuration: TFMA's own classes where it is installed, and else Stoker's.
    home = f"{_TFMA}.proto.config_pb2" if installed else "stoker.dsl.proto.eval_config_pb2"
    if name == "config":
        return importlib.import_module(home)
    if name[0].isupper() and hasattr(messages := importlib.import_module(home), name):
        return getattr(messages, name)
    if not installed:
        if name == "__version__":
            name = "VERSION_STRING"
        for module, members in MEMBERS.items():
            if name in members:
                return getattr(importlib.import_module(module), name)
        if name.isupper() and hasattr(constants := importlib.import_module(_CONSTANTS), name):
            return getattr(constants, name)
    if installed or name.startswith("__"):
        raise AttributeError(f"module {_TFMA!r} has no attribute {name!r}")
    raise needs_tfma(f"{_TFMA}.{name}")


def needs_tfma(name: str) -> MissingPart:
    """What to raise for a part of TFMA that Stoker has not."""
    return MissingPart(
        f"{name} needs TFMA, which is not installed: pip install 'stoker[evaluator]'. Without it "
        "there are EvalConfig, run_model_analysis, load_eval_result and views of metrics.",
        name=name,
    )
