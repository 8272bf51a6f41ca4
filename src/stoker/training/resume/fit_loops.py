# SPDX-License-Identifier: Apache-2.0
"""The loop inside Keras's `fit`, entered in the middle: at a step of an epoch, and of the data.

Neither Keras has an argument for that; `initial_epoch` is for whole epochs. Each makes one object
that counts the steps of an epoch and opens the data. It is caught when `fit` makes it.
"""

import contextlib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["FitLoop", "Start", "fit_loop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where to enter: after `step` steps of the epoch, with `data` in place of the whole input."""

    step: int
    position: int
    """How many batches of the input have been read before."""
    epoch_steps: int | None
    """How many steps an epoch has, if that is known."""
    data: Any


class FitLoop(Protocol):
    """The loop of one `fit`, which has begun."""

    def begin_epoch(self) -> None:
        """An epoch begins; the first one where the loop is to be entered."""

    def position(self, step: int) -> int:
        """How many batches of its input have been read when a step begins."""

    def epoch_steps(self) -> int | None:
        """How many steps an epoch has; None if nobody knows before the first one has ended."""

    def warm_up(self, model: Any) -> None:
        """Train one step on data of its own: after that, every variable is there."""


@contextlib.contextmanager
def fit_loop(version: int, start: Start | None) -> Iterator[list[FitLoop]]:
    """Catch the loop of the `fit` that is called inside: it is in the list once it has begun."""
    where, name, kind = _WHERE[version]
    module = importlib.import_module(where)
    make, caught = getattr(module, name), []

    def make_and_catch(*args: Any, **kwargs: Any) -> Any:
        setattr(module, name, make)  # those that follow are for validation
        whole = make(*args, **kwargs)
        entered = start and start.data is not kwargs["x"]
        rest = make(*args, **{**kwargs, "x": start.data}) if start and entered else whole
        caught.append(kind(whole, rest, start))
        return whole

    setattr(module, name, make_and_catch)
    try:
        yield caught
    finally:
        setattr(module, name, make)


class _Keras2:
    """tf_keras: a DataHandler counts steps, and opens the data for every epoch or once."""

    def __init__(self, handler: Any, rest: Any, start: Start | None) -> None:
        self._handler = handler
        self._before = start.position - start.step if start else 0
        self._has_begun = False
        if start:
            handler.enumerate_epochs = _epochs_from(handler, rest, start)

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


class _Keras3:
    """keras on TensorFlow: an EpochIterator counts steps, and opens the data when it needs it."""

    def __init__(self, iterator: Any, rest: Any, start: Start | None) -> None:
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


_WHERE: dict[int, tuple[str, str, Callable[[Any, Any, Start | None], FitLoop]]] = {
    2: ("tf_keras.src.engine.data_adapter", "get_data_handler", _Keras2),
    3: ("keras.src.backend.tensorflow.trainer", "TFEpochIterator", _Keras3),
}
