# SPDX-License-Identifier: Apache-2.0
"""Checkpoints on disk, each one file that is written whole or not at all.

<checkpoint_dir>/<what>/00000012.npz    arrays, and as JSON the record that says what they are
<checkpoint_dir>/<what>/end.npz         the last one of a training that ended
<checkpoint_dir>/seed                   what shuffles without a seed of their own depend on

The last two are kept, so that a damaged one is not the only one. No pickle is written or read.
"""

import contextlib
import json
import os
import secrets
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stoker.storage.files import set_aside, write_whole
from stoker.storage.locks import hold_lock

Arrays = dict[str, np.ndarray]

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

    def wrote(self, *, began: float, ended: float) -> None:
        """A checkpoint was written in this time."""
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
