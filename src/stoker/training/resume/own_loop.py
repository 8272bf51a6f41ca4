# SPDX-License-Identifier: Apache-2.0
"""Checkpoints for a training loop of the user's own."""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from stoker.errors import StokerError
from stoker.training.resume.checkpoints import Checkpoint
from stoker.training.resume.plain_values import Arrays, as_plain, from_plain
from stoker.training.resume.random_state import read_random_state, set_random_state
from stoker.training.resume.resume import Keeper
from stoker.training.resume.variables import (
    OtherVariables,
    read_variables,
    set_variables,
    variables_of,
)
from stoker.training.stopping import stop_wanted

__all__ = ["LoopCheckpoint"]


class LoopCheckpoint:
    """How far a loop is: `step` when it begins, and saved by `save_if_due` now and then."""

    def __init__(self, keeper: Keeper | None, objects: Mapping[str, Any]) -> None:
        self.step = 0
        """How many steps have been done: 0, or what an earlier run of the same work had saved."""
        self._keeper = keeper
        if keeper:
            _check_built(objects)
            self._variables = variables_of(objects.values())
            self._shelf = keeper.next_loop()
            if found := self._shelf.newest():
                self._restore(keeper, found)

    def save_if_due(self, step: int) -> None:
        """After `step` steps, save if it is time to; if the process is to stop, save and stop."""
        if self._keeper is None:
            return
        if time.perf_counter() >= self._keeper.pace.next or stop_wanted():
            self._save(self._keeper, int(step))
        if stop_wanted():
            raise KeyboardInterrupt

    def _save(self, keeper: Keeper, step: int) -> None:
        began = time.perf_counter()
        if not keeper.may_write(self._variables, now=began):
            return
        arrays: Arrays = read_variables(self._variables)
        record = {
            "time": datetime.now().isoformat(sep=" ", timespec="seconds"),
            "step": step,
            "random": as_plain(read_random_state(), arrays),
        }
        self._shelf.put(Checkpoint(record=record, arrays=arrays))
        keeper.pace.wrote(began=began, ended=time.perf_counter())

    def _restore(self, keeper: Keeper, found: Checkpoint) -> None:
        try:
            set_variables(self._variables, found.arrays)
        except OtherVariables as error:
            raise StokerError(
                f"The checkpoint in {keeper.folder} does not fit: {error}. The module built "
                "something else than last time. Start from the beginning with --fresh."
            ) from error
        set_random_state(from_plain(found.record["random"], dict(found.arrays)))
        self.step = int(found.record["step"])
        keeper.pace.begin(now=time.perf_counter())
        left = f"which a run left at {found.record['time']}"
        keeper.say("note", f"goes on from step {self.step:,}, {left}")


def _check_built(objects: Mapping[str, Any]) -> None:
    """Give the optimizer its variables, as its first step would; refuse what has none."""
    optimizers = [one for one in objects.values() if hasattr(one, "apply_gradients")]
    trained = [
        variable
        for one in objects.values()
        if one not in optimizers
        for variable in getattr(one, "trainable_variables", ())
    ]
    if len(optimizers) == 1 and trained and hasattr(optimizers[0], "build"):
        optimizers[0].build(trained)
    for name, one in objects.items():
        if not variables_of([one]):
            raise ValueError(
                f"stoker.checkpoint({name}=…) has no variables yet. Build it first: call the "
                "model once, or optimizer.build(model.trainable_variables)."
            )
