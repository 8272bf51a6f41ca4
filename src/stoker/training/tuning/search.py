# SPDX-License-Identifier: Apache-2.0
"""One search: the user's tuner is made, checked, watched while it runs, and judged at its end."""

import json
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stoker.any_python.launcher_link import report
from stoker.any_python.lines import say
from stoker.any_python.modules import load_function
from stoker.errors import StepFailed
from stoker.patches.keras_tuner import keep_state_whole
from stoker.storage.files import is_set_aside, set_aside
from stoker.training import watch
from stoker.training.tuning import TunerFnResult
from stoker.training.tuning.trials import Search, Trial, describe, failures_in_a_row
from stoker.user_code.fn_args import FnArgs

_STATE_FILES = ("oracle.json", "tuner*.json", "trial_*/trial.json")
_NAMELESS = "default_objective"
"""What KerasTuner calls an objective that was not given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchJob:
    """What is needed to make the user's tuner, in this process or in another one."""

    module_file: str | None
    path: str | None
    fn_args: FnArgs

    @property
    def errors_dir(self) -> str:
        """Where processes that run trials leave their tracebacks; the oracle does not carry any."""
        return os.path.join(str(self.fn_args.working_dir), "errors")


def set_damage_aside(working_dir: str) -> None:
    """Let a search begin again where a file in which KerasTuner keeps its state is damaged.

    KerasTuner would fail on it, now and at every other attempt.
    """
    for project in map(str, Path(working_dir).iterdir()):
        files = [file for name in _STATE_FILES for file in Path(project).glob(name)]
        damaged = [file for file in files if not _is_whole(file)]
        if damaged and not is_set_aside(project):
            aside = set_aside(project)
            text = f"{damaged[0]} is damaged: the search begins again, and what was left is {aside}"
            report({"kind": "warning", "text": text})


def _is_whole(file: Path) -> bool:
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(record, dict)


def make_tuner(job: SearchJob) -> TunerFnResult:
    """What the user's `tuner_fn` returns; a search that cannot succeed is refused here."""
    tuner_fn = load_function(module_file=job.module_file, path=job.path, names=("tuner_fn",))
    given = tuner_fn(job.fn_args)
    if not (hasattr(given, "tuner") and hasattr(given, "fit_kwargs")):
        raise TypeError(
            f"tuner_fn returned {given!r}. Return TunerFnResult(tuner=…, fit_kwargs={{…}}), with a "
            "tuner of KerasTuner and the keyword arguments of its search."
        )
    if not isinstance(given.fit_kwargs or {}, Mapping):
        raise TypeError(f"TunerFnResult.fit_kwargs takes a dict, got {given.fit_kwargs!r}.")
    _check_tuner(given.tuner)
    return TunerFnResult(given.tuner, dict(given.fit_kwargs or {}))


def _check_tuner(tuner: Any) -> None:
    import keras_tuner
    from keras_tuner.engine.base_tuner import BaseTuner

    if not isinstance(tuner, BaseTuner):
        raise TypeError(
            f"TunerFnResult.tuner takes a tuner of KerasTuner, such as RandomSearch, got {tuner!r}."
        )
    trains_by_itself = (
        isinstance(tuner, keras_tuner.Tuner)
        and type(tuner).run_trial.__module__.startswith("keras_tuner.")
        and type(tuner.hypermodel).fit is keras_tuner.HyperModel.fit
    )
    # A run_trial, or a fit of a HyperModel, of the user's own may return the score itself.
    if trains_by_itself and tuner.oracle.objective.name == _NAMELESS:
        raise ValueError(
            f"The {type(tuner).__name__} that tuner_fn returned has no objective. Name the metric "
            "to judge trials by: objective='val_accuracy', or "
            "objective=keras_tuner.Objective('val_auc', direction='max')."
        )


def search_here(job: SearchJob) -> "Watched":
    """Run every trial in this process, one after the other."""
    tuner, fit_kwargs = make_tuner(job)
    watched = Watched(tuner, job, quiet="verbose" not in fit_kwargs)
    with keep_state_whole(), watch(job.fn_args, report=watched.report_fit):
        tuner.search(**fit_kwargs)
    return watched


class Watched:
    """A tuner whose trials are told about as they end.

    It stands before the oracle's `create_trial` and `end_trial`, and counts failures itself: past
    the limit, KerasTuner would raise out of the oracle and leave its lock held.
    """

    def __init__(self, tuner: Any, job: SearchJob, *, quiet: bool) -> None:
        self.tuner = tuner
        self.limit: int = tuner.oracle.max_consecutive_failed_trials or sys.maxsize
        self.limit_reached = False
        self._job = job
        self._oracle = oracle = tuner.oracle
        self._current = ""
        self._lock = threading.Lock()
        """Two threads hear of trials: the one that serves workers, and the one that misses them."""
        oracle.max_consecutive_failed_trials = None
        if quiet:
            oracle.verbose = 0
        self._create_trial, oracle.create_trial = oracle.create_trial, self.create_trial
        self._end_trial, oracle.end_trial = oracle.end_trial, self.end_trial
        if self.search.trials:
            say(
                f"This search was started before: {len(self.search.trials)} trials have ended, "
                "and are not run again.",
                error=True,
            )

    @property
    def search(self) -> Search:
        """The trials that have ended so far."""
        ended = set(self._oracle.end_order)
        objective = self._oracle.objective
        return Search(
            objective="score" if objective.name == _NAMELESS else objective.name,
            direction=objective.direction,
            trials=[
                _trial(self._oracle.trials[name])
                for name in self._oracle.start_order
                if name in ended
            ],
        )

    def create_trial(self, tuner_id: str) -> Any:
        """The oracle's next trial; the sign to stop after too many failures in a row."""
        if self.limit_reached:
            from keras_tuner.engine.trial import Trial, TrialStatus

            return Trial(self._oracle.get_space(), status=TrialStatus.STOPPED)
        with self._lock:
            trial = self._create_trial(tuner_id)
        self._current = trial.trial_id
        self._report_trials()
        return trial

    def _report_trials(self) -> None:
        """Say how many trials have ended; how far the next one is, its `fit` says."""
        ended, asked = len(self._oracle.end_order), self._oracle.max_trials
        record = {"doing": "searching", "count": ended, "total": asked, "unit": "trials"}
        report({"kind": "progress", **record})

    def end_trial(self, *args: Any, **kwargs: Any) -> None:
        """Let the oracle end a trial, then keep its state, and tell.

        Users' tuners give the trial or, as in old KerasTuner, its id and its status.
        """
        given = args[0] if args else kwargs.get("trial") or kwargs["trial_id"]
        trial_id = str(getattr(given, "trial_id", given))
        if given is not trial_id and not given.message:
            given.message = _error_of(self._job, trial_id) or None
        with self._lock:
            self._end_trial(*args, **kwargs)
            self._oracle.save()  # the oracle has saved itself with this trial still running
            if trial_id in self._oracle.end_order:  # else it is tried again
                self._tell(trial_id)

    def _tell(self, trial_id: str) -> None:
        search = self.search
        by_id = {trial.id: trial for trial in search.trials}
        report(
            {
                "kind": "progress",
                "step": len(search.trials),
                "steps": self._oracle.max_trials,
                "phase": describe(search, by_id[trial_id]),
                "done": True,
            }
        )
        ended_well = [by_id[name].score is not None for name in self._oracle.end_order]
        self.limit_reached = failures_in_a_row(ended_well) >= self.limit

    def report_fit(self, record: dict[str, Any]) -> None:
        """Pass on how far the current trial is; only trials, not epochs, get lines of their own."""
        if record["kind"] == "progress":
            if record.get("done"):
                return
            phase = f"trial {self._current}"
            record = {**record, "phase": phase, "epoch_end": False}
        report(record)


def _error_of(job: SearchJob, trial_id: str) -> str:
    """The traceback that another process has left for a trial."""
    path = os.path.join(job.errors_dir, f"{trial_id}.txt")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def _trial(trial: Any) -> Trial:
    from keras_tuner.engine.trial import TrialStatus

    ended_well = trial.status == TrialStatus.COMPLETED
    return Trial(
        id=trial.trial_id,
        values=dict(trial.hyperparameters.values),
        score=float(trial.score) if ended_well else None,
        error="" if ended_well else trial.message or "",
    )


def check_outcome(watched: Watched) -> None:
    """Raise if there is nothing to publish, with the first failed trial's own error first."""
    search = watched.search
    if not search.trials:
        raise StepFailed(
            "The search ended without a single trial. Check max_trials, and that the model has "
            "hyperparameters to choose."
        )
    if search.best and not watched.limit_reached:
        return
    if search.best:
        failed = search.failed[-watched.limit]
        more = (
            f"{watched.limit} trials in a row failed, which is the limit "
            f"(max_consecutive_failed_trials). The first of them was trial {failed.id}."
        )
    else:
        failed = search.failed[0]
        more = f"No trial ended well: all {len(search.failed)} failed, first trial {failed.id}."
    say(failed.error.rstrip(), error=True)
    raise StepFailed(f"{failed.last_words}\n{more}")
