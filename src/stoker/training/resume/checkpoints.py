# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of one `run_fn`, of every `fit` and of custom loops: taken, kept on disk, restored.

<checkpoint_dir>/<what>/00000012.npz    arrays, and as JSON the record that says what they are
<checkpoint_dir>/<what>/end.npz         the last one of a training that ended
<checkpoint_dir>/seed                   what shuffles without a seed of their own depend on

Each is one file that is written whole or not at all. The last two are kept, so that a damaged one
is not the only one. No pickle is written or read.
"""

import contextlib
import json
import os
import secrets
import struct
import sys
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from stoker.any_python.forking import is_stop_wanted, note_saved_step
from stoker.any_python.surroundings import entropy, set_entropy
from stoker.errors import StokerError
from stoker.storage.files import set_aside, write_whole
from stoker.storage.locks import hold_lock
from stoker.training.resume.plain_values import Arrays, as_plain, from_plain
from stoker.training.resume.random_state import read_random_state, set_random_state
from stoker.training.resume.variables import (
    OtherVariables,
    num_bytes,
    read_variables,
    set_variables,
)

_RECORD = "record"
_SEED = "seed"
_END = "end.npz"
_NUM_KEPT = 2
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, json.JSONDecodeError, struct.error),
    *(ValueError, KeyError, EOFError, OSError, NotImplementedError, RuntimeError),
)
_SHARE = 0.015
"""Of the time of a training, what its checkpoints may take."""
_LEAST_SECONDS = 5.0
_GUESSED_SECONDS, _GUESSED_BYTES_PER_SECOND = 0.15, 2e8
SECONDS = "STOKER_CHECKPOINT_SECONDS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The state of a training: plain facts, and arrays by name."""

    record: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


class CheckpointStore:
    """The checkpoints of one training, oldest first."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.set_aside: list[str] = []
        """The new names of those that were damaged."""

    def newest(self) -> Checkpoint | None:
        """The newest checkpoint that is whole; None if there is none."""
        names = [name for name in (_END, *reversed(self._names())) if self._has(name)]
        return next(filter(None, map(self._read, names)), None)

    def put(self, checkpoint: Checkpoint, *, at_the_end: bool = False) -> None:
        """Keep a checkpoint, on the disk when this returns; older ones make room."""
        names = self._names()
        number = int(names[-1].partition(".")[0]) + 1 if names else 0
        self._write(_END if at_the_end else f"{number:08}.npz", checkpoint)
        for old in names if at_the_end else names[: 1 - _NUM_KEPT]:
            os.unlink(os.path.join(self._folder, old))

    def _names(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            found = os.listdir(self._folder)
            return sorted(name for name in found if name.endswith(".npz") and name != _END)
        return []

    def _has(self, name: str) -> bool:
        return os.path.exists(os.path.join(self._folder, name))

    def _write(self, name: str, checkpoint: Checkpoint) -> None:
        record = np.frombuffer(json.dumps(checkpoint.record).encode(), np.uint8)
        with write_whole(os.path.join(self._folder, name)) as file:
            np.savez(file, allow_pickle=False, **{_RECORD: record, **checkpoint.arrays})

    def _read(self, name: str) -> Checkpoint | None:
        path = os.path.join(self._folder, name)
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as found:
                arrays = {key: found[key] for key in found.files}
            return Checkpoint(record=json.loads(arrays.pop(_RECORD).tobytes()), arrays=arrays)
        except _DAMAGE:  # which zip's own checksums tell: the one before it will do
            with contextlib.suppress(FileNotFoundError):  # another worker was faster
                self.set_aside.append(set_aside(path))
            return None


class CheckpointSchedule:
    """When the next checkpoint is due: so seldom that all of them cost little.

    `seconds` is a fixed time between two of them; without it, it follows from what one costs.
    """

    def __init__(self, seconds: float | None, *, now: float) -> None:
        self._seconds = seconds
        self._is_guessed = seconds is None
        self.begin(now=now)

    def begin(self, *, now: float) -> None:
        """Nothing is lost if the training is stopped now."""
        self._began = now
        self.next = now + (_LEAST_SECONDS if self._seconds is None else self._seconds)

    def allows(self, num_bytes: int, *, now: float) -> bool:
        """Whether one of this size may be written; of the first, the cost is a guess."""
        if self._is_guessed:
            cost = _GUESSED_SECONDS + num_bytes / _GUESSED_BYTES_PER_SECOND
            self.next = max(self.next, self._began + cost / _SHARE)
        return now >= self.next

    def note_written(self, *, began: float, ended: float) -> None:
        """Note that a checkpoint was written, and how long that took."""
        self._is_guessed = False
        seldom = max(_LEAST_SECONDS, (ended - began) / _SHARE)
        self.next = ended + (seldom if self._seconds is None else self._seconds)


def draw_seed(checkpoint_dir: str) -> int:
    """A seed that is drawn once, and is the same in every process and run that asks.

    One that was damaged is drawn again: checkpoints say which one they were made with.
    """
    path = os.path.join(checkpoint_dir, _SEED)
    os.makedirs(checkpoint_dir, exist_ok=True)
    with hold_lock(f"{path}.lock"):
        seed = _read_seed(path)
        if seed is None:
            seed = secrets.randbits(63)
            with write_whole(path) as file:
                file.write(str(seed).encode())
    return seed


def _read_seed(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        set_aside(path)
        return None


def prepare_to_resume(checkpoint_dir: str) -> None:
    """Let the module, which is about to be loaded, do what can be done again.

    Shuffles without a seed are those of the first attempt. A Dropout of Keras 2 draws from an op
    whose state nobody can read, unless it is told to have a generator; in a worker group it cannot.
    """
    set_entropy(draw_seed(checkpoint_dir))
    if "tf_keras" in sys.modules and "TF_CONFIG" not in os.environ:
        sys.modules["tf_keras"].backend.experimental.enable_tf_random_generator()


def describe_age(saved_at: str) -> str:
    """When a checkpoint was saved: by the clock if that was today, else with the date."""
    date, _, clock = saved_at[:16].partition(" ")
    is_of_today = date == datetime.now().date().isoformat()
    return f"checkpoint of {clock if is_of_today else f'{date} {clock}'}"


class Checkpointer:
    """Keeps what `run_fn` does: a store for every `fit` and loop, in the order of calls."""

    def __init__(self, folder: str, *, say: Callable[[str, str], None]) -> None:
        seconds = os.environ.get(SECONDS)
        self.say = say
        self.schedule = CheckpointSchedule(
            float(seconds) if seconds else None, now=time.perf_counter()
        )
        self.signals = contextlib.ExitStack()
        self.is_busy = False
        """Whether a `fit` is kept now: one inside of another is a part of that."""
        self.saved = False
        """Whether the last checkpoint that was due is on the disk."""
        self._folder = folder
        self.writes = _is_chief()
        """Whether this process is the one of its worker group that writes."""
        self._has_warned = False
        self._num_stores: Counter[str] = Counter()

    def open_store(self, kind: str) -> tuple[int, CheckpointStore]:
        """The store of the next `fit` or loop, and its number."""
        self._num_stores[kind] += 1
        number = self._num_stores[kind]
        return number, CheckpointStore(os.path.join(self._folder, f"{kind}-{number}"))

    def find(self, store: CheckpointStore) -> Checkpoint | None:
        """The newest checkpoint, unless another shuffle made it; that one is damaged is said."""
        found = store.newest()
        for path in store.set_aside:
            self.say("warning", f"a checkpoint is damaged, and was renamed to {path}")
        if found is None:
            if store.set_aside:
                self.say("warning", "starting from the beginning: its checkpoints are damaged")
            return None
        if found.record.get("entropy", entropy()) != entropy():
            lost = f"the seed in {self._folder} is not the one that it was made with"
            self.say("warning", f"starting from the beginning: {lost}")
            return None
        return found

    def is_due(self) -> bool:
        """Whether it is time to save, or to stop."""
        return time.perf_counter() >= self.schedule.next or is_stop_wanted()

    def save(
        self,
        store: CheckpointStore,
        variables: Sequence[Any],
        describe: Callable[[Arrays], Mapping[str, Any]],
        *,
        at_the_end: bool = False,
    ) -> None:
        """Save if this process is the one to write, and now is the time for so much.

        `describe` gives what else there is to keep; its arrays it adds to those it is given.
        """
        began = time.perf_counter()
        allowed = is_stop_wanted() or self.schedule.allows(num_bytes(variables), now=began)
        if not (self.writes and allowed):
            return
        self.saved = False
        try:
            store.put(_take_checkpoint(variables, describe), at_the_end=at_the_end)
            self.saved = True
        except Exception as error:  # of a disk, or of the user's objects when they are looked at
            self._warn_of(error)
        self.schedule.note_written(began=began, ended=time.perf_counter())

    def stop_if_wanted(self, step: int) -> None:
        """End the training here if the process was asked to stop, and note how far it is."""
        if is_stop_wanted():
            if self.saved:
                note_saved_step(step)
            raise KeyboardInterrupt

    def _warn_of(self, error: Exception) -> None:
        """Say once that a checkpoint could not be written: no training need end because of it."""
        if not self._has_warned:
            self._has_warned = True
            why = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            self.say(
                "warning",
                f"a checkpoint could not be written to {self._folder}: {why}. Training goes on; if "
                "it is stopped, it starts again from the last one that could be.",
            )

    def restore(self, found: Checkpoint, variables: Sequence[Any]) -> None:
        """Give variables and all random generators the state of the checkpoint."""
        try:
            set_variables(variables, found.arrays)
        except OtherVariables as error:
            raise StokerError(
                f"The checkpoint in {self._folder} does not fit: {error}. The module built "
                "something else than last time. Start from the beginning with --fresh."
            ) from error
        set_random_state(from_plain(found.record["random"], found.arrays))
        self.schedule.begin(now=time.perf_counter())


def _take_checkpoint(
    variables: Sequence[Any], describe: Callable[[Arrays], Mapping[str, Any]]
) -> Checkpoint:
    arrays: Arrays = read_variables(variables)
    record = {
        "time": datetime.now().isoformat(sep=" ", timespec="seconds"),
        "entropy": entropy(),
        "random": as_plain(read_random_state(), arrays),
        **describe(arrays),
    }
    return Checkpoint(record=record, arrays=arrays)


def _is_chief() -> bool:
    """Whether this process is the one of its worker group that writes; one alone is."""
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    roles, task = config.get("cluster") or {}, config.get("task") or {}
    first = next((role for role in ("chief", "master", "worker") if role in roles), None)
    return not roles or (task.get("type"), int(task.get("index", 0))) == (first, 0)
