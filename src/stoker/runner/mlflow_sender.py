# SPDX-License-Identifier: Apache-2.0
"""Tells an MLflow server of a run, in a process that `mlflow_tracker.py` starts.

It follows the file of events that is written there and the metric files of trainings, until the run
ends or its process is gone. What it prints are lines for the user: where the run is, and at most
one warning.
"""

import contextlib
import getpass
import io
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException

from stoker.any_python.layout import METRICS_FILE
from stoker.any_python.lines import say
from stoker.artifacts import Model, ModelEvaluation, ModelRun
from stoker.metadata.masking import environment, find_secrets
from stoker.runner.mlflow_model import log_model
from stoker.runner.mlflow_terms import OwnLogging, clean_key, flatten
from stoker.runner.tracking import MLFLOW_URI, Event
from stoker.storage.growing_lines import GrowingLines
from stoker.storage.metrics_file import MetricsRecord

_EVENT_SECONDS, _METRICS_SECONDS = 0.2, 2.0
_MOST_METRICS, _MOST_PARAMS = 1000, 100
"""So many MLflow takes at once."""
_MOST_SLICED = 200
"""So many values of an evaluation are sent, those of all examples first."""
_MOST_CHARACTERS = 500
_STATUS = {"complete": "FINISHED", "failed": "FAILED"}
_OTHER_STATUS = "KILLED"


class Sender:
    """One run of Stoker as one run of MLflow."""

    def __init__(self) -> None:
        self._client = MlflowClient()
        self._experiment = self._run = ""
        self._own: dict[str, OwnLogging] = {}
        self._digests: dict[str, dict[str, str]] = {}
        self._counts: Counter[str] = Counter()
        self._names: dict[int, str] = {}
        self._waiting: dict[int, Event] = {}
        """The steps that may turn out to be cached; what is theirs is not sent yet."""
        self._trainings: dict[int, list[GrowingLines]] = {}
        self._given_up = self._is_warned = False

    def take(self, event: Event) -> bool:
        """Send what is in an event; whether there is more to come."""
        if event["kind"] == "run_ended":
            return self._end(event["state"])
        if not self._given_up:
            with self._give_up_on_failure():
                getattr(self, f"_on_{event['kind']}")(event)
        return bool(self._run)

    def send_metrics(self) -> None:
        """Send what trainings have written since the last time."""
        if not self._given_up:
            with self._give_up_on_failure():
                for execution, files in self._trainings.items():
                    self._send_curves(self._names[execution], files)

    @contextlib.contextmanager
    def _give_up_on_failure(self) -> Iterator[None]:
        """After the first failure nothing is sent but the end: a server may hang each time."""
        try:
            yield
        except Exception as error:  # of MLflow, of the network, of a plug-in: none may matter
            self._given_up = True
            self._warn("is not told of this run any more" if self._run else "cannot be told", error)

    def _warn(self, what: str, error: Exception) -> None:
        if not self._is_warned:
            self._is_warned = True
            why = str(error).strip().splitlines()[:1] or [type(error).__name__]
            line = f"warning: MLflow at {os.environ[MLFLOW_URI]} {what}: {why[0][:300]}"
            _say(find_secrets(environment()).mask(line))

    def _on_run_began(self, event: Event) -> None:
        self._experiment = self._find_experiment(event["pipeline"])
        tags = {
            "stoker.run_id": event["run"],
            "stoker.pipeline_root": event["root"],
            "mlflow.source.name": event["source"],
            "mlflow.source.type": "LOCAL",
        }
        with contextlib.suppress(KeyError, OSError):  # a user without a name
            tags["mlflow.user"] = getpass.getuser()
        known = self._search_run(event["run"]) if event.get("joined") else None
        if known:
            self._client.update_run(known, status="RUNNING")
            self._run = known
        else:
            run = self._client.create_run(self._experiment, tags=tags, run_name=event["run"])
            self._run = run.info.run_id
        place = os.environ[MLFLOW_URI].rstrip("/")
        if place.startswith("http"):
            place += f"/#/experiments/{self._experiment}/runs/{self._run}"
        _say(find_secrets(environment()).mask(f"MLflow: {place}"))

    def _find_experiment(self, name: str) -> str:
        if known := self._client.get_experiment_by_name(name):
            return str(known.experiment_id)
        try:
            return str(self._client.create_experiment(name))
        except MlflowException:  # another run has made it in between
            known = self._client.get_experiment_by_name(name)
            if known is None:
                raise
            return str(known.experiment_id)

    def _on_code(self, event: Event) -> None:
        self._own[event["step"]] = OwnLogging.of(event["files"])
        self._digests[event["step"]] = event["digests"]

    def _on_step_began(self, event: Event) -> None:
        step, execution = event["step"], event["execution"]
        self._counts[step] += 1
        number = self._counts[step]
        self._names[execution] = step if number == 1 else f"{step}.{number}"
        if not event["outputs"]:
            self._waiting[execution] = event
            return
        self._describe(event)
        if not self._own.get(step, OwnLogging()).metrics:
            runs = [one["uri"] for one in event["outputs"] if one["type"] == ModelRun.TYPE_NAME]
            files = [GrowingLines(os.path.join(uri, METRICS_FILE)) for uri in runs]
            self._trainings[execution] = files

    def _describe(self, event: Event) -> None:
        """Send the parameters of a step, and which code it has."""
        step, name = event["step"], self._names[event["execution"]]
        values = {clean_key(key): text for key, text in flatten(name, event["parameters"])}
        params = [Param(key, text[:_MOST_CHARACTERS]) for key, text in values.items()]
        for start in range(0, len(params), _MOST_PARAMS):
            some = params[start : start + _MOST_PARAMS]
            self._client.log_batch(self._run, params=some)
        tags = {}
        if digests := self._digests.get(step):
            tags[f"stoker.code.{name}"] = ", ".join(f"{k} {v}" for k, v in digests.items())
        if own := str(self._own.get(step, "")):
            tags[f"stoker.logged_by_module.{name}"] = own
        self._set_tags(tags)

    def _set_tags(self, tags: Mapping[str, str]) -> None:
        if tags:
            few = [RunTag(clean_key(key), text) for key, text in tags.items()]
            self._client.log_batch(self._run, tags=few)

    def _on_step_ended(self, event: Event) -> None:
        execution = event["execution"]
        name, state = self._names[execution], event["state"]
        waiting = self._waiting.pop(execution, None)
        self._send_curves(name, self._trainings.pop(execution, []))
        if state == "cached":
            self._set_tags({f"stoker.cached.{name}": self._find_run(event["original"])})
        elif state != "complete":
            self._set_tags({f"stoker.state.{name}": state})
        else:
            if waiting:
                self._describe(waiting)
            self._send_results(name, event)

    def _find_run(self, run_id: str) -> str:
        """The run of MLflow that is a run of Stoker, for a link to it."""
        return self._search_run(run_id) or f"{run_id}, which MLflow was not told of"

    def _search_run(self, run_id: str) -> str | None:
        asked = f"tags.`stoker.run_id` = '{run_id}'"
        found = self._client.search_runs([self._experiment], asked, max_results=1)
        return str(found[0].info.run_id) if found else None

    def _send_results(self, name: str, event: Event) -> None:
        own = self._own.get(event["step"], OwnLogging())
        for output in event["outputs"]:
            if output["type"] == ModelEvaluation.TYPE_NAME:
                self._send_metrics(_list_evaluation(name, output["uri"]))
            elif output["type"] == Model.TYPE_NAME and not own.model:
                try:
                    log_model(self._experiment, self._run, clean_key(name), output)
                except Exception as error:  # who has no room for models may take metrics
                    self._warn(f"did not take the model of {name}", error)

    def _send_curves(self, name: str, files: Sequence[GrowingLines]) -> None:
        metrics = []
        for line in (line for file in files for line in file.read_new()):
            with contextlib.suppress(KeyError, TypeError):
                record = MetricsRecord.from_dict(line)
                moment = int(record.time * 1000)
                metrics += [
                    Metric(clean_key(f"{name}/{record.series}/{key}"), value, moment, record.step)
                    for key, value in record.metrics.items()
                ]
        self._send_metrics(metrics)

    def _send_metrics(self, metrics: Sequence[Metric]) -> None:
        for start in range(0, len(metrics), _MOST_METRICS):
            self._client.log_batch(self._run, metrics=metrics[start : start + _MOST_METRICS])

    def _end(self, state: str) -> bool:
        self.send_metrics()
        if self._run:
            with self._give_up_on_failure():
                self._client.set_terminated(self._run, _STATUS.get(state, _OTHER_STATUS))
        return False


def _list_evaluation(name: str, folder: str) -> list[Metric]:
    from stoker.evaluation.results import read_metrics, sort_slices
    from stoker.evaluation.slices import describe_slice
    from stoker.evaluation.summary import metric_name

    now = int(time.time() * 1000)
    return [
        Metric(clean_key("/".join([name, *where, metric_name(key)])), value, now, 0)
        for slice_key, values in sort_slices(read_metrics(folder))
        for where in [[describe_slice(slice_key)] if slice_key else []]
        for key, value in values.items()
    ][:_MOST_SLICED]


def _say(line: str) -> None:
    with contextlib.redirect_stdout(sys.__stdout__):  # MLflow has another one to print to
        say(line)


def follow_run(path: str, parent: int) -> None:
    """Send what happens in a run, until its end or that of its process."""
    sys.stdout = io.StringIO()  # MLflow prints there
    sender, events, sent_at = Sender(), GrowingLines(path), 0.0
    while True:
        is_orphan = os.getppid() != parent
        found = events.read_new()
        if is_orphan and not found:
            found = [{"kind": "run_ended", "state": "died"}]
        if not all(map(sender.take, found)):
            return
        if time.monotonic() - sent_at > _METRICS_SECONDS:
            sender.send_metrics()
            sent_at = time.monotonic()
        time.sleep(_EVENT_SECONDS)
