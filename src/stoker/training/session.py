# SPDX-License-Identifier: Apache-2.0
"""One training that is watched: what `fit` or a custom loop measured, to disk and to the runner."""

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stoker.any_python.launcher_link import report
from stoker.any_python.lines import say
from stoker.user_code.fn_args import FnArgs

if TYPE_CHECKING:  # they need NumPy, which those who only declare a pipeline do not
    from stoker.training.resume.checkpointer import Checkpointer
    from stoker.training.resume.custom_loop import LoopCheckpoint
    from stoker.training.run_log import RunLog

SWITCH = "STOKER_WATCH"
REPORT_SECONDS = 0.2


class Session:
    """Where all measurements of one training go."""

    def __init__(
        self,
        fn_args: FnArgs,
        report: Callable[[dict[str, Any]], None],
        checkpointer: "Checkpointer | None" = None,
    ) -> None:
        self.checkpointer = checkpointer
        self._log_dir = fn_args.model_run_dir
        self.report = report
        self.last_step = 0
        """The highest step on disk; a second `fit` goes on counting from here."""
        self._num_steps = fn_args.train_steps
        self.gpu_checked = False
        self._first: tuple[float, int] | None = None
        self._reported = 0.0

    @functools.cached_property
    def log(self) -> "RunLog | None":
        """The metrics on disk, from the first one on."""
        from stoker.training.run_log import RunLog

        def warn(text: str) -> None:
            self.report({"kind": "warning", "text": text})

        return RunLog(self._log_dir, warn) if self._log_dir else None

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
        if "log" in vars(self) and self.log:
            self.log.close()


@dataclass
class _State:
    """What this process is training now, and what watches it."""

    fn_args: FnArgs | None = None
    """Those of the training that runs now, watched or not."""
    session: Session | None = None
    has_said_so: bool = False


_state = _State()


@contextlib.contextmanager
def watch(
    fn_args: FnArgs,
    *,
    node: str = "",
    report: Callable[[dict[str, Any]], None] = report,
    enabled: bool = True,
) -> Iterator[None]:
    """Watch the training inside: `fit` of Keras, Estimators, and what `log_metrics` is told.

    `node` is the step's name. `enabled=False`, or the variable STOKER_WATCH=0, leaves everything as
    it is.
    """
    _state.fn_args = fn_args
    try:
        with contextlib.ExitStack() as changes:
            if enabled and os.environ.get(SWITCH) != "0":
                session = Session(fn_args, report, _make_checkpointer(fn_args, node, report))
                changes.callback(session.close)
                _state.session = session
                _watch_what_is_loaded(session, changes)
            yield
    finally:
        _state.fn_args = _state.session = None


def _watch_what_is_loaded(session: Session, changes: contextlib.ExitStack) -> None:
    if {"keras", "tf_keras"} & sys.modules.keys():
        from stoker.training.fit_progress import watch_fit

        changes.enter_context(watch_fit(session))
    if "tensorflow_estimator" in sys.modules:
        from stoker.training.estimator_progress import watch_estimators

        changes.enter_context(watch_estimators(session))


def _make_checkpointer(
    fn_args: FnArgs, node: str, report: Callable[[dict[str, Any]], None]
) -> "Checkpointer | None":
    from stoker.training.resume.checkpointer import Checkpointer

    def say(kind: str, text: str) -> None:
        report({"kind": kind, "node": node, "text": text})

    return Checkpointer(fn_args.checkpoint_dir, say=say) if fn_args.checkpoint_dir else None


def find_eval_files() -> list[str]:
    """The eval files of the training that runs in this process; none outside of one."""
    return (_state.fn_args and _state.fn_args.eval_files) or []


def checkpoint(fn_args: FnArgs, **objects: Any) -> "LoopCheckpoint":
    """Keep the state of a training loop of your own, so that it goes on after any crash.

        saved = stoker.checkpoint(fn_args, model=model, optimizer=optimizer)
        for step in range(saved.step, fn_args.train_steps):
            train_step(next(batches))
            saved.save_if_due(step + 1)

    The objects are whatever has variables of TensorFlow: models that are built, optimizers,
    metrics, tf.Variables. Where the data goes on is the loop's own business. Outside of a Trainer
    nothing is saved.
    """
    from stoker.training.resume.custom_loop import LoopCheckpoint

    session = _state.session if fn_args.checkpoint_dir else None
    return LoopCheckpoint(session.checkpointer if session else None, objects)


def log_metrics(step: int, metrics: Mapping[str, Any] | None = None, /, **named: Any) -> None:
    """Report the metrics of one step of a training loop of your own.

        stoker.log_metrics(step, loss=loss, accuracy=accuracy)

    They go where those of Keras's `fit` go: to the progress line, to `metrics.jsonl` and to
    TensorBoard, under `fn_args.model_run_dir`. Outside of a Trainer this does nothing.
    """
    if _state.session:
        _state.session.log_step(int(step), {**(metrics or {}), **named})
    elif not _state.fn_args and not _state.has_said_so:
        _state.has_said_so = True
        say(
            "stoker.log_metrics does nothing here: it reports from a run_fn that a Trainer runs.",
            error=True,
        )


def numbers(metrics: Any) -> dict[str, float]:
    """The metrics that are single numbers; tensors are read, and waited for."""
    found = {}
    for name, value in _fetch(metrics).items():
        value = _fetch(value)
        if getattr(value, "shape", ()) in ((), (1,)):
            with contextlib.suppress(TypeError, ValueError):  # what callbacks add may be anything
                found[str(name)] = float(value)
    return found


def _fetch(value: Any) -> Any:
    """What a parameter server's worker is still computing has to be asked for."""
    return value.fetch() if hasattr(value, "fetch") else value
