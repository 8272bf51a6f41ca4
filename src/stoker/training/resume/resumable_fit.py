# SPDX-License-Identifier: Apache-2.0
"""Training that goes on where a run of the same work was stopped, with no change to the module.

The module runs again from its first line. A `fit` of which a checkpoint says that it had ended only
gets its model, and its History, as they were then; the one that was under way is entered at the
step of its last checkpoint:

    fit 1: ended          restored, not trained again
    fit 2: step 1,200     restored, goes on
    fit 3                 trains

A checkpoint is taken before a step, and restored before a step: what Keras and the callbacks have
prepared for the epoch until then is overwritten.
"""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from stoker.any_python.forking import defer_stop
from stoker.patches import keras as keras_3
from stoker.patches import tf_keras as keras_2
from stoker.patches.fit import FitLoop, Start
from stoker.training.resume.callback_state import read_callbacks, read_texts, set_callbacks
from stoker.training.resume.checkpoints import Checkpoint, Checkpointer, describe_age
from stoker.training.resume.data_position import DataPasses, why_it_restarts
from stoker.training.resume.plain_values import Arrays
from stoker.training.resume.python_state import find_inside, is_of_a_library
from stoker.training.resume.train_function import find_captured, find_lost_in_steps
from stoker.training.resume.variables import (
    OtherVariables,
    read_variables,
    set_variables,
    variables_of,
)

_OUTSIDE = "outside"
_NUM_NAMED = 4

KERAS: Mapping[int, Any] = {2: keras_2, 3: keras_3}
"""What is changed of each version."""


class FitHadEnded(Exception):
    """Leaves a `fit` whose end has been restored."""


@contextlib.contextmanager
def resume_fit(
    checkpointer: Checkpointer | None, version: int, model: Any, given: Mapping[str, Any]
) -> "Iterator[ResumableFit | None]":
    """Keep the `fit` that is called inside with these arguments; None if that cannot be."""
    if not checkpointer or checkpointer.is_busy or not _is_resumable(version, model, given):
        yield None
        return
    fit = ResumableFit(checkpointer, model, given)
    checkpointer.is_busy = True
    try:
        with defer_stop(), KERAS[version].catch_fit_loop(fit.start) as fit.loops:
            yield fit
    finally:
        checkpointer.is_busy = False
        fit.data.rewind()


def _is_resumable(version: int, model: Any, given: Mapping[str, Any]) -> bool:
    if version == 3:
        import keras

        if keras.config.backend() != "tensorflow":
            return False
    # The trials of a search inside of the module are KerasTuner's to remember, and the variables
    # of parameter servers are theirs.
    is_trial = any(
        type(one).__module__.startswith("keras_tuner")
        for one in flatten_callbacks(given.get("callbacks"))
    )
    has_servers = getattr(model.distribute_strategy, "_should_use_with_coordinator", False)
    return not (is_trial or has_servers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in a `fit`: the next step, and what has been counted up to there."""

    epoch: int
    step: int = 0
    position: int = 0
    """How many batches have been read of the data that is open."""
    steps_before: int = 0
    """The steps of the epochs before this one."""
    epoch_steps: int | None = None
    """How many steps an epoch has, where that is known."""
    last_step: int = 0
    """The last step that a metric was written for, all fits counted."""

    @property
    def num_steps(self) -> int:
        """How many steps have been done."""
        return self.steps_before + self.step


class ResumableFit:
    """One call of `fit`: where it begins, and what is saved of it."""

    def __init__(self, checkpointer: Checkpointer, model: Any, given: Mapping[str, Any]) -> None:
        self.loops: list[FitLoop] = []
        self._checkpointer = checkpointer
        self._number, self._store = checkpointer.open_store("fit")
        self._model = model
        self._given = given
        self._callbacks = flatten_callbacks(given.get("callbacks"))
        self._what = _describe(model, given)
        self._restarts = why_it_restarts(given.get("x"))
        self._old_texts: dict[str, str] | None = None
        """The texts that callbacks had when training began."""
        self.data = DataPasses(given)
        self._found = self._find()
        self.place = Place(**self._found.record["place"]) if self._found else None
        self.start = self._make_start(self.place) if self.place else None

    def _find(self) -> Checkpoint | None:
        """The checkpoint to go on from, unless it is one of something else."""
        found = self._checkpointer.find(self._store)
        if found is None:
            return None
        why_not = ""
        if "lost" not in found.record:
            why_not = "an older version of Stoker has written its checkpoint"
        elif found.record["what"] != self._what:
            why_not = f"fit {self._number} was another one ({found.record['what']})"
        if why_not:
            self._checkpointer.say("warning", f"starting from the beginning: {why_not}")
        return None if why_not else found

    def _make_start(self, place: Place) -> Start:
        data: Any = self._given.get("x")
        position = 0 if self._restarts else place.position
        if position:
            data = data.skip(position)
        return Start(step=place.step, position=position, epoch_steps=place.epoch_steps, data=data)

    # What the callback tells

    def begin_epoch(self, epoch: int) -> None:
        """An epoch begins; if there is something to restore, every variable has to be there."""
        if self._old_texts is None:
            self._old_texts = read_texts(self._all_callbacks())
        for loop in self.loops:
            loop.begin_epoch()
            if self._found:
                loop.warm_up(self._model)
                if self._found.record["ended"]:
                    self._restore(self._found)
                    raise FitHadEnded
        self.data.begin_epoch(epoch)

    def is_due(self) -> bool:
        """Whether to restore, to save or to stop before the next step."""
        return self._found is not None or self._checkpointer.is_due()

    def begin_step(self, place: Place) -> None:
        """Before a step, restore what there is to restore; else save."""
        for loop in self.loops:
            if self._found:
                self._restore(self._found)
            elif place.num_steps:
                here = loop.position(place.step), loop.epoch_steps()
                self._save(replace(place, position=here[0], epoch_steps=here[1]), ended=False)
        self._checkpointer.stop_if_wanted(place.num_steps)

    def end(self, place: Place) -> None:
        """`fit` has ended, and that is worth a checkpoint if one is due."""
        if self.loops and self.is_due():
            self._save(place, ended=True)
        self._checkpointer.stop_if_wanted(place.num_steps)

    # What is saved and restored

    def _save(self, place: Place, *, ended: bool) -> None:
        variables = self._variables()

        def describe(arrays: Arrays) -> Mapping[str, Any]:
            arrays.update(read_variables(self._find_outside(variables), _OUTSIDE))
            callbacks, lost = read_callbacks(self._all_callbacks(), arrays, self._old_texts or {})
            return {
                "what": self._what,
                "ended": ended,
                "place": asdict(place),
                "callbacks": callbacks,
                "lost": [*lost, *self._lost_in_steps],
            }

        self._checkpointer.save(self._store, variables, describe, at_the_end=ended)

    def _restore(self, found: Checkpoint) -> None:
        """Give the model, its callbacks and all random generators the state of the checkpoint."""
        self._found = None
        variables = self._variables()
        self._checkpointer.restore(found, variables)
        lost = [
            *found.record["lost"],
            *self._restore_outside(variables, found.arrays),
            *set_callbacks(self._all_callbacks(), found.record["callbacks"], found.arrays),
        ]
        self._checkpointer.say("note", self._describe_start(found.record, lost))

    def _restore_outside(
        self, variables: Sequence[Any], arrays: Mapping[str, np.ndarray]
    ) -> list[str]:
        try:
            set_variables(self._find_outside(variables), arrays, _OUTSIDE)
        except OtherVariables:
            return ["variables outside of the model"]
        return []

    def _variables(self) -> list[Any]:
        model = self._model
        counter = getattr(model, "_train_counter", None)  # which Keras 2 keeps out of checkpoints
        return variables_of([model, model.optimizer, *model.metrics, counter, *_keras3_seeds()])

    def _find_outside(self, variables: Sequence[Any]) -> list[Any]:
        """The variables that are not the model's: in callbacks, and wherever its steps use some."""
        known = {id(one) for one in variables}
        inside = filter(is_of_a_library, find_inside(self._callbacks))
        of_callbacks = [one for one in variables_of(inside) if id(one) not in known]
        return [*of_callbacks, *find_captured(self._model, [*variables, *of_callbacks])]

    @functools.cached_property
    def _lost_in_steps(self) -> list[str]:
        return find_lost_in_steps(self._model)

    def _all_callbacks(self) -> list[Any]:
        history = getattr(self._model, "history", None)
        return [*self._callbacks, *([history] if history else [])]

    def _describe_start(self, record: Mapping[str, Any], lost: Sequence[str]) -> str:
        assert self.place
        without = f"; not restored: {_list_briefly(lost)}" if lost else ""
        saved = describe_age(record["time"])
        if record["ended"]:
            return f"skipping fit {self._number}, which had ended ({saved}){without}"
        which = f" fit {self._number}" if self._number > 1 else ""
        step = self.place.num_steps
        restarts = f"; {self._restarts}, and starts again" if self._restarts else ""
        return f"resuming{which} from step {step:,} ({saved}){restarts}{without}"


class FitCheckpoints:
    """The first callback of a `fit`, of whichever Keras: it restores, and takes checkpoints."""

    async_safe = True  # Keras 3 need not wait for us after each batch

    def __init__(
        self, fit: ResumableFit, place: Callable[[int], Place], is_between: Callable[[], bool]
    ) -> None:
        super().__init__()
        self._supports_tf_logs = True
        self._fit = fit
        self._place = place
        self._is_between = is_between

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Keras begins an epoch."""
        self._fit.begin_epoch(epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Keras ends an epoch."""
        self._fit.data.end_epoch(epoch)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Keras begins a step."""
        if self._is_between() and self._fit.is_due():
            self._fit.begin_step(self._place(batch))


def flatten_callbacks(callbacks: Any) -> list[Any]:
    """The callbacks in a list, in a list of lists, in Keras's own CallbackList."""
    callbacks = getattr(callbacks, "callbacks", callbacks)
    if isinstance(callbacks, list | tuple):
        return [one for part in callbacks for one in flatten_callbacks(part)]
    return [] if callbacks is None else [callbacks]


def _list_briefly(names: Sequence[str]) -> str:
    once = list(dict.fromkeys(names))
    more = len(once) - _NUM_NAMED
    return ", ".join(once[:_NUM_NAMED]) + (f" and {more} more" if more > 0 else "")


def _describe(model: Any, given: Mapping[str, Any]) -> str:
    """What is trained, and how: in another run of the same code the same text."""
    numbers = {name: given.get(name) for name in ("epochs", "steps_per_epoch", "initial_epoch")}
    texts = [f"{name}={value}" for name, value in numbers.items() if isinstance(value, int)]
    return ", ".join([type(model).__name__, type(model.optimizer).__name__, *texts])


def _keras3_seeds() -> list[Any]:
    """The variable that Keras 3 draws seeds from for whoever has none, if it was used."""
    state = sys.modules.get("keras.src.backend.common.global_state")
    seeds = state and state.get_global_attribute("global_seed_generator")
    return [seeds.state] if seeds else []
