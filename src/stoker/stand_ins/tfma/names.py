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
    "constants": "stoker.stand_ins.tfma.constants",
    "export": "stoker.any_python.eval_export",
    "slicer": "stoker.stand_ins.tfma.slicer",
    "version": "stoker.stand_ins.tfma.constants",
    "view": "stoker.stand_ins.tfma.view",
}
"""Names of TFMA, and the module that each is."""

MEMBERS = {
    "stoker.stand_ins.tfma.results": (
        *("EvalResult", "EvalResults", "load_eval_result", "load_eval_results", "load_metrics"),
        *("load_validation_result", "make_eval_results"),
    ),
    "stoker.models.model_analysis": (
        *("EvalSharedModel", "MaybeMultipleEvalSharedModels", "default_eval_shared_model"),
        "run_model_analysis",
    ),
    "stoker.stand_ins.tfma.constants": (
        *("ANALYSIS_KEY", "ARROW_INPUT_COLUMN", "BASELINE_KEY", "CANDIDATE_KEY"),
        *("DATA_CENTRIC_MODE", "EXAMPLE_WEIGHTS_KEY", "FEATURES_KEY", "INPUT_KEY", "LABELS_KEY"),
        *("METRICS_KEY", "MODEL_CENTRIC_MODE", "PLOTS_KEY", "PREDICTIONS_KEY", "TF_ESTIMATOR"),
        *("TF_GENERIC", "TF_JS", "TF_KERAS", "TF_LITE", "VALIDATIONS_KEY", "VERSION_STRING"),
    ),
}
"""Names of TFMA by the module that has them where TFMA is not installed."""

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
    if name in HOMES:
        return importlib.import_module(HOMES[name])
    installed = tfma_is_installed()
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
