# SPDX-License-Identifier: Apache-2.0
"""Takes and restores the checkpoints of one `run_fn`: of every `fit`, and of custom loops."""

import contextlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from stoker.data.seeds import entropy, set_entropy
from stoker.errors import StokerError
from stoker.training.resume.checkpoints import (
    Checkpoint,
    CheckpointSchedule,
    CheckpointStore,
    draw_seed,
)
from stoker.training.resume.plain_values import Arrays, as_plain, from_plain
from stoker.training.resume.random_state import read_random_state, set_random_state
from stoker.training.resume.variables import (
    OtherVariables,
    num_bytes,
    read_variables,
    set_variables,
)
from stoker.training.stopping import is_stop_wanted

SECONDS = "STOKER_CHECKPOINT_SECONDS"


def prepare_to_resume(checkpoint_dir: str) -> None:
    """Let the module, which is about to be loaded, do what can be done again.

    Shuffles without a seed are those of the first attempt. A Dropout of Keras 2 draws from an op
    whose state nobody can read, unless it is told to have a generator; in a worker group it cannot.
    """
    set_entropy(draw_seed(checkpoint_dir))
    if "tf_keras" in sys.modules and "TF_CONFIG" not in os.environ:
        sys.modules["tf_keras"].backend.experimental.enable_tf_random_generator()


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
        self._writes = _is_chief()
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
            self.say("warning", f"a checkpoint is damaged: it is now {path}")
        if found is None:
            if store.set_aside:
                self.say("warning", "starts from the beginning, since its checkpoints are damaged")
            return None
        if found.record.get("entropy", entropy()) != entropy():
            lost = f"the seed in {self._folder} is not the one that it was made with"
            self.say("warning", f"starts from the beginning, since {lost}")
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
        if not (self._writes and allowed):
            return
        self.saved = False
        try:
            store.put(_take_checkpoint(variables, describe), at_the_end=at_the_end)
            self.saved = True
        except Exception as error:  # of a disk, or of the user's objects when they are looked at
            self._warn_of(error)
        self.schedule.wrote(began=began, ended=time.perf_counter())

    def stop_if_wanted(self, step: int) -> None:
        """End the training here if the process was asked to stop, and say how far it is."""
        if is_stop_wanted():
            if self.saved:
                self.say("note", f"is saved at step {step:,}")
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
