# SPDX-License-Identifier: Apache-2.0
"""The Trainer in another interpreter: it finds the user's function and calls it."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Mapping

from .estimator import train_estimator
from .failures import NothingWritten
from .fn_args import FnArgs
from .modules import load_function

_ESTIMATOR_EXECUTOR = ":Executor"


def train(task: Mapping[str, Any], fn_args: FnArgs, warn: Callable[[str], None]) -> None:
    """Call `run_fn(fn_args)`, or train the Estimator that `trainer_fn(fn_args, schema)` returns."""
    wants_estimator = task["executor"].endswith(_ESTIMATOR_EXECUTOR)
    names = ["trainer_fn"] if wants_estimator else ["run_fn", "trainer_fn"]
    name, function = load_function(task["parameters"], names)
    _fill_in_flags(task["flags"])
    _warn_about_the_transform_graph(fn_args, warn)
    if name == "trainer_fn":
        train_estimator(function, fn_args)
        return
    function(fn_args)
    _check_written(fn_args)


def _fill_in_flags(arguments: Mapping[str, Any] | None) -> None:
    """Give the absl flags that the user's files define the values that the program's have."""
    absl_flags = sys.modules.get("absl.flags")
    if absl_flags is None or arguments is None:
        return
    flags = absl_flags.FLAGS
    known = [name for name in arguments if name in flags and flags[name].using_default_value]
    flags([sys.argv[0], *(argument for name in known for argument in arguments[name])])


def _warn_about_the_transform_graph(fn_args: FnArgs, warn: Callable[[str], None]) -> None:
    """TensorFlow 1 reads a graph in TensorFlow 2's format, but not for every input."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not fn_args.transform_output:
        return
    path = os.path.join(fn_args.transform_output, "transform_fn", "saved_model.pb")
    if tensorflow.__version__.startswith("1.") and _is_tensorflow_2_format(path):
        warn(
            f"{path} is in TensorFlow 2's format, and TensorFlow {tensorflow.__version__} may "
            "fail to apply it. Write it for TensorFlow 1: Transform(force_tf_compat_v1=True)."
        )


def _is_tensorflow_2_format(path: str) -> bool:
    """Only SavedModels of TensorFlow 2 describe the objects that their graph was made from."""
    from tensorflow.core.protobuf import saved_model_pb2

    model = saved_model_pb2.SavedModel()
    with open(path, "rb") as file:
        model.ParseFromString(file.read())
    return any(graph.HasField("object_graph_def") for graph in model.meta_graphs)


def _check_written(fn_args: FnArgs) -> None:
    folder = str(fn_args.serving_model_dir)
    if not os.path.isdir(folder) or not any(files for _, _, files in os.walk(folder)):
        raise NothingWritten(
            f"run_fn ended, but wrote nothing to fn_args.serving_model_dir ({folder}). Save the "
            "model there: model.save(fn_args.serving_model_dir), or "
            "tf.saved_model.save(model, fn_args.serving_model_dir)."
        )
