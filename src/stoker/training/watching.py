# SPDX-License-Identifier: Apache-2.0
"""Watches a training while it runs: what user code calls, and where it begins and ends."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stoker.training import progress
from stoker.user_code.fn_args import FnArgs

if TYPE_CHECKING:  # they need NumPy, which those who only declare a pipeline do not
    from stoker.training.resume.checkpointer import Checkpointer
    from stoker.training.resume.custom_loop import LoopCheckpoint
    from stoker.training.session import Session

SWITCH = "STOKER_WATCH"


@dataclass
class _State:
    """What this process is watching now."""

    session: "Session | None" = None
    switched_off: bool = False
    has_said_so: bool = False


_state = _State()


@contextlib.contextmanager
def watch(
    fn_args: FnArgs,
    *,
    node: str = "",
    keras: int | None = None,
    report: Callable[[dict[str, Any]], None] = progress.report,
    enabled: bool = True,
) -> Iterator[None]:
    """Watch the training inside: `fit` of Keras, Estimators, and what `log_metrics` is told.

    `node` is the step's name. `keras` is the version that it was given; with None, whichever is
    loaded is watched.
    `enabled=False`, or the variable STOKER_WATCH=0, leaves everything as it is.
    """
    if not enabled or os.environ.get(SWITCH) == "0":
        _state.switched_off = True
        try:
            yield
        finally:
            _state.switched_off = False
        return
    from stoker.training.estimator_progress import watch_estimators
    from stoker.training.fit_progress import watch_fit
    from stoker.training.session import Session

    session = Session(fn_args, report, _make_checkpointer(fn_args, node, report))
    _state.session = session
    try:
        with watch_fit(session, keras=keras), watch_estimators(session):
            yield
    finally:
        _state.session = None
        session.close()


def _make_checkpointer(
    fn_args: FnArgs, node: str, report: Callable[[dict[str, Any]], None]
) -> "Checkpointer | None":
    from stoker.training.resume.checkpointer import Checkpointer

    def say(kind: str, text: str) -> None:
        report({"kind": kind, "node": node, "text": text})

    return Checkpointer(fn_args.checkpoint_dir, say=say) if fn_args.checkpoint_dir else None


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
    elif not _state.switched_off and not _state.has_said_so:
        _state.has_said_so = True
        print(
            "stoker.log_metrics does nothing here: it reports from a run_fn that a Trainer runs.",
            file=sys.stderr,
        )
