# SPDX-License-Identifier: Apache-2.0
"""The Estimator Trainer in another interpreter: it trains, evaluates and exports.

trainer_fn(fn_args, schema) ─▶ estimator, train_spec, eval_spec, eval_input_receiver_fn

<model_run>/Format-Serving/                            checkpoints, events
<model_run>/Format-Serving/export/<name>/<time>/ ────▶ <model>/Format-Serving/
<model_run>/Format-TFMA/<time>/ ─────────────────────▶ <model>/Format-TFMA/
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Callable

from .eval_export import export_eval_savedmodel
from .failures import NothingWritten
from .files import SchemaReader, copy_dir, eval_model_dir, serving_model_dir
from .fn_args import FnArgs

_WANTED = {
    "estimator": "a tf.estimator.Estimator",
    "train_spec": "a tf.estimator.TrainSpec",
    "eval_spec": "a tf.estimator.EvalSpec with one exporter",
    "eval_input_receiver_fn": "a function that returns tfma.export.EvalInputReceiver(features=…, "
    "labels=…, receiver_tensors={'examples': …})",
}


def train_estimator(trainer_fn: Callable[..., Any], fn_args: FnArgs) -> None:
    """Train what `trainer_fn` returns, and write both models where `fn_args` says."""
    schema = _schema(fn_args)
    run_dir = str(fn_args.model_run_dir or fn_args.working_dir)
    told = replace(
        fn_args,
        serving_model_dir=serving_model_dir(run_dir),
        eval_model_dir=eval_model_dir(run_dir),
    )
    training = _checked(trainer_fn(told, schema))
    estimator, eval_spec = training["estimator"], training["eval_spec"]
    exporter = _only_exporter(eval_spec, training["train_spec"].max_steps)
    import tensorflow as tf

    tf.estimator.train_and_evaluate(estimator, training["train_spec"], eval_spec)
    if not estimator.config.is_chief:
        print(f"This is the {estimator.config.task_type}: the chief writes the model.", flush=True)
        return
    eval_model = export_eval_savedmodel(
        estimator=estimator,
        export_dir_base=str(told.eval_model_dir),
        eval_input_receiver_fn=training["eval_input_receiver_fn"],
    )
    copy_dir(_exported(estimator, exporter), str(fn_args.serving_model_dir))
    copy_dir(eval_model, str(fn_args.eval_model_dir))


def _schema(fn_args: FnArgs) -> Any:
    if not fn_args.schema_path:
        raise ValueError(
            "trainer_fn(fn_args, schema) is given the schema of the examples, and this Trainer has "
            "none. Give it one: Trainer(schema=schema_gen.outputs['schema'], …)."
        )
    return SchemaReader().read(fn_args.schema_path)


def _checked(returned: Any) -> dict[str, Any]:
    """What `trainer_fn` returned, if it is all there."""
    found = returned if isinstance(returned, dict) else {}
    for name, what in _WANTED.items():
        if found.get(name) is None:
            raise ValueError(
                f"trainer_fn should return a dict with {', '.join(map(repr, _WANTED))}, and "
                f"returned {_described(returned)}. Add {name!r}: {what}."
            )
    return found


def _described(returned: Any) -> str:
    if not isinstance(returned, dict):
        return f"{returned!r}"
    return f"one with {', '.join(map(repr, returned)) or 'nothing in it'}"


def _only_exporter(eval_spec: Any, max_steps: int | None) -> Any:
    """The exporter; refuses, before hours of training, what cannot end in one exported model."""
    names = [exporter.name for exporter in eval_spec.exporters]
    if len(names) != 1:
        raise ValueError(
            "The Trainer publishes what one exporter writes, and the EvalSpec has "
            f"{' and '.join(map(repr, names)) or 'none'}. Give it one: EvalSpec(exporters="
            "[tf.estimator.FinalExporter('name', serving_input_receiver_fn)], …)."
        )
    exporter = eval_spec.exporters[0]
    if max_steps is None and type(exporter).__name__ == "FinalExporter":
        raise ValueError(
            "The last export is the one after the last of TrainSpec's max_steps, which is None. "
            "Give the Trainer train_args=TrainArgs(num_steps=…), and "
            "TrainSpec(max_steps=fn_args.train_steps, …)."
        )
    return exporter


def _exported(estimator: Any, exporter: Any) -> str:
    """The newest folder that the exporter wrote."""
    folder = os.path.join(estimator.model_dir, "export", exporter.name)
    found = os.listdir(folder) if os.path.isdir(folder) else []
    times = sorted((name for name in found if name.isdecimal()), key=int)
    if not times:
        raise NothingWritten(
            f"The training ended, but its exporter {exporter.name!r} wrote nothing to {folder}. "
            "Did the training data end before max_steps? Then repeat it in the input_fn, or ask "
            "for fewer steps."
        )
    if len(times) > 1:
        print(f"{exporter.name!r} exported {len(times)} models: the last one is published.")
    return os.path.join(folder, times[-1])
