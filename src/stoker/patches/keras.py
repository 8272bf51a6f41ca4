# SPDX-License-Identifier: Apache-2.0
"""Keras 3: its `fit` is watched, and works across the processes of a worker group.

Keras 3 has most of what MultiWorkerMirroredStrategy needs, and stumbles in three places: the batch
that a model is built from, the metrics that are brought together after a step, and several steps in
one execution. All three are put right here, for models of such a strategy only; moving statistics,
which each process keeps for itself, are brought together before they can be saved.
"""

import contextlib
import functools
import importlib
import inspect
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from stoker.errors import StokerError
from stoker.patches.changes import import_by_name, replace
from stoker.patches.fit import FitLoop, Start, add_callbacks, catch_loop
from stoker.patches.registry import PATCHES

_TRAINER = "keras.src.backend.tensorflow.trainer"

_synced: "weakref.WeakSet[Any]" = weakref.WeakSet()
"""The models that `fit` has brought together; a second time would wait for processes in vain."""


def put_off_others() -> None:
    """Let `import keras` do without scikit-learn and IPython, until what needs them is used.

    Together they are a quarter of what a fork server would import; few modules wrap their models
    for scikit-learn, or look into a saved file.
    """
    PATCHES["keras-imports"].check_version()
    for name in ("wrappers", "saving"):
        import_by_name(f"keras.{name}")
        import_by_name(f"keras._tf_keras.keras.{name}")


def wrap_fit(wrap: Callable[[Callable[..., Any], Any], Any]) -> contextlib.ExitStack:
    """Put `wrap(fit, keras)` in the place of the base class's `fit`, where all calls arrive."""
    import keras

    PATCHES["keras-fit"].check_version(keras.__version__)
    undo = replace(keras.Model, "fit", wrap(keras.Model.fit, keras))
    undo.enter_context(_pass_numbers())
    return undo


def wrap_evaluate(wrap: Callable[[Callable[..., Any], Any], Any]) -> contextlib.ExitStack:
    """Put `wrap(evaluate, keras)` in the place of the base class's `evaluate`."""
    import keras

    PATCHES["keras-executions"].check_version(keras.__version__)
    return replace(keras.Model, "evaluate", wrap(keras.Model.evaluate, keras))


def catch_fit_loop(start: Start | None) -> contextlib.AbstractContextManager[list[FitLoop]]:
    """Catch the loop of the `fit` that is called inside, to enter it at `start`."""
    module = importlib.import_module(_TRAINER)
    return catch_loop(PATCHES["keras-fit-loop"], module, "TFEpochIterator", _IteratorLoop, start)


def _pass_numbers() -> contextlib.ExitStack:
    """Let logs that are numbers already pass to callbacks, sorted as Keras sorts them."""
    from keras.src.utils import python_utils

    patch = PATCHES["keras-logs"]
    patch.check_version()
    patch.check_names(python_utils, "pythonify_logs")
    original = python_utils.pythonify_logs

    @functools.wraps(original)
    def pythonify_logs(logs: Any) -> Any:
        if logs and all(type(value) is float for value in logs.values()):
            return dict(sorted(logs.items()))
        return original(logs)

    return replace(python_utils, "pythonify_logs", pythonify_logs)


def enable_workers() -> None:
    """Make Keras 3 work in a worker group; StokerError for a version that this was not made for."""
    import keras
    from keras.src.backend.tensorflow import trainer

    base = trainer.TensorFlowTrainer
    _check_fits(keras.__version__, base)
    replace(base, "_maybe_symbolic_build", _build_from_one_replica(base._maybe_symbolic_build))
    replace(base, "_make_function", _step_one_at_a_time(base._make_function))
    replace(base, "fit", _sync_statistics_in(base.fit, keras))
    replace(trainer, "reduce_per_replica", _reduce_across_processes(trainer.reduce_per_replica))
    for name in ("save", "export"):
        replace(keras.Model, name, _sync_before(getattr(keras.Model, name)))


def check_workers(strategy: Any) -> None:
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


def _check_fits(version: str, trainer_class: Any) -> None:
    patch = PATCHES["keras-workers"]
    if not patch.fits(version):
        raise patch.misfit(version=version)
    patch.check_parameters(trainer_class._maybe_symbolic_build, "self", "iterator", "data_batch")
    patch.check_parameters(trainer_class._make_function, "self", "step_function")


def _spans_processes(strategy: Any) -> bool:
    from keras.src.backend.tensorflow import trainer

    return bool(trainer._collective_all_reduce_multi_worker(strategy))


def _build_from_one_replica(original: Callable[..., None]) -> Callable[..., None]:
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


def _reduce_across_processes(original: Callable[..., Any]) -> Callable[..., Any]:
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


def _step_one_at_a_time(original: Callable[..., Any]) -> Callable[..., Any]:
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


def _sync_statistics_in(fit: Callable[..., Any], keras: Any) -> Callable[..., Any]:
    """A callback before all others, so that what they save at an epoch's end is the same."""
    signature = inspect.signature(fit)

    class SyncStatistics(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
            _sync_statistics(self.model)
            _synced.add(self.model)

    @functools.wraps(fit)
    def fit_with_sync(model: Any, *args: Any, **kwargs: Any) -> Any:
        call = signature.bind(model, *args, **kwargs)
        if _spans_processes(model.distribute_strategy):
            given = call.arguments.get("callbacks")
            ours = [SyncStatistics()]
            call.arguments["callbacks"] = add_callbacks(keras, model, given, first=ours)
        return fit(*call.args, **call.kwargs)

    return fit_with_sync


def _sync_before(save: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(save)
    def sync_and_save(model: Any, *args: Any, **kwargs: Any) -> Any:
        # A model that a custom loop has trained: every process comes here, as saving
        # under this strategy asks for.
        if _spans_processes(model.distribute_strategy) and model not in _synced:
            _sync_statistics(model)
        return save(model, *args, **kwargs)

    return sync_and_save


def _sync_statistics(model: Any) -> None:
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


_PRIVATE = (
    *("_distributed_dataset", "_enumerate_iterator", "_get_iterator", "_num_batches"),
    *("_steps_seen", "steps_per_execution"),
)


class _IteratorLoop:
    """An EpochIterator counts steps, and opens the data when it needs it."""

    def __init__(self, iterator: Any, rest: Any, start: Start | None) -> None:
        PATCHES["keras-fit-loop"].check_names(iterator, *_PRIVATE)
        self._iterator = iterator
        self._rest = rest
        self._start = start

    def begin_epoch(self) -> None:
        if self._start:
            # Not earlier: to build a model, Keras may begin an epoch and drop it.
            _enter_next_epoch(self._iterator, self._rest, self._start)
            self._start = None

    def position(self, step: int) -> int:  # noqa: ARG002
        return int(self._iterator._steps_seen - self._iterator.steps_per_execution)

    def epoch_steps(self) -> int | None:
        known: int | None = self._iterator._num_batches
        return known

    def warm_up(self, model: Any) -> None:
        model.train_function(iter(self._iterator._distributed_dataset))


def _enter_next_epoch(iterator: Any, rest: Any, start: Start) -> None:
    open_whole, enumerate_steps = iterator._get_iterator, iterator._enumerate_iterator
    iterator._num_batches = start.epoch_steps or iterator._num_batches

    def steps() -> Iterator[Any]:
        iterator._get_iterator = rest._get_iterator
        iterator._enumerate_iterator = enumerate_steps
        for begin, end, batches in enumerate_steps():
            iterator._get_iterator = open_whole
            if begin == start.step:
                iterator._steps_seen += start.position - start.step
            if begin >= start.step:
                yield begin, end, batches

    iterator._enumerate_iterator = steps
