# SPDX-License-Identifier: Apache-2.0
"""The Estimator Trainer: `trainer_fn` says what to train, and this trains, evaluates and exports.

    trainer_fn(fn_args, schema) ─▶ estimator, train_spec, eval_spec, eval_input_receiver_fn

    <model_run>/Format-Serving/                            checkpoints and events
    <model_run>/Format-Serving/export/<name>/<time>/ ────▶ <model>/Format-Serving/
    <model_run>/Format-TFMA/<time>/ ─────────────────────▶ <model>/Format-TFMA/

In a TF_CONFIG cluster every process comes here, and only the chief writes the model. It is the
evaluator, though, that runs the exporter: the chief waits for its last export.
"""

from __future__ import annotations

import os
import time
import traceback
from dataclasses import dataclass, replace
from typing import Any, Callable

from .eval_export import export_eval_savedmodel
from .failures import NothingWritten
from .fn_args import FnArgs
from .io_utils import copy_dir
from .layout import eval_model_dir, serving_model_dir
from .lines import say
from .surroundings import keep_ready

_LAST_EXPORT_DONE = "last_export_done"
_PATIENCE_SECONDS = 600.0
_LOOK_SECONDS = 0.5
_NO_CHECKPOINT = "not a valid checkpoint"
_WANTED = {
    "estimator": "the tf.estimator.Estimator to train",
    "train_spec": "a tf.estimator.TrainSpec",
    "eval_spec": "a tf.estimator.EvalSpec with one exporter",
    "eval_input_receiver_fn": "a function that returns tfma.export.EvalInputReceiver(features=…, "
    "labels=…, receiver_tensors={'examples': …})",
}

_NOTHING_TO_SERVE = (
    "There will be no model for serving, only the EvalSavedModel: EvalSpec has no exporter. For "
    "one, EvalSpec(exporters=[tf.estimator.FinalExporter('name', serving_input_receiver_fn)], …); "
    "tf.estimator.LatestExporter does too."
)


def train_estimator(
    trainer_fn: Callable[..., Any], fn_args: FnArgs, read_schema: Callable[[str], Any]
) -> None:
    """Train what `trainer_fn` returns; on the chief, write both models where `fn_args` says."""
    if not fn_args.schema_path:
        raise ValueError(
            "trainer_fn(fn_args, schema) is given the schema of the examples, and this Trainer has "
            "none. Give it one: Trainer(schema=schema_gen.outputs['schema'], …)."
        )
    run_dir = str(fn_args.model_run_dir or fn_args.working_dir)
    own_args = replace(
        fn_args,
        serving_model_dir=serving_model_dir(run_dir),
        eval_model_dir=eval_model_dir(run_dir),
    )
    with keep_ready(str(own_args.serving_model_dir)):
        training = _Training.of(trainer_fn(own_args, read_schema(fn_args.schema_path)))
        training.check()
        if not training.eval_spec.exporters and training.estimator.config.is_chief:
            say(_NOTHING_TO_SERVE)
        training.run(mark=os.path.join(run_dir, _LAST_EXPORT_DONE))
    if not training.estimator.config.is_chief:
        say(f"This is the {training.role}: the chief writes the model.")
        return
    eval_model = export_eval_savedmodel(
        estimator=training.estimator,
        export_dir_base=str(own_args.eval_model_dir),
        eval_input_receiver_fn=training.eval_input_receiver_fn,
    )
    if training.eval_spec.exporters:
        copy_dir(training.find_export(), str(fn_args.serving_model_dir))
    copy_dir(eval_model, str(fn_args.eval_model_dir))


@dataclass(frozen=True)
class _Training:
    """What `trainer_fn` returned."""

    estimator: Any
    train_spec: Any
    eval_spec: Any
    eval_input_receiver_fn: Callable[[], Any]

    @classmethod
    def of(cls, returned: Any) -> _Training:
        """The parts by name; what is missing is named."""
        found = returned if isinstance(returned, dict) else {}
        for name, what in _WANTED.items():
            if found.get(name) is None:
                raise ValueError(
                    f"trainer_fn should return a dict with {', '.join(map(repr, _WANTED))}, and "
                    f"returned {_describe(returned)}. Add {name!r}: {what}."
                )
        return cls(**{name: found[name] for name in _WANTED})

    @property
    def role(self) -> str:
        """What this process is in its cluster."""
        return str(self.estimator.config.task_type)

    @property
    def in_cluster(self) -> bool:
        """Whether an evaluator, not this process, exports."""
        return bool(self.estimator.config.cluster_spec) and self.role != "master"

    def check(self) -> None:
        """Refuse, before hours of training, what cannot end in one exported model, or in none."""
        exporters = [exporter.name for exporter in self.eval_spec.exporters]
        if len(exporters) > 1:
            raise ValueError(
                "The Trainer publishes what one exporter writes, and the EvalSpec has "
                f"{' and '.join(map(repr, exporters))}. Give it one: EvalSpec(exporters="
                "[tf.estimator.FinalExporter('name', serving_input_receiver_fn)], …)."
            )
        kinds = [type(exporter).__name__ for exporter in self.eval_spec.exporters]
        if self.train_spec.max_steps is None and (self.in_cluster or "FinalExporter" in kinds):
            raise ValueError(
                "The last export is the one after the last of TrainSpec's max_steps, which is "
                "None. Give the Trainer train_args=TrainArgs(num_steps=…), and "
                "TrainSpec(max_steps=fn_args.train_steps, …)."
            )

    def run(self, mark: str) -> None:
        """Train and evaluate; with an evaluator elsewhere, until `mark` says that it exported."""
        exporters = tuple(_MarkingExporter(one, mark) for one in self.eval_spec.exporters)
        eval_spec = self.eval_spec._replace(exporters=exporters)
        try:
            while not self._train_and_evaluate(eval_spec):
                say("The chief has deleted the checkpoint being evaluated: on to the newest.")
        except ValueError as error:
            if _is_from_warm_start(error):
                raise _explain_other_shape(error) from error
            raise
        if self.role == "chief" and exporters:
            limit = eval_spec.start_delay_secs + eval_spec.throttle_secs + _PATIENCE_SECONDS
            _wait_for(mark, limit)
        if self.estimator.config.is_chief and os.path.exists(mark):
            os.remove(mark)

    def _train_and_evaluate(self, eval_spec: Any) -> bool:
        """Train or evaluate, as TF_CONFIG says; False if the evaluator's checkpoint was deleted."""
        import tensorflow as tf

        before = self.estimator.latest_checkpoint()
        try:
            tf.estimator.train_and_evaluate(self.estimator, self.train_spec, eval_spec)
        except (ValueError, tf.errors.NotFoundError) as error:
            is_lost = isinstance(error, tf.errors.NotFoundError) or _NO_CHECKPOINT in str(error)
            newest = self.estimator.latest_checkpoint()  # None where it is deleted at this moment
            stays = newest is not None and newest == before
            if self.role != "evaluator" or not is_lost or stays:
                raise
            return False
        return True

    def find_export(self) -> str:
        """The newest folder that the exporter wrote."""
        (exporter,) = self.eval_spec.exporters
        folder = os.path.join(self.estimator.model_dir, "export", exporter.name)
        found = os.listdir(folder) if os.path.isdir(folder) else []
        times = sorted((name for name in found if name.isdecimal()), key=int)
        if not times:
            raise NothingWritten(
                f"The training ended, but its exporter {exporter.name!r} wrote nothing to "
                f"{folder}. Did the training data end before max_steps="
                f"{self.train_spec.max_steps}? Then repeat it in the input_fn, or ask for fewer "
                "steps."
            )
        if len(times) > 1:
            say(f"{exporter.name!r} exported {len(times)} models: the last one is published.")
        return os.path.join(folder, times[-1])


class _MarkingExporter:
    """The user's exporter, which leaves a file when it has exported for the last time."""

    def __init__(self, exporter: Any, mark: str) -> None:
        self.name = exporter.name
        self._exporter = exporter
        self._mark = mark

    def export(self, *args: Any, is_the_final_export: bool, **kwargs: Any) -> Any:
        """Export, as TensorFlow asks for after an evaluation."""
        result = self._exporter.export(*args, is_the_final_export=is_the_final_export, **kwargs)
        if is_the_final_export:
            os.makedirs(os.path.dirname(self._mark), exist_ok=True)
            with open(self._mark, "wb"):
                pass
        return result


def _is_from_warm_start(error: ValueError) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.filename.endswith("warm_starting_util.py") for frame in frames)


def _explain_other_shape(error: ValueError) -> ValueError:
    why = str(error).partition(" {")[0].rstrip(".")  # without the checkpoint's whole content
    return ValueError(
        f"warm_start_from is a model of another shape: {why}. Build the estimator without it this "
        "time, or take over what fits: warm_start_from=tf.estimator.WarmStartSettings(path, "
        "vars_to_warm_start=[…])."
    )


def _wait_for(mark: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    if not os.path.exists(mark):
        say("The training is done; the chief waits for the evaluator's export.")
    while not os.path.exists(mark):
        if time.monotonic() > deadline:
            raise NothingWritten(
                f"The evaluator has exported no model within {seconds:.0f} s after the training. "
                'Start one process with the task {"type": "evaluator", "index": 0} in TF_CONFIG, '
                "on the same files."
            )
        time.sleep(_LOOK_SECONDS)


def _describe(returned: Any) -> str:
    if not isinstance(returned, dict):
        return f"{returned!r}"
    return f"one with {', '.join(map(repr, returned)) or 'nothing in it'}"
