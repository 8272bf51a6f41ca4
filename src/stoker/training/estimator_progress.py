# SPDX-License-Identifier: Apache-2.0
"""Adds one session hook to every `train` of an Estimator in this process, and reads `evaluate`.

Where no Estimator was imported, nothing is changed. In a cluster, the chief and the evaluator tell.
"""

import contextlib
import functools
import inspect
import math
import time
from collections.abc import Callable
from typing import Any

from stoker.any_python.progress import REPORT_SECONDS
from stoker.patches.tensorflow_estimator import wrap_estimators
from stoker.training.bad_loss import BadLoss, find_bad_loss
from stoker.training.session import Session, numbers


def watch_estimators(session: Session) -> contextlib.ExitStack:
    """Tell `session` about every training and evaluation, until what this returns is closed."""
    return wrap_estimators(
        lambda train: _watch_train(train, session),
        lambda evaluate: _watch_evaluate(evaluate, session),
    )


def _watch_train(train: Callable[..., Any], session: Session) -> Callable[..., Any]:
    import tensorflow as tf

    signature = inspect.signature(train)
    hook_class: Any = type("TrainHook", (_TrainHook, tf.compat.v1.train.SessionRunHook), {})

    @functools.wraps(train)
    def watched_train(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        call = signature.bind(estimator, *args, **kwargs)
        if estimator.config.is_chief:
            call.arguments["hooks"] = [*(call.arguments.get("hooks") or ()), hook_class(session)]
        return train(*call.args, **call.kwargs)

    return watched_train


def _watch_evaluate(evaluate: Callable[..., Any], session: Session) -> Callable[..., Any]:
    @functools.wraps(evaluate)
    def watched_evaluate(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        found = evaluate(estimator, *args, **kwargs)
        metrics = numbers(found)
        step = int(metrics.pop("global_step"))
        session.write(split="validation", step=step, epoch=None, metrics=metrics)
        if bad := find_bad_loss(metrics):
            place = "in an evaluation"
            session.tell_bad_loss(BadLoss(name=bad[0], value=bad[1], step=step, place=place))
        session.report(
            {
                "kind": "progress",
                "step": step,
                "phase": "validation",
                "metrics": metrics,
                "epoch_end": True,
            }
        )
        return found

    return watched_evaluate


class _TrainHook:
    """What the hook does: it fetches the loss, which the Estimator fetches anyway."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._loss: float | None = None
        self._next_report = 0.0

    def begin(self) -> None:
        import tensorflow as tf

        self._global_step = tf.compat.v1.train.get_global_step()

    def before_run(self, run_context: Any) -> Any:
        import tensorflow as tf

        _, loss = run_context.original_args.fetches  # [train_op, loss]
        return tf.compat.v1.train.SessionRunArgs(loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._loss = float(run_values.results)
        is_news = not math.isfinite(self._loss) and self._session.bad_loss is None
        if is_news or time.monotonic() >= self._next_report:
            self._next_report = time.monotonic() + REPORT_SECONDS
            self._report(run_context.session)

    def end(self, session: Any) -> None:
        if self._loss is not None:
            self._report(session)
            self._session.report_last_step()

    def _report(self, session: Any) -> None:
        self._session.log_step(int(session.run(self._global_step)), {"loss": self._loss})
