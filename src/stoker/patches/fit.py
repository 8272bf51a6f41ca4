# SPDX-License-Identifier: Apache-2.0
"""What the patches of Keras 2 and of Keras 3 share: the callbacks, optimizer and loop of a `fit`.

Neither Keras has an argument to begin in the middle of an epoch; `initial_epoch` is for whole ones.
Each makes one object that counts the steps of an epoch and opens the data. It is caught when `fit`
makes it.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from stoker.patches.changes import replace
from stoker.patches.registry import Patch


def add_callbacks(
    keras: Any, model: Any, given: Any, *, first: Sequence[Any] = (), last: Sequence[Any] = ()
) -> Any:
    """The callbacks of a `fit`: those that the user has given, with ours before and after them."""
    if isinstance(given, keras.callbacks.CallbackList):
        given.callbacks[:] = [*first, *given.callbacks, *last]
        for one in (*first, *last):
            one.set_model(model)
            one.set_params(given.params)
        return given
    users = given if isinstance(given, list | tuple) else [given]
    return [*first, *(one for one in users if one is not None), *last]


@contextlib.contextmanager
def build_at_once(optimizer: Any) -> Iterator[None]:
    """Let an optimizer of Keras make its variables outside of the graph that is traced inside.

    If a trace has made variables, TensorFlow initializes them and traces the function once more.
    """
    kind = type(optimizer)
    if kind.__module__.partition(".")[0] not in ("keras", "tf_keras") or not hasattr(kind, "build"):
        yield
        return
    import tensorflow as tf

    build = optimizer.build

    def make_at_once(make: Callable[..., Any], **given: Any) -> Any:
        return make(**{**given, "experimental_enable_variable_lifting": False})

    def build_outside(variables: Any) -> Any:
        with tf.init_scope(), tf.variable_creator_scope(make_at_once):
            return build(variables)

    with replace(optimizer, "build", build_outside):
        yield


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
def catch_loop(
    patch: Patch,
    module: Any,
    name: str,
    make_loop: Callable[[Any, Any, Start | None], FitLoop],
    start: Start | None,
) -> Iterator[list[FitLoop]]:
    """Catch the loop of the `fit` that is called inside: it is in the list once it has begun.

    `name` is what makes Keras's own object; `make_loop` gets that of the whole input, and that of
    the rest of it.
    """
    patch.check_version()
    patch.check_names(module, name)
    make = getattr(module, name)
    caught: list[FitLoop] = []

    def make_and_catch(*args: Any, **kwargs: Any) -> Any:
        original.close()  # those that follow are for validation
        whole = make(*args, **kwargs)
        entered = start and start.data is not kwargs["x"]
        rest = make(*args, **{**kwargs, "x": start.data}) if start and entered else whole
        caught.append(make_loop(whole, rest, start))
        return whole

    with replace(module, name, make_and_catch) as original:
        yield caught
