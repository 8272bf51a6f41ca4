# SPDX-License-Identifier: Apache-2.0
"""Which models do several steps per call into TensorFlow, and why others do one."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from stoker.patches.registry import PATCHES
from stoker.training.executions import Executions
from stoker.training.fit_data import is_endless
from stoker.training.resume.resumable_fit import flatten_callbacks

_HOOKS = {
    "train": ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end"),
    "test": ("on_test_batch_begin", "on_test_batch_end"),
}
_BY_EPOCH = {"BackupAndRestore", "ModelCheckpoint"}
"""Those of Keras that look at batches unless they are told to save after each epoch."""
_DRAWS = {"ProgbarLogger", "History"}
"""Those of Keras that only show what a step told."""


def make_executions(
    keras: Any, model: Any, phase: str, *, data: Any, callbacks: Any, fixed: int | None
) -> Executions:
    """The executions of the train function, or of the test function, of a model.

    `phase` is "train" or "test"; `callbacks` are those that the user gave.
    """
    why = (
        "steps_per_execution=1"
        if fixed == 1
        else _why_not_with(data, callbacks, phase)
        or _why_not_this_keras(keras)
        or _why_not_this_model(keras, model, phase)
        or _why_not_here(model)
    )
    return Executions(model, f"{phase}_function", fixed=fixed, why_single=why)


class EvaluateExecutions:
    """The callback of an `evaluate` of its own, of whichever Keras."""

    keras: Any
    model: Any
    async_safe = True

    def __init__(self, given: Mapping[str, Any], fixed: int | None) -> None:
        super().__init__()
        self._supports_tf_logs = True
        self._given = dict(given)
        self._fixed = fixed
        self._executions: Executions | None = None

    def on_test_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        """Keras has made the test function."""
        data = self._given.get("x")
        self._executions = make_executions(
            self.keras,
            self.model,
            "test",
            data=data,
            callbacks=self._given.get("callbacks"),
            fixed=self._fixed,
        )
        self._executions.begin()
        self._executions.begin_epoch(self._given.get("steps"), may_end=not is_endless(data))

    def let_go(self) -> None:
        """Give the model its own test function back."""
        if self._executions:
            self._executions.end()


def _why_not_this_keras(keras: Any) -> str:
    is_3 = hasattr(keras, "config")
    patch = PATCHES["keras-executions" if is_3 else "tf-keras-executions"]
    if not patch.fits(keras.__version__):
        return f"that was tried with Keras {patch.tried}"
    if is_3 and keras.config.backend() != "tensorflow":
        return f"its backend is {keras.config.backend()}"
    return ""


def _why_not_this_model(keras: Any, model: Any, phase: str) -> str:
    per_call = model.steps_per_execution  # a number with Keras 3, a variable with Keras 2
    if int(getattr(per_call, "numpy", lambda: per_call)()) != 1 or getattr(
        model, "autotune_steps_per_execution", False
    ):
        return "the module has chosen steps_per_execution"
    if model.run_eagerly:
        return "it runs eagerly"
    if model.jit_compile:
        return "XLA compiles its steps"
    name = f"make_{phase}_function"
    if getattr(type(model), name) is not getattr(keras.Model, name):
        return f"{type(model).__name__} has a {name} of its own"
    return ""


def _why_not_here(model: Any) -> str:
    import tensorflow as tf

    if "TF_CONFIG" in os.environ:
        return "it trains in several processes"
    if type(model.distribute_strategy) is not type(tf.distribute.get_strategy()) or (
        tf.distribute.has_strategy() or model.distribute_strategy.num_replicas_in_sync != 1
    ):
        return f"it trains under {type(model.distribute_strategy).__name__}"
    devices = tf.config.list_logical_devices()
    if len(devices) != 1 or devices[0].device_type != "CPU":
        return "there are other devices than one CPU"
    return ""


def _why_not_with(data: Any, callbacks: Any, phase: str) -> str:
    if hasattr(callbacks, "callbacks"):
        return "its callbacks are in a CallbackList"
    if not (_is_dataset(data) or _is_arrays(data)):
        return "its data is neither a tf.data.Dataset nor in arrays"
    seers = [one for one in flatten_callbacks(callbacks) if _sees_batches(one, phase)]
    if seers:
        names = ", ".join(dict.fromkeys(type(one).__name__ for one in seers))
        return f"{names} {'looks' if len(seers) == 1 else 'look'} at every batch"
    return ""


def _is_dataset(data: Any) -> bool:
    tf = sys.modules.get("tensorflow")
    return tf is not None and isinstance(data, tf.data.Dataset)


def _is_arrays(data: Any) -> bool:
    if isinstance(data, Mapping):
        data = list(data.values())
    parts = data if isinstance(data, list | tuple) else [data]
    return bool(parts) and all(hasattr(part, "shape") and hasattr(part, "dtype") for part in parts)


def _sees_batches(callback: Any, phase: str) -> bool:
    """Whether a callback may look at the model, or stop the training, after a batch."""
    if all(getattr(getattr(callback, name), "_is_default", False) for name in _HOOKS[phase]):
        return False
    kind = type(callback)
    if kind.__module__.partition(".")[0] not in ("keras", "tf_keras"):
        return True
    if kind.__name__ in _DRAWS:
        return False
    if kind.__name__ in _BY_EPOCH:
        return bool(callback.save_freq != "epoch")
    if kind.__name__ == "TensorBoard":
        return bool(
            callback._should_trace
            or callback.write_steps_per_second
            or callback.update_freq != "epoch"
        )
    return True
