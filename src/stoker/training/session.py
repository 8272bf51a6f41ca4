# SPDX-License-Identifier: Apache-2.0
"""One training that is watched: what `fit` or a custom loop measured, to disk and to the runner."""

import contextlib
import functools
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stoker.any_python.launcher_link import report
from stoker.any_python.lines import say
from stoker.any_python.progress import REPORT_SECONDS
from stoker.errors import TrainingDiverged
from stoker.training.bad_loss import BadLoss, find_bad_loss
from stoker.user_code.fn_args import FnArgs

if TYPE_CHECKING:  # they need NumPy, which those who only declare a pipeline do not
    from stoker.training.resume.checkpoints import Checkpointer
    from stoker.training.resume.custom_loop import LoopCheckpoint
    from stoker.training.run_log import RunLog

SWITCH = "STOKER_WATCH"
_VALIDATION = "val_"


class Session:
    """Where all measurements of one training go."""

    def __init__(
        self,
        fn_args: FnArgs,
        report: Callable[[dict[str, Any]], None],
        checkpointer: "Checkpointer | None" = None,
        *,
        node: str = "",
        stop_on_nan: bool = False,
        steps_per_execution: int | None = None,
    ) -> None:
        self._node = node
        self.steps_per_execution = steps_per_execution
        """How many steps Keras does per call into TensorFlow; None: as many as pay."""
        self.checkpointer = checkpointer
        self._log_dir = fn_args.model_run_dir
        self._kept_in = fn_args.checkpoint_dir if checkpointer and checkpointer.writes else None
        self.rows_dir = fn_args.working_dir
        """Where a few rows of what is trained on are wanted; None once they are there."""
        self._stop_on_nan = stop_on_nan
        self.bad_loss: BadLoss | None = None
        """The first loss that was NaN or infinite."""
        self.report = report
        self.last_step = 0
        """The highest step on disk; a second `fit` goes on counting from here."""
        self._num_steps = fn_args.train_steps
        self.gpu_checked = False
        self._first: tuple[float, int] | None = None
        self._reported_at = -math.inf
        self._unreported: dict[str, Any] | None = None
        """The last step of a loop, if it came too soon after the one before."""

    @functools.cached_property
    def log(self) -> "RunLog | None":
        """The metrics on disk, from the first one on."""
        from stoker.training.run_log import RunLog

        def warn(text: str) -> None:
            self.report({"kind": "warning", "text": text})

        return RunLog(self._log_dir, warn, kept_in=self._kept_in) if self._log_dir else None

    def write(
        self,
        *,
        split: str,
        step: int,
        epoch: int | None,
        metrics: Mapping[str, float],
        series: str | None = None,
    ) -> None:
        """Put the metrics of one step on disk."""
        self.last_step = max(self.last_step, step)
        if self.log and metrics:
            self.log.write(split=split, step=step, epoch=epoch, metrics=metrics, series=series)

    def keep_before(self, step: int) -> None:
        """Keep the metrics of an earlier attempt up to this step, from where this one goes on."""
        if self.log:
            self.log.keep_before(step)

    def tell_bad_loss(self, bad: "BadLoss") -> None:
        """Tell of the first loss that is not finite, and end the training if that is wanted."""
        if self.bad_loss is None:
            self.bad_loss = bad
            self.report({"kind": "warning", "node": self._node, "text": str(bad)})
            self.end_if_diverged()

    def end_if_diverged(self) -> None:
        """Raise TrainingDiverged if a loss was not finite and the training is to end then."""
        if self.bad_loss and self._stop_on_nan:
            raise TrainingDiverged(
                f"Training was stopped: {self.bad_loss}. A smaller learning rate, clipped "
                "gradients or cleaner data often help; Trainer(stop_on_nan=False) trains on."
            )

    def log_step(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Take what a custom loop tells about one step."""
        values = numbers(metrics)
        train, validation = split_metrics(values)
        self.write(split="train", step=step, epoch=None, metrics=train)
        self.write(split="validation", step=step, epoch=None, metrics=validation)
        if self.bad_loss is None and (bad := find_bad_loss(values)):
            self.tell_bad_loss(BadLoss(name=bad[0], value=bad[1], step=step))
        now = time.monotonic()
        first_time, first_step = self._first = self._first or (now, step)
        per_second = (step - first_step) / (now - first_time) if now > first_time else None
        left = max(0, self._num_steps - step) if self._num_steps else None
        self._unreported = {
            "kind": "progress",
            "step": step,
            "steps": self._num_steps,
            "metrics": values,
            "steps_per_second": per_second,
            "seconds_left": left / per_second if per_second and left is not None else None,
        }
        if now - self._reported_at >= REPORT_SECONDS or step == self._num_steps:
            self._reported_at = now
            self.report_last_step()

    def report_last_step(self) -> None:
        """Report the last step that `log_step` was told of, unless that was done at once."""
        if self._unreported:
            self.report(self._unreported)
            self._unreported = None

    def close(self) -> None:
        """Report what is left, close the files, and hear signals as usual."""
        self.report_last_step()
        if self.checkpointer:
            self.checkpointer.signals.close()
        if "log" in vars(self) and self.log:
            self.log.close()


@dataclass
class _State:
    """What this process is training now, and what watches it."""

    fn_args: FnArgs | None = None
    """What the training that runs now was given, watched or not."""
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
    stop_on_nan: bool = False,
    steps_per_execution: int | None = None,
) -> Iterator[None]:
    """Watch the training inside: `fit` of Keras, Estimators, and what `log_metrics` is told.

    `node` is the step's name. `enabled=False`, or the variable STOKER_WATCH=0, leaves everything as
    it is. With `stop_on_nan`, TrainingDiverged ends a training whose loss is NaN or infinite.
    `steps_per_execution` is the number of steps per call into TensorFlow, instead of one that is
    found while training.
    """
    _state.fn_args = fn_args
    try:
        with contextlib.ExitStack() as changes:
            is_watched = enabled and os.environ.get(SWITCH) != "0"
            if stop_on_nan and not is_watched:
                text = f"nobody looks at its loss, with {SWITCH}=0: stop_on_nan stops nothing"
                report({"kind": "warning", "text": text})
            if is_watched:
                checkpointer = _make_checkpointer(fn_args, node, report)
                session = Session(
                    fn_args,
                    report,
                    checkpointer,
                    node=node,
                    stop_on_nan=stop_on_nan,
                    steps_per_execution=steps_per_execution,
                )
                changes.callback(session.close)
                _state.session = session
                _watch_what_is_loaded(session, changes)
            yield
            if _state.session:  # the module may have caught what was raised
                _state.session.end_if_diverged()
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
    from stoker.training.resume.checkpoints import Checkpointer

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
    saved = LoopCheckpoint(session.checkpointer if session else None, objects)
    if session and saved.step:
        session.keep_before(saved.step)
    return saved


def log_metrics(step: int, metrics: Mapping[str, Any] | None = None, /, **named: Any) -> None:
    """Report the metrics of one step of a training loop of your own.

        stoker.log_metrics(step, loss=loss, accuracy=accuracy)

    They go where those of Keras's `fit` go: to the progress line, to `metrics.jsonl` and to
    TensorBoard, under `fn_args.model_run_dir`; `val_loss=…` is the validation's loss. Outside of a
    Trainer this does nothing.
    """
    if _state.session:
        _state.session.log_step(int(step), {**(metrics or {}), **named})
    elif not _state.fn_args and not _state.has_said_so:
        _state.has_said_so = True
        say(
            "stoker.log_metrics does nothing here: it reports from a run_fn that a Trainer runs.",
            error=True,
        )


def split_metrics(metrics: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """The metrics of training and those of validation, which Keras marks with `val_`."""
    train = {name: value for name, value in metrics.items() if not name.startswith(_VALIDATION)}
    return train, {
        name.removeprefix(_VALIDATION): value
        for name, value in metrics.items()
        if name not in train
    }


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
