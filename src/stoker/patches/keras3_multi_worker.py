# SPDX-License-Identifier: Apache-2.0
"""Makes Keras 3's `fit`, `evaluate` and `predict` work across the processes of a worker group.

Keras 3 has most of what MultiWorkerMirroredStrategy needs, and stumbles in three places: the batch
that a model is built from, the metrics that are brought together after a step, and several steps in
one execution. All three are put right here, for models of such a strategy only; moving statistics,
which each process keeps for itself, are brought together before they can be saved.
"""

import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any

from stoker.errors import StokerError

__all__ = ["TESTED", "check_here", "enable_keras3_multi_worker"]

TESTED = ((3, 15), (3, 16))
"""From this version on, and below that one."""

_synced: "weakref.WeakSet[Any]" = weakref.WeakSet()
"""The models that `fit` has brought together; a second time would wait for processes in vain."""


def enable_keras3_multi_worker() -> None:
    """Patch the Keras 3 of this process; StokerError for a version that this was not made for."""
    import keras
    from keras.src.backend.tensorflow import trainer

    _check_version(keras.__version__, trainer)
    base = trainer.TensorFlowTrainer
    base._maybe_symbolic_build = _built_from_one_replica(base._maybe_symbolic_build)
    base._make_function = _one_step_at_a_time(base._make_function)
    base.fit = _with_statistics_synced(base.fit, keras)
    trainer.reduce_per_replica = _reduced_across_processes(trainer.reduce_per_replica)
    for name in ("save", "export"):
        setattr(keras.Model, name, _synced_first(getattr(keras.Model, name)))


def check_here(strategy: Any) -> None:
    """Prove, with the strategy that was just made, that values of all processes come together."""
    import tensorflow as tf
    from keras.src.backend.tensorflow import trainer

    num = strategy.num_replicas_in_sync

    @tf.function  # type: ignore[untyped-decorator]
    def step() -> Any:
        def number() -> Any:
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            return tf.cast(replica, tf.float32)

        return trainer.reduce_per_replica({"n": strategy.run(number)}, strategy, "auto")

    found = float(step()["n"])
    if abs(found - (num - 1) / 2) > 1e-6:
        raise StokerError(
            f"Keras 3 does not bring the values of {num} replicas together here: their mean should "
            f"be {(num - 1) / 2} and is {found}. Use Keras 2: Trainer(keras=2)."
        )


def _check_version(version: str, trainer: Any) -> None:
    numbers = tuple(int(part) for part in version.split(".")[:2])
    least, below = TESTED
    expected = {
        "_maybe_symbolic_build": ["self", "iterator", "data_batch"],
        "_make_function": ["self", "step_function"],
    }
    fits = all(
        list(inspect.signature(getattr(trainer.TensorFlowTrainer, name)).parameters) == parameters
        for name, parameters in expected.items()
    )
    if not (least <= numbers < below and fits):
        raise StokerError(
            "Stoker knows how to train across processes with Keras 3 from version "
            f"{least[0]}.{least[1]} to below {below[0]}.{below[1]}, and this is {version}. Install "
            "one of those, use Keras 2 (Trainer(keras=2)), or write a training loop of your own."
        )


def _spans_processes(strategy: Any) -> bool:
    from keras.src.backend.tensorflow import trainer

    return bool(trainer._collective_all_reduce_multi_worker(strategy))


def _built_from_one_replica(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def build(model: Any, iterator: Any = None, data_batch: Any = None) -> None:
        strategy = model.distribute_strategy
        if iterator is None or not _spans_processes(strategy):
            original(model, iterator, data_batch)
            return
        import keras

        _, _, batches = next(iter(iterator))
        batch = keras.tree.map_structure(
            lambda value: strategy.experimental_local_results(value)[0], next(batches)
        )
        with strategy.scope():
            model._symbolic_build(data_batch=batch)

    return build


def _reduced_across_processes(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def reduce_per_replica(values: Any, strategy: Any, reduction: str) -> Any:
        if reduction in ("first", "concat") or not _spans_processes(strategy):
            return original(values, strategy, reduction)
        import keras

        # The values are single numbers, one per replica: there is no axis to average over.
        operation = "SUM" if reduction == "sum" else "MEAN"
        return keras.tree.map_structure(
            lambda value: strategy.reduce(operation, value, axis=None), values
        )

    return reduce_per_replica


def _one_step_at_a_time(original: Callable[..., Any]) -> Callable[..., Any]:
    """Several steps per execution as that many calls: the loop in the graph has no collectives."""

    @functools.wraps(original)
    def make_function(model: Any, step_function: Any) -> Any:
        one = original(model, step_function)
        if model.steps_per_execution == 1 or not _spans_processes(model.distribute_strategy):
            return one

        def several(iterator: Any) -> Any:
            num_steps, model.steps_per_execution = model.steps_per_execution, 1
            try:
                return _repeat(one, iterator, num_steps)
            finally:
                model.steps_per_execution = num_steps

        return several

    return make_function


def _repeat(one: Callable[[Any], Any], iterator: Any, num_steps: int) -> Any:
    """The result of the last of `num_steps` steps, or of the last that the data is enough for."""
    import tensorflow as tf

    result = one(iterator)
    for _ in range(num_steps - 1):
        try:
            result = one(iterator)
        except (StopIteration, tf.errors.OutOfRangeError):
            break  # the next call will meet the end of the data first
    return result


def _with_statistics_synced(fit: Callable[..., Any], keras: Any) -> Callable[..., Any]:
    """A callback before all others, so that what they save at an epoch's end is the same."""
    signature = inspect.signature(fit)

    class SyncStatistics(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
            sync_statistics(self.model)
            _synced.add(self.model)

    @functools.wraps(fit)
    def fit_with_sync(model: Any, *args: Any, **kwargs: Any) -> Any:
        call = signature.bind(model, *args, **kwargs)
        if _spans_processes(model.distribute_strategy):
            callbacks = call.arguments.get("callbacks")
            if isinstance(callbacks, keras.callbacks.CallbackList):
                callbacks.callbacks.insert(0, SyncStatistics())
                callbacks.callbacks[0].set_model(model)
            else:
                given = callbacks if isinstance(callbacks, list | tuple) else [callbacks]
                given = [one for one in given if one is not None]
                call.arguments["callbacks"] = [SyncStatistics(), *given]
        return fit(*call.args, **call.kwargs)

    return fit_with_sync


def _synced_first(save: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(save)
    def save_synced(model: Any, *args: Any, **kwargs: Any) -> Any:
        # A model that a loop of the user's own has trained: every process comes here, as saving
        # under this strategy asks for.
        if _spans_processes(model.distribute_strategy) and model not in _synced:
            sync_statistics(model)
        return save(model, *args, **kwargs)

    return save_synced


def sync_statistics(model: Any) -> None:
    """Give what layers count while they train, such as moving means, the mean of all processes."""
    import tensorflow as tf

    strategy = model.distribute_strategy
    variables = [
        variable
        for layer in model._flatten_layers()
        if layer.trainable
        for variable in layer._non_trainable_variables
        if tf.as_dtype(variable.dtype).is_floating
    ]
    if not variables:
        return

    @tf.function  # type: ignore[untyped-decorator]
    def means() -> Any:
        local = strategy.run(lambda: [tf.convert_to_tensor(one.value) for one in variables])
        return [strategy.reduce("MEAN", value, axis=None) for value in local]

    for variable, mean in zip(variables, means(), strict=True):
        variable.assign(mean)
