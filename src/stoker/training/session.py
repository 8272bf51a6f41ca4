# SPDX-License-Identifier: Apache-2.0
"""One training that is watched: what `fit` or a custom loop measured, to disk and to the runner."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from stoker.training.resume.checkpointer import Checkpointer
from stoker.training.run_log import RunLog
from stoker.user_code.fn_args import FnArgs

REPORT_SECONDS = 0.2


class Session:
    """Where all measurements of one training go."""

    def __init__(
        self,
        fn_args: FnArgs,
        report: Callable[[dict[str, Any]], None],
        checkpointer: Checkpointer | None = None,
    ) -> None:
        self.checkpointer = checkpointer
        self.log = RunLog(fn_args.model_run_dir) if fn_args.model_run_dir else None
        self.report = report
        self.last_step = 0
        """The highest step on disk; a second `fit` goes on counting from here."""
        self._num_steps = fn_args.train_steps
        self.gpu_checked = False
        self._first: tuple[float, int] | None = None
        self._reported = 0.0

    def write(
        self, *, split: str, step: int, epoch: int | None, metrics: Mapping[str, float]
    ) -> None:
        """Put the metrics of one step on disk."""
        self.last_step = max(self.last_step, step)
        if self.log:
            self.log.write(split=split, step=step, epoch=epoch, metrics=metrics)

    def log_step(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Take what a custom loop tells about one step."""
        values = numbers(metrics)
        self.write(split="train", step=step, epoch=None, metrics=values)
        now = time.monotonic()
        if now - self._reported < REPORT_SECONDS and step != self._num_steps:
            return
        self._reported = now
        first_time, first_step = self._first = self._first or (now, step)
        per_second = (step - first_step) / (now - first_time) if now > first_time else None
        left = max(0, self._num_steps - step) if self._num_steps else None
        self.report(
            {
                "kind": "progress",
                "step": step,
                "steps": self._num_steps,
                "metrics": values,
                "steps_per_second": per_second,
                "seconds_left": left / per_second if per_second and left is not None else None,
            }
        )

    def close(self) -> None:
        """Close the files, and hear signals as usual."""
        if self.checkpointer:
            self.checkpointer.signals.close()
        if self.log:
            self.log.close()


def numbers(metrics: Any) -> dict[str, float]:
    """The metrics that are single numbers; tensors are read, and waited for."""
    found = {}
    for name, value in _fetch(metrics).items():
        value = _fetch(value)
        if getattr(value, "shape", ()) in ((), (1,)):
            found[str(name)] = float(value)
    return found


def _fetch(value: Any) -> Any:
    """What a parameter server's worker is still computing has to be asked for."""
    return value.fetch() if hasattr(value, "fetch") else value
