# SPDX-License-Identifier: Apache-2.0
"""Keras 2: it is what the name `keras` means in a worker that has it, and its `fit` is watched.

Modules that mix `keras` and `tf.keras`, and libraries such as keras_tuner, then see the same
classes.
"""

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from stoker.patches.changes import import_as, import_by_name, import_when_used, replace
from stoker.patches.fit import FitLoop, Start, catch_loop
from stoker.patches.registry import PATCHES
from stoker.patches.tf_keras_older import MOVED, provide_older_keras
from stoker.patches.tf_keras_plots import go_on_without_graphviz
from stoker.task import ProcessNeeds
from stoker.user_code.keras_choice import KERAS_VARIABLE


def prepare_keras(needs: ProcessNeeds) -> None:
    """Decide Keras for this process; TensorFlow must not have been imported in it."""
    if needs.keras is None:
        return
    if "tensorflow" in sys.modules:
        raise RuntimeError(
            f"Keras {needs.keras} cannot be chosen: TensorFlow is already imported in this "
            "process. Run the step in a process of its own, with the `processes` launcher."
        )
    os.environ[KERAS_VARIABLE] = "1" if needs.keras == 2 else "0"


def put_off_images() -> None:
    """Let `import tf_keras` do without what makes more images of some, which needs SciPy."""
    PATCHES["tf-keras-imports"].check_version()
    import_when_used("tf_keras.src.preprocessing.image")
    for api in ("tf_keras", "tf_keras.api._v1.keras", "tf_keras.api._v2.keras"):
        import_by_name(f"{api}.preprocessing.image")


def alias_keras() -> None:
    """Make `keras` and every module below it mean `tf_keras`, now and in later imports.

    To be called after TensorFlow was imported with Keras 2; a second call changes nothing.
    """
    tf_keras = importlib.import_module("tf_keras")
    PATCHES["tf-keras-name"].check_version(tf_keras.__version__)
    # Up to 2.12, what is below `src` now stood where modules import it: keras.utils.vis_utils.
    import_as("keras", ["tf_keras", "tf_keras.src"], MOVED)
    for name in ("generic_utils", "np_utils", "vis_utils"):  # `from keras.utils import np_utils`
        vars(tf_keras.utils)[name] = importlib.import_module(f"tf_keras.src.utils.{name}")
    prepare_keras_2()


def prepare_keras_2() -> None:
    """Let `tf.keras` be as modules and programs of its time knew it."""
    version = importlib.import_module("tf_keras").__version__
    # This is what `tf.keras` means; it lost its version when it left TensorFlow.
    vars(importlib.import_module("tf_keras.api._v2.keras"))["__version__"] = version
    provide_older_keras()
    go_on_without_graphviz()


def wrap_fit(wrap: Callable[[Callable[..., Any], Any], Any]) -> contextlib.ExitStack:
    """Put `wrap(fit, tf_keras)` in the place of the base class's `fit`, where all calls arrive."""
    import tf_keras

    PATCHES["tf-keras-fit"].check_version(tf_keras.__version__)
    return replace(tf_keras.Model, "fit", wrap(tf_keras.Model.fit, tf_keras))


def wrap_evaluate(wrap: Callable[[Callable[..., Any], Any], Any]) -> contextlib.ExitStack:
    """Put `wrap(evaluate, tf_keras)` in the place of the base class's `evaluate`."""
    import tf_keras

    PATCHES["tf-keras-executions"].check_version(tf_keras.__version__)
    return replace(tf_keras.Model, "evaluate", wrap(tf_keras.Model.evaluate, tf_keras))


def catch_fit_loop(start: Start | None) -> contextlib.AbstractContextManager[list[FitLoop]]:
    """Catch the loop of the `fit` that is called inside, to enter it at `start`."""
    module = importlib.import_module("tf_keras.src.engine.data_adapter")
    patch = PATCHES["tf-keras-fit-loop"]
    return catch_loop(patch, module, "get_data_handler", _HandlerLoop, start)


_PRIVATE = (
    *("_adapter", "_current_step", "_dataset", "_inferred_steps", "_initial_step"),
    "_steps_per_execution",
)


class _One:
    """Stands for a variable that is 1, which Keras reads before every step: some take less time."""

    def numpy(self) -> "_One":
        """What a variable has for NumPy."""
        return self

    def item(self) -> int:
        """Its value."""
        return 1


class _HandlerLoop:
    """A DataHandler counts steps, and opens the data for every epoch or once."""

    def __init__(self, handler: Any, rest: Any, start: Start | None) -> None:
        PATCHES["tf-keras-fit-loop"].check_names(handler, *_PRIVATE)
        self._handler = handler
        self._before = start.position - start.step if start else 0
        self._has_begun = False
        if start:
            handler.enumerate_epochs = _epochs_from(handler, rest, start)
        if handler._steps_per_execution.numpy().item() == 1 and not _is_tuned(handler._model):
            handler._steps_per_execution = _One()

    def begin_epoch(self) -> None:
        if not self._has_begun:
            self._has_begun = True
        elif self._handler._adapter.should_recreate_iterator():
            self._before = 0
        else:
            self._before += self._handler._current_step

    def position(self, step: int) -> int:
        return self._before + step

    def epoch_steps(self) -> int | None:
        known: int | None = self._handler._inferred_steps
        return known

    def warm_up(self, model: Any) -> None:
        model.train_function(iter(self._handler._dataset))


def _is_tuned(model: Any) -> bool:
    return bool(getattr(model, "autotune_steps_per_execution", False))


def _epochs_from(handler: Any, rest: Any, start: Start) -> Callable[[], Iterator[Any]]:
    whole, num_steps = handler._dataset, start.epoch_steps or handler._inferred_steps
    enumerate_epochs = handler.enumerate_epochs

    def epochs() -> Iterator[Any]:
        handler._initial_step = start.step
        handler._dataset = rest._dataset
        for number, epoch in enumerate(enumerate_epochs()):
            if number == 0:
                # To end an epoch by reading on until there is no more would count a step too many.
                handler._dataset, handler._inferred_steps = whole, num_steps
            yield epoch

    return epochs
