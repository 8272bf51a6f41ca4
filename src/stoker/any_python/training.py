# SPDX-License-Identifier: Apache-2.0
"""What a Trainer does with the user's function, once it is loaded and FnArgs are made."""

from __future__ import annotations

import os
from typing import Any, Callable

from .estimator import train_estimator
from .failures import NothingWritten
from .fn_args import FnArgs
from .launcher_link import report_doing
from .surroundings import keep_ready


def train(
    name: str,
    function: Callable[..., Any],
    fn_args: FnArgs,
    read_schema: Callable[[str], Any],
) -> None:
    """Call `run_fn(fn_args)`, or train the Estimator that `trainer_fn(fn_args, schema)` returns."""
    report_doing(f"running {name}")
    if name == "trainer_fn":
        train_estimator(function, fn_args, read_schema)
        return
    with keep_ready(str(fn_args.serving_model_dir)):
        try:
            function(fn_args)
        except SystemExit as end:
            if end.code:  # without one, it says that all is well
                raise
        _check_written(fn_args)


def _check_written(fn_args: FnArgs) -> None:
    folder = str(fn_args.serving_model_dir)
    if not os.path.isdir(folder) or not any(files for _, _, files in os.walk(folder)):
        raise NothingWritten(
            f"run_fn ended, but wrote nothing to fn_args.serving_model_dir ({folder}). Save the "
            "model there: model.save(fn_args.serving_model_dir), or "
            "tf.saved_model.save(model, fn_args.serving_model_dir)."
        )
