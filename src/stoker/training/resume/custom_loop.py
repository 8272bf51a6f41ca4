# SPDX-License-Identifier: Apache-2.0
"""Checkpoints for a custom training loop."""

from collections.abc import Mapping
from typing import Any

from stoker.any_python.forking import defer_stop
from stoker.training.resume.checkpoints import Checkpointer, describe_age
from stoker.training.resume.variables import variables_of


class LoopCheckpoint:
    """How far a loop is: `step` when it begins, and saved by `save_if_due` now and then."""

    def __init__(self, checkpointer: Checkpointer | None, objects: Mapping[str, Any]) -> None:
        self.step = 0
        """How many steps have been done: 0, or what an earlier run of the same work had saved."""
        self._checkpointer = checkpointer
        if checkpointer:
            _check_built(objects)
            self._variables = variables_of(objects.values())
            _, self._store = checkpointer.open_store("loop")
            checkpointer.signals.enter_context(defer_stop())  # from now on, it asks whether to stop
            self._restore(checkpointer)

    def save_if_due(self, step: int) -> None:
        """After `step` steps, save if it is time to; if the process is to stop, save and stop."""
        if self._checkpointer is None:
            return
        if self._checkpointer.is_due():
            self._checkpointer.save(self._store, self._variables, lambda _: {"step": int(step)})
        self._checkpointer.stop_if_wanted(step)

    def _restore(self, checkpointer: Checkpointer) -> None:
        if found := checkpointer.find(self._store):
            checkpointer.restore(found, self._variables)
            self.step = int(found.record["step"])
            saved = describe_age(found.record["time"])
            checkpointer.say("note", f"resuming from step {self.step:,} ({saved})")


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
