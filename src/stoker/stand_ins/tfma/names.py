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
    "export": "stoker.any_python.eval_export",
    "view": "stoker.stand_ins.tfma.view",
}
"""Names of TFMA, and the module that each is."""

RESULT_NAMES = ("EvalResult", "load_eval_result", "load_metrics", "load_validation_result")
"""What reads an evaluation; it is in `results`."""

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
    if name in RESULT_NAMES and not installed:
        return getattr(importlib.import_module("stoker.stand_ins.tfma.results"), name)
    if installed or name.startswith("__"):
        raise AttributeError(f"module {_TFMA!r} has no attribute {name!r}")
    raise MissingPart(
        f"{_TFMA}.{name} needs TFMA, which is not installed; Stoker itself has the messages of an "
        f"EvalConfig, {', '.join((*HOMES, *RESULT_NAMES))}. Install it: "
        "pip install 'stoker[evaluator]'.",
        name=name,
    )
