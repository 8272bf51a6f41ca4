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
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from stoker.data.seeds import set_entropy
from stoker.errors import StokerError
from stoker.training.resume.callback_state import read_callbacks, set_callbacks
from stoker.training.resume.checkpoints import Checkpoint, Pace, Shelf, seed_in
from stoker.training.resume.data_position import DataPasses, from_batch, why_it_restarts
from stoker.training.resume.fit_loops import FitLoop, Start, fit_loop
from stoker.training.resume.plain_values import Arrays, as_plain, from_plain
from stoker.training.resume.random_state import read_random_state, set_random_state
from stoker.training.resume.variables import (
    OtherVariables,
    num_bytes,
    read_variables,
    set_variables,
    variables_of,
)
from stoker.training.stopping import deferred, stop_wanted
from stoker.user_code.fingerprint import loaded_files

__all__ = ["SECONDS", "FitHadEnded", "FitKeeper", "Keeper", "KeptFit", "Place", "prepare_to_resume"]

SECONDS = "STOKER_CHECKPOINT_SECONDS"


def prepare_to_resume(checkpoint_dir: str) -> None:
    """Let the module, which is about to be loaded, do what can be done again.

    Shuffles without a seed are those of the first attempt. A Dropout of Keras 2 draws from an op
    whose state nobody can read, unless it is told to have a generator; in a group it cannot.
    """
    set_entropy(seed_in(checkpoint_dir))
    if "tf_keras" in sys.modules and "TF_CONFIG" not in os.environ:
        sys.modules["tf_keras"].backend.experimental.enable_tf_random_generator()


class FitHadEnded(Exception):
    """Leaves a `fit` whose end has been restored."""


class Keeper:
    """Keeps what `run_fn` does in checkpoints: for every `fit` a shelf, in the order of calls."""

    def __init__(self, folder: str, *, say: Callable[[str, str], None]) -> None:
        seconds = os.environ.get(SECONDS)
        self.folder = folder
        self._writes = _is_chief()
        self.say = say
        self.pace = Pace(float(seconds) if seconds else None, now=time.perf_counter())
        self.signals = contextlib.ExitStack()
        self._num_fits = 0
        self._num_loops = 0
        self._is_in_fit = False

    @contextlib.contextmanager
    def fit(self, version: int, model: Any, given: Mapping[str, Any]) -> "Iterator[KeptFit | None]":
        """Keep the `fit` that is called inside with these arguments; None if that cannot be."""
        if self._is_in_fit or not _can_be_kept(version, model, given):
            yield None
            return
        self._num_fits += 1
        self._is_in_fit = True
        kept = KeptFit(self, self._num_fits, model, given)
        try:
            with deferred(), fit_loop(version, kept.start) as kept.loops:
                yield kept
        finally:
            self._is_in_fit = False
            kept.data.rewind()

    def may_write(self, variables: Sequence[Any], *, now: float) -> bool:
        """Whether this process is the one to write, and now is the time for so much."""
        size = num_bytes(variables)
        return self._writes and (stop_wanted() or self.pace.allows(size, now=now))

    def next_loop(self) -> Shelf:
        """The shelf of a loop of the user's own, which asks from now on whether to stop."""
        self._num_loops += 1
        self.signals.enter_context(deferred())
        return Shelf(os.path.join(self.folder, f"loop-{self._num_loops}"))

    @functools.cached_property
    def files(self) -> dict[str, str]:
        """The user's own files that were loaded, with their digests."""
        return {path: _digest(path) for path in loaded_files()}


def _can_be_kept(version: int, model: Any, given: Mapping[str, Any]) -> bool:
    if version == 3:
        import keras

        if keras.config.backend() != "tensorflow":
            return False
    # The trials of a search inside of the module are KerasTuner's to remember, and the variables
    # of parameter servers are theirs.
    is_trial = any(
        type(one).__module__.startswith("keras_tuner") for one in _flat(given.get("callbacks"))
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


class KeptFit:
    """One call of `fit`: where it begins, and what is saved of it."""

    def __init__(self, keeper: Keeper, number: int, model: Any, given: Mapping[str, Any]) -> None:
        self.loops: list[FitLoop] = []
        self._keeper = keeper
        self._number = number
        self._model = model
        self._given = given
        self._callbacks = _flat(given.get("callbacks"))
        self._what = _description(model, given)
        self._restarts = why_it_restarts(given.get("x"))
        self.data = DataPasses(given)
        self._shelf = Shelf(os.path.join(keeper.folder, f"fit-{number}"))
        self._found = self._find()
        self.place = Place(**self._found.record["place"]) if self._found else None
        self.start = self._start(self.place) if self.place else None

    def _find(self) -> Checkpoint | None:
        """The checkpoint to go on from, unless it is one of something else."""
        found = self._shelf.newest()
        if found is None:
            return None
        then = found.record["files"]
        why_not = [f"{path} has changed" for path in then if _digest(path) != then[path]]
        if found.record["what"] != self._what:
            why_not.append(f"fit {self._number} was another one ({found.record['what']})")
        if why_not:
            self._keeper.say("warning", f"starts from the beginning, since {why_not[0]}")
        return None if why_not else found

    def _start(self, place: Place) -> Start:
        data = self._given.get("x")
        position = 0 if self._restarts else place.position
        if position:
            data = from_batch(data, position)
        return Start(step=place.step, position=position, epoch_steps=place.epoch_steps, data=data)

    # What the callback tells

    def begin_epoch(self, epoch: int) -> None:
        """An epoch begins; if there is something to restore, every variable has to be there."""
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
        soon = time.perf_counter() >= self._keeper.pace.next
        return soon or stop_wanted() or self._found is not None

    def begin_step(self, place: Place) -> None:
        """Before a step, restore what there is to restore; else save."""
        for loop in self.loops:
            if self._found:
                self._restore(self._found)
            elif place.num_steps:
                here = loop.position(place.step), loop.epoch_steps()
                self._save(replace(place, position=here[0], epoch_steps=here[1]), ended=False)
        if stop_wanted():
            raise KeyboardInterrupt

    def end(self, place: Place) -> None:
        """`fit` has ended, and that is worth a checkpoint if one is due."""
        if self.loops and self.is_due():
            self._save(place, ended=True)
        if stop_wanted():
            raise KeyboardInterrupt

    # What is saved and restored

    def _save(self, place: Place, *, ended: bool) -> None:
        began = time.perf_counter()
        variables = self._variables()
        if not self._keeper.may_write(variables, now=began):
            return
        arrays: Arrays = read_variables(variables)
        record = {
            "what": self._what,
            "files": self._keeper.files,
            "time": datetime.now().isoformat(sep=" ", timespec="seconds"),
            "ended": ended,
            "place": asdict(place),
            "callbacks": read_callbacks(self._all_callbacks(), arrays),
            "random": as_plain(read_random_state(), arrays),
        }
        self._shelf.put(Checkpoint(record=record, arrays=arrays), at_the_end=ended)
        self._keeper.pace.wrote(began=began, ended=time.perf_counter())

    def _restore(self, found: Checkpoint) -> None:
        """Give the model, its callbacks and all random generators the state of the checkpoint."""
        self._found = None
        arrays = dict(found.arrays)
        try:
            set_variables(self._variables(), arrays)
        except OtherVariables as error:
            raise StokerError(
                f"The checkpoint in {self._keeper.folder} does not fit the model: {error}. The "
                "module built another one than last time. Start from the beginning with --fresh."
            ) from error
        set_callbacks(self._all_callbacks(), found.record["callbacks"], arrays)
        set_random_state(from_plain(found.record["random"], arrays))
        self._keeper.pace.begin(now=time.perf_counter())
        self._keeper.say("note", self._how_it_goes_on(found.record))

    def _variables(self) -> list[Any]:
        model = self._model
        of_callbacks = [value for one in self._callbacks for value in vars(one).values()]
        counter = getattr(model, "_train_counter", None)  # which Keras 2 keeps out of checkpoints
        return variables_of(
            [model, model.optimizer, *model.metrics, counter, *of_callbacks, *_keras3_seeds()]
        )

    def _all_callbacks(self) -> list[Any]:
        history = getattr(self._model, "history", None)
        return [*self._callbacks, *([history] if history else [])]

    def _how_it_goes_on(self, record: Mapping[str, Any]) -> str:
        assert self.place
        if record["ended"]:
            return f"fit {self._number} is not done again: a run ended it at {record['time']}"
        which = f"fit {self._number} " if self._number > 1 else ""
        step = self.place.num_steps
        restarts = f"; {self._restarts}, and starts again" if self._restarts else ""
        return f"{which}goes on from step {step:,}, which a run left at {record['time']}{restarts}"


class FitKeeper:
    """What the first callback of a kept `fit` does, whichever Keras calls it."""

    async_safe = True  # Keras 3 need not wait for us after each batch

    def __init__(self, kept: KeptFit, place: Callable[[int], Place]) -> None:
        super().__init__()
        self._supports_tf_logs = True
        self._kept = kept
        self._place = place

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Keras begins an epoch."""
        self._kept.begin_epoch(epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Keras ends an epoch."""
        self._kept.data.end_epoch(epoch)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Keras begins a step."""
        if self._kept.is_due():
            self._kept.begin_step(self._place(batch))


def _is_chief() -> bool:
    """Whether this process is the one of its worker group that writes; one alone is."""
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    roles, task = config.get("cluster") or {}, config.get("task") or {}
    first = next((role for role in ("chief", "master", "worker") if role in roles), None)
    return not roles or (task.get("type"), int(task.get("index", 0))) == (first, 0)


def _flat(callbacks: Any) -> list[Any]:
    """The callbacks in a list, in a list of lists, in Keras's own CallbackList."""
    callbacks = getattr(callbacks, "callbacks", callbacks)
    if isinstance(callbacks, list | tuple):
        return [one for part in callbacks for one in _flat(part)]
    return [] if callbacks is None else [callbacks]


def _description(model: Any, given: Mapping[str, Any]) -> str:
    """What is trained, and how: in another run of the same code the same text."""
    numbers = {name: given.get(name) for name in ("epochs", "steps_per_epoch", "initial_epoch")}
    told = [f"{name}={value}" for name, value in numbers.items() if isinstance(value, int)]
    return ", ".join([type(model).__name__, type(model.optimizer).__name__, *told])


def _keras3_seeds() -> list[Any]:
    """The variable that Keras 3 draws seeds from for whoever has none, if it was used."""
    state = sys.modules.get("keras.src.backend.common.global_state")
    seeds = state and state.get_global_attribute("global_seed_generator")
    return [seeds.state] if seeds else []


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""
