# SPDX-License-Identifier: Apache-2.0
"""The progress of every `fit` of Keras 2 and Keras 3 in this process, measured by a callback.

The callback looks at the clock before each step, and at the metrics only a few times a second, so
that a model of thousands of steps a second trains as fast as without it. Some batches become points
of the curve: one a second, and more at the beginning, so that a short training has a curve too.
"""

import contextlib
import functools
import inspect
import itertools
import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from typing import Any

from stoker.any_python.layout import ROWS_FILE
from stoker.any_python.progress import REPORT_SECONDS
from stoker.patches.fit import add_callbacks
from stoker.training.bad_loss import BadLoss, find_bad_loss
from stoker.training.batch_values import BatchValues, Sums
from stoker.training.executions import Executions
from stoker.training.fit_data import describe_batch, is_endless, save_rows, take_rows
from stoker.training.gpu import idle_gpu
from stoker.training.input_end import end_aside
from stoker.training.input_wait import InputWait
from stoker.training.one_by_one import EvaluateExecutions, make_executions
from stoker.training.resume.resumable_fit import (
    KERAS,
    FitCheckpoints,
    FitHadEnded,
    Place,
    flatten_callbacks,
    resume_fit,
)
from stoker.training.session import Session, numbers, split_metrics

_POINT_SECONDS = 1.0
_STEPS_GROW_BY = 1.2
"""From one point to the next, where a second has not passed."""
_NUM_REMEMBERED = 1 << 16
_WAIT_SECONDS = 0.5
_NUM_MARKS = 8


def watch_fit(session: Session) -> contextlib.ExitStack:
    """Tell `session` about every `fit` of the Keras that is loaded, until this is closed."""
    undo = contextlib.ExitStack()
    for version, name in {2: "tf_keras", 3: "keras"}.items():
        keras = sys.modules.get(name)
        if keras and keras.__name__ == name:  # with Keras 2, `keras` is another name of tf_keras
            wrap = functools.partial(_watch, version=version, session=session)
            undo.enter_context(KERAS[version].wrap_fit(wrap))
            speed_up = functools.partial(_speed_up, session=session)
            undo.enter_context(KERAS[version].wrap_evaluate(speed_up))
    return undo


def _watch(
    fit: Callable[..., Any], keras: Any, *, version: int, session: Session
) -> Callable[..., Any]:
    signature = inspect.signature(fit)

    @functools.wraps(fit)
    def fit_and_report(model: Any, *args: Any, **kwargs: Any) -> Any:
        call = signature.bind(model, *args, **kwargs)
        _make_steps_whole(call.arguments)
        given = call.arguments.get("callbacks")
        progress = _make_callback(keras, _FitProgress, session, call.arguments)
        _leave_room(session, given)
        with resume_fit(session.checkpointer, version, model, call.arguments) as resumable:
            first = []
            if resumable:
                progress.follows_passes = True
                progress.go_on_from(resumable.place)
                first = [
                    _make_callback(
                        keras, FitCheckpoints, resumable, progress.place, progress.is_between
                    )
                ]
            callbacks = add_callbacks(keras, model, given, first=first, last=[progress])
            # Keras's own bar would be a second one; who asks for it still gets it.
            call.arguments = {"verbose": 0, **call.arguments, "callbacks": callbacks}
            if resumable and resumable.place:
                call.arguments["initial_epoch"] = resumable.place.epoch
            try:
                history = fit(*call.args, **call.kwargs)
                if resumable:
                    resumable.end(progress.place(0))
            except FitHadEnded:
                history = model.history
            finally:
                progress.let_go()
            _note_rows(session, call.arguments.get("x"))
            return history

    return fit_and_report


def _speed_up(evaluate: Callable[..., Any], keras: Any, *, session: Session) -> Callable[..., Any]:
    signature = inspect.signature(evaluate)

    @functools.wraps(evaluate)
    def evaluate_fast(model: Any, *args: Any, **kwargs: Any) -> Any:
        if "_use_cached_eval_dataset" in kwargs:  # the validation of a fit, which sees to it itself
            return evaluate(model, *args, **kwargs)
        call = signature.bind(model, *args, **kwargs)
        _make_steps_whole(call.arguments)
        fixed = session.steps_per_execution
        ours = _make_callback(keras, EvaluateExecutions, call.arguments, fixed)
        given = call.arguments.get("callbacks")
        if not isinstance(given, keras.callbacks.CallbackList):
            call.arguments["callbacks"] = add_callbacks(keras, model, given, last=[ours])
        try:
            return evaluate(*call.args, **call.kwargs)
        finally:
            ours.let_go()

    return evaluate_fast


def _make_steps_whole(arguments: dict[str, Any]) -> None:
    """Ask for the number of steps that Keras 2 does: of `size / batch_size`, also the begun one."""
    for name in ("steps_per_epoch", "validation_steps", "steps"):
        if isinstance(num_steps := arguments.get(name), Real):
            arguments[name] = math.ceil(num_steps)


def _note_rows(session: Session, data: Any) -> None:
    """Leave a few rows of the first `fit` for the check of the model."""
    folder, session.rows_dir = session.rows_dir, None
    if not folder:
        return
    try:
        if rows := take_rows(data):
            save_rows(os.path.join(folder, ROWS_FILE), rows)
    except Exception as error:  # data is made of anything, and no training fails because of a check
        why = f"{type(error).__name__}: {error}".partition("\n")[0]
        text = f"no rows of fit's data could be kept for the model check: {why}"
        session.report({"kind": "note", "text": text})


def _leave_room(session: Session, callbacks: Any) -> None:
    for one in flatten_callbacks(callbacks):
        if session.log and type(one).__name__ == "TensorBoard":
            session.log.leave_room_for(str(one.log_dir))


def _make_callback(keras: Any, kind: type[Any], *arguments: Any) -> Any:
    # Keras 2 times the batch hooks of classes whose names it does not know, and complains about
    # them when batches are short; `Callback` is one that it knows.
    return type("Callback", (kind, keras.callbacks.Callback), {"keras": keras})(*arguments)


class _FitProgress:
    """The callback that measures a `fit`, of whichever Keras.

    Keras 3 may call `on_train_batch_end` from other threads, and late: all measuring is therefore
    done before the next batch, on the thread that trains.
    """

    keras: Any
    model: Any
    params: dict[str, Any]
    async_safe = True  # Keras 3 need not wait for us after each batch

    def __init__(self, session: Session, given: Mapping[str, Any]) -> None:
        super().__init__()
        # Keras 2 need not turn the metrics of every batch into numbers for us; it says False itself
        # when a callback is made.
        self._supports_tf_logs = True
        self._session = session
        self._given = dict(given)
        self.follows_passes = False
        """Whether each epoch surely reads the pass over the data of its own number."""
        self._batch_size: int | None = given.get("batch_size")
        self._first_epoch: int = given.get("initial_epoch") or 0
        self._offset = session.last_step
        self._steps_before = 0
        self._steps_skipped = 0
        self._epoch = self._first_epoch
        self._in_training = False
        self._ended: Iterator[int] = itertools.count()
        self._recent: deque[tuple[int, Any]] = deque(maxlen=_NUM_REMEMBERED)
        """What Keras told after the steps since the last look: the last of them, and its logs."""
        self._values: BatchValues | None = None
        self._before: Sums | None = None
        """What the metrics had summed up before the step that becomes a point of the curve."""
        self._next_report = 0.0
        self._next_point = 0.0
        self._next_step = 0.0
        self._first_mark: tuple[float, int] | None = None
        self._marks: deque[tuple[float, int]] = deque(maxlen=_NUM_MARKS)
        self._wait: InputWait | None = None
        self._wait_mark: tuple[float, int] | None = None
        self._train_function: Any = None
        self._measured: dict[str, Any] = {}
        self._steps: Executions | None = None
        self._validation_steps: Executions | None = None

    # What Keras calls

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        self._steps = self._make_executions("train", self._given.get("x"))
        self._steps.begin()
        self._begin_steps()  # to restore a checkpoint, one is done before the first epoch

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._epoch = epoch
        self._in_training = True
        self._ended = itertools.count()
        self._recent.clear()
        self._before = None
        self._marks.clear()
        self._wait = self._wait_mark = None
        self._values = self._values or BatchValues(self.keras, self.model)
        self._look_at_iterator()
        self._begin_steps()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        if not self.is_between():
            return
        now = time.perf_counter()
        if self._before is not None:
            self._end_point(batch)
        if now >= self._next_report and batch and self._recent:
            self._sample(batch)
        if now >= self._next_point or self._steps_before + batch >= self._next_step:
            self._begin_point(batch)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        next(self._ended)
        self._recent.append((batch + 1, logs))

    def on_test_begin(self, logs: Any = None) -> None:  # noqa: ARG002
        if self._in_training:
            self._end_training_part()
            self._report(self._steps_before, phase="validation")
        data = self._given.get("validation_data")
        data = data[0] if isinstance(data, list | tuple) else data
        data = self._given.get("x") if data is None else data
        if self._validation_steps is None:
            self._validation_steps = self._make_executions("test", data)
        num_steps = self._given.get("validation_steps")
        self._validation_steps.begin()
        self._validation_steps.begin_epoch(num_steps, may_end=not is_endless(data))

    def on_test_end(self, logs: Any = None) -> None:  # noqa: ARG002
        if self._validation_steps:
            self._validation_steps.end()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._end_training_part()
        found = numbers(logs or {})
        train, validation = split_metrics(found)
        self._write("train", self._steps_before, train, series="train_epochs")
        self._write("validation", self._steps_before, validation)
        if self._session.log:
            self._session.log.flush()
        self._measured["metrics"] = found
        self._report(self._steps_before, epoch_end=True)
        if bad := find_bad_loss({name: found[name] for name in found if name not in train}):
            place = f"in the validation after epoch {self._epoch + 1}"
            self._tell_bad_loss(*bad, self._steps_before, place=place)

    def on_train_end(self, logs: Any = None) -> None:  # noqa: ARG002
        self._report(self._steps_before, done=True)

    # Where it is

    def is_between(self) -> bool:
        """Whether Keras asks for the next step with none done ahead of it."""
        return not (self._steps and self._steps.kept)

    def place(self, step: int) -> Place:
        """Before a step of the epoch, where that is."""
        return Place(
            epoch=self._epoch,
            step=step,
            steps_before=self._steps_before,
            last_step=self._session.last_step,
        )

    def go_on_from(self, place: Place | None) -> None:
        """Count as if the steps before this place had been seen."""
        if place:
            self._epoch, self._steps_before = place.epoch, place.steps_before
            self._steps_skipped = place.step
            self._session.last_step = max(self._session.last_step, place.last_step)
            self._session.keep_before(self._offset + place.num_steps)

    # What it measures

    def _sample(self, batch: int) -> None:
        """Measure after `batch` steps of this epoch."""
        now, step = time.perf_counter(), self._steps_before + batch
        self._next_report = now + REPORT_SECONDS
        self._first_mark = self._first_mark or (now, step)
        self._marks.append((now, step))
        self._measured["metrics"] = self._look_at_losses()
        self._measured["steps_per_second"] = _rate(self._marks[0], self._marks[-1])
        if self._wait_mark is None or now - self._wait_mark[0] >= _WAIT_SECONDS:
            self._measure_wait(now, step)
        self._report(step)

    def _begin_point(self, batch: int) -> None:
        """The step that begins after `batch` others becomes a point of the curve."""
        assert self._values
        if self._steps:
            self._steps.do_only_one()
        self._before = self._values.read_sums(*self._find_last_told(batch))

    def _end_point(self, batch: int) -> None:
        """After `batch` steps of the epoch, write what the last one added to the metrics."""
        assert self._values
        assert self._before is not None
        told, logs = self._find_last_told(batch)
        after = self._values.read_sums(told, logs)
        values = self._values.values_between(self._before, after, logs if told == batch else None)
        step, self._before = self._steps_before + batch, None
        self._next_point = time.perf_counter() + _POINT_SECONDS
        self._next_step = step * _STEPS_GROW_BY
        self._measured["examples_per_step"] = self._examples_per_step(after, batch)
        self._write("train", step, values)
        self._check_gpu()

    def _find_last_told(self, batch: int) -> tuple[int, Any]:
        """The number of steps that Keras told of last, and what it told."""
        return self._recent[-1] if self._recent else (batch, None)

    def _look_at_losses(self) -> dict[str, float]:
        """The metrics of the epoch so far; if a loss among them is bad, find where that began."""
        metrics = numbers(self._recent[-1][1])
        if self._session.bad_loss is None and find_bad_loss(metrics):
            # The mean of an epoch is bad from its first bad batch on.
            for batch, logs in sorted(self._recent, key=lambda one: one[0]):
                if bad := find_bad_loss(numbers(logs)):
                    place = self._describe_batch(batch)
                    step, num_steps = self._steps_before + batch, self._steps_per_call()
                    self._tell_bad_loss(*bad, step, place=place, num_steps=num_steps)
                    break
        while len(self._recent) > 1:
            self._recent.popleft()
        return metrics

    def _describe_batch(self, batch: int) -> str:
        return describe_batch(
            self._given,
            epoch=self._epoch,
            batch=batch,
            steps_before=self._steps_before,
            knows_pass=self.follows_passes,
        )

    def _tell_bad_loss(
        self, name: str, value: float, step: int, *, place: str, num_steps: int = 1
    ) -> None:
        step += self._offset
        self._session.tell_bad_loss(
            BadLoss(name=name, value=value, step=step, num_steps=num_steps, place=place)
        )

    def _measure_wait(self, now: float, step: int) -> None:
        if self._wait and self._wait_mark:
            then, step_then = self._wait_mark
            self._measured["waiting"] = self._wait.share(step - step_then, now - then)
        self._wait_mark = (now, step)

    def _examples_per_step(self, sums: Sums, batch: int) -> float | None:
        """From the loss, which Keras averages over examples; a loss of the user's own counts 1."""
        _, num_examples = sums.get("loss", (0.0, 0.0))
        per_step = num_examples / batch if batch else 0.0
        return per_step if per_step > 1.0 else self._batch_size

    def _steps_per_call(self) -> int:
        per_call = self.model.steps_per_execution  # a number with Keras 3, a variable with Keras 2
        return int(getattr(per_call, "numpy", lambda: per_call)())

    def _end_training_part(self) -> None:
        """Once per epoch, before validation, count the steps that it had."""
        if not self._in_training:
            return
        self._in_training = False
        num_steps = next(self._ended) * self._steps_per_call()
        num_steps, self._steps_skipped = num_steps + self._steps_skipped, 0
        num_steps = min(num_steps, self.params.get("steps") or num_steps)
        if self._before is not None and num_steps:
            self._end_point(num_steps)
        if self._recent:
            self._measured["metrics"] = self._look_at_losses()
        self._steps_before += num_steps
        if self._wait_mark:
            self._measure_wait(time.perf_counter(), self._steps_before)

    def _check_gpu(self) -> None:
        if not self._session.gpu_checked and "tensorflow" in sys.modules:
            self._session.gpu_checked = True
            if warning := idle_gpu(self.model):
                self._session.report({"kind": "warning", "text": warning})

    def _look_at_iterator(self) -> None:
        """Stand in for the train function until its first call, which shows its iterator."""
        self._stop_looking()
        original = self.model.train_function

        def first_call(*args: Any) -> Any:
            self._stop_looking()
            self._wait = InputWait(args[-1])
            end_aside(args[-1])
            return original(*args)

        if original is not None:
            self._train_function = original
            self.model.train_function = first_call

    def _stop_looking(self) -> None:
        if self._train_function is not None:
            self.model.train_function = self._train_function
            self._train_function = None

    def let_go(self) -> None:
        """Give the model its own functions back."""
        self._stop_looking()
        for executions in (self._steps, self._validation_steps):
            if executions:
                executions.end()

    def _begin_steps(self) -> None:
        if self._steps:
            num_steps, data = self.params.get("steps"), self._given.get("x")
            may_end = bool(self._given.get("steps_per_epoch")) and not is_endless(data)
            self._steps.begin_epoch(num_steps and num_steps - self._steps_skipped, may_end=may_end)

    def _make_executions(self, phase: str, data: Any) -> Executions:
        return make_executions(
            self.keras,
            self.model,
            phase,
            data=data,
            callbacks=self._given.get("callbacks"),
            fixed=self._session.steps_per_execution,
        )

    # Where it goes

    def _write(
        self, split: str, step: int, metrics: dict[str, float], *, series: str | None = None
    ) -> None:
        self._session.write(
            split=split,
            step=self._offset + step,
            epoch=self._epoch + 1,
            metrics=metrics,
            series=series,
        )

    def _report(self, step: int, **more: Any) -> None:
        steps_per_epoch, epochs = self.params.get("steps"), self.params.get("epochs") or 1
        num_epochs = epochs - self._first_epoch
        if steps_per_epoch is None and self._steps_before:
            num_ended = self._epoch - self._first_epoch + (not self._in_training)
            steps_per_epoch = self._steps_before // (num_ended or 1)
        steps = steps_per_epoch * num_epochs if steps_per_epoch else None
        per_second = self._measured.get("steps_per_second")
        per_step = self._measured.get("examples_per_step")
        self._session.report(
            {
                "kind": "progress",
                "step": step,
                "steps": steps,
                "epoch": self._epoch + 1,
                "epochs": epochs,
                "metrics": self._measured.get("metrics", {}),
                "steps_per_second": per_second,
                "examples_per_second": per_second * per_step if per_second and per_step else None,
                "waiting": self._measured.get("waiting"),
                **self._describe_executions(),
                "seconds_left": self._seconds_left(step, steps),
                **more,
            }
        )

    def _describe_executions(self) -> dict[str, Any]:
        if not self._steps:
            return {}
        why = self._steps.why_single
        return {"steps_per_call": 1 if why else self._steps.pace.num_steps, "why_single": why}

    def _seconds_left(self, step: int, steps: int | None) -> float | None:
        """At the pace since the first step was done: compiling it apart, validation included."""
        if steps is None or self._first_mark is None:
            return None
        pace = _rate(self._first_mark, (time.perf_counter(), step))
        return max(0, steps - step) / pace if pace else None


def _rate(then: tuple[float, int], now: tuple[float, int]) -> float | None:
    seconds, steps = now[0] - then[0], now[1] - then[1]
    return steps / seconds if seconds > 0 and steps > 0 else None
