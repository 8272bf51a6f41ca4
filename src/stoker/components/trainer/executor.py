# SPDX-License-Identifier: Apache-2.0
"""What the Trainer does in a worker: it builds FnArgs and calls the user's function."""

import os
from typing import Any

from stoker.artifacts import Artifact
from stoker.dsl.executor import BaseExecutor
from stoker.errors import MissingPart, NothingWritten
from stoker.layout import eval_model_dir, serving_model_dir
from stoker.user_module.fn_args import FnArgs, get_common_fn_args
from stoker.user_module.loader import load_function
from stoker.watching import watch

__all__ = ["Executor", "GenericExecutor", "TrainerFnArgs"]

TrainerFnArgs = FnArgs

Artifacts = dict[str, list[Artifact]]


class GenericExecutor(BaseExecutor):
    """Calls `run_fn(fn_args)`, which trains with whatever API it likes and writes the model."""

    def Do(
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        """Train."""
        run_fn = load_function(
            module_file=exec_properties.get("module_file"),
            path=exec_properties.get("run_fn"),
            names=("run_fn",),
        )
        fn_args = self._fn_args(input_dict, output_dict, exec_properties)
        with watch(fn_args, enabled=exec_properties.get("watch", True)):
            run_fn(fn_args)
        _check_written(fn_args)

    def _fn_args(
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> FnArgs:
        fn_args = get_common_fn_args(input_dict, exec_properties, self._get_tmp_dir())
        (model,) = output_dict["model"]
        fn_args.serving_model_dir = serving_model_dir(model.uri)
        fn_args.eval_model_dir = eval_model_dir(model.uri)
        if output_dict.get("model_run"):
            fn_args.model_run_dir = output_dict["model_run"][0].uri
        return fn_args


class Executor(GenericExecutor):
    """The executor for `trainer_fn`, which returns an Estimator."""

    def Do(self, *_: Any, **__: Any) -> None:
        """Say that Estimators are not supported yet."""
        raise MissingPart(
            "The Estimator Trainer (trainer_fn) is not in this version of Stoker. Write a "
            "run_fn(fn_args) that trains the model and saves it to fn_args.serving_model_dir."
        )


def _check_written(fn_args: FnArgs) -> None:
    folder = str(fn_args.serving_model_dir)
    if not os.path.isdir(folder) or not any(files for _, _, files in os.walk(folder)):
        raise NothingWritten(
            f"run_fn ended, but wrote nothing to fn_args.serving_model_dir ({folder}). Save the "
            "model there: model.save(fn_args.serving_model_dir), or "
            "tf.saved_model.save(model, fn_args.serving_model_dir)."
        )
