# SPDX-License-Identifier: Apache-2.0
"""What trackers are told of a run, and that no tracker can harm it."""

import io
import json
import time
from pathlib import Path

import pytest

from stoker.artifacts import Artifact
from stoker.dsl import OutputArtifact, Parameter, Pipeline, component
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner, mlflow_tracker
from stoker.runner import run as run_module
from stoker.runner.console import Console
from stoker.runner.mlflow_terms import OwnLogging, clean_key, flatten
from stoker.runner.mlflow_tracker import MlflowTracker
from stoker.runner.tracking import Trackers, find_trackers
from stoker.storage.growing_lines import GrowingLines


class Note(Artifact):
    TYPE_NAME = "Note"


@component
def write(note: OutputArtifact[Note], text: Parameter[str], config: Parameter[str]):
    Path(note.uri, "note.txt").write_text(text)
    if text == "bad":
        raise ValueError("no such text")


class Collected:
    def __init__(self):
        self.events = []

    def note(self, event):
        self.events.append(event)


class Failing:
    def __init__(self):
        self.told = 0

    def note(self, event):
        self.told += 1
        raise OSError("the disk is full")


@pytest.fixture
def told(monkeypatch):
    """What a tracker is told of the runs of a test."""
    collected = Collected()

    def find(console, temporary_dir):
        return Trackers(console=console, trackers=[collected])

    monkeypatch.setattr(run_module, "find_trackers", find)
    return collected.events


def run(root, text="hello", config="{}"):
    pipeline = Pipeline(
        "notes", str(root), components=[write(text=text, config=config)], enable_cache=True
    )
    return LocalDagRunner(InProcess()).run(pipeline)


def test_a_run_is_told_from_its_beginning_to_its_end(tmp_path, told):
    done = run(tmp_path)
    kinds = ["run_began", "code", "step_began", "step_ended", "run_ended"]
    assert [event["kind"] for event in told] == kinds
    began, code, step, ended, last = told
    assert (began["pipeline"], began["run"]) == ("notes", done.id)
    assert list(code["digests"]) == ["file test_tracking.py"]
    assert code["files"] == [__file__]
    assert step["parameters"] == {"text": "hello", "config": "{}"}
    assert step["outputs"][0]["uri"] == ended["outputs"][0]["uri"]
    assert (ended["state"], last["state"]) == ("complete", "complete")
    json.dumps(told)


def test_a_cached_step_names_the_run_that_did_the_work(tmp_path, told):
    first = run(tmp_path)
    told.clear()
    run(tmp_path)
    (ended,) = [event for event in told if event["kind"] == "step_ended"]
    assert (ended["state"], ended["original"]) == ("cached", first.id)
    (began,) = [event for event in told if event["kind"] == "step_began"]
    assert began["outputs"] == []


def test_a_failed_step_and_its_run_are_told_to_have_failed(tmp_path, told):
    with pytest.raises(StepFailed):
        run(tmp_path, "bad")
    assert [event["state"] for event in told[-2:]] == ["failed", "failed"]


def test_secrets_are_masked(tmp_path, told):
    run(tmp_path, "abracadabra", json.dumps({"api_key": "abracadabra", "layers": 3}))
    (began,) = [event for event in told if event["kind"] == "step_began"]
    assert "abracadabra" not in json.dumps(told)
    assert json.loads(began["parameters"]["config"]) == {"api_key": "***", "layers": 3}


def test_a_tracker_that_fails_is_told_nothing_more_and_the_others_are():
    err, failing, collected = io.StringIO(), Failing(), Collected()
    trackers = Trackers(console=Console(err=err), trackers=[failing, collected])
    trackers.note("run_began")
    trackers.note("run_ended")
    assert failing.told == 1
    assert len(collected.events) == 2
    assert err.getvalue() == ("warning: Failing failed, and the run goes on: the disk is full\n")


def test_what_to_install_is_said_before_the_first_step_and_the_run_goes_on(
    tmp_path, monkeypatch, capfd
):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    (tmp_path / "mlflow").mkdir()  # a folder of that name is no package
    monkeypatch.syspath_prepend(tmp_path)
    assert run(tmp_path / "root").outputs["write"]
    first, *rest = capfd.readouterr().err.splitlines()
    assert first == (
        "MLFLOW_TRACKING_URI is set, but mlflow is not installed: pip install 'stoker[mlflow]'. "
        "The run goes on without it."
    )
    assert any(line.startswith("[1/1] write done") for line in rest)


def test_without_the_variable_nobody_is_told(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert find_trackers(Console(), str(tmp_path)) is None


def end(tracker):
    started = time.monotonic()
    tracker.note({"kind": "run_ended", "state": "complete"})
    return time.monotonic() - started


def test_a_process_that_does_not_end_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(mlflow_tracker, "_PROGRAM", "import time; time.sleep(600)")
    monkeypatch.setattr(mlflow_tracker, "_END_SECONDS", 1.0)
    said = []
    tracker = MlflowTracker(str(tmp_path), said.append)
    assert end(tracker) < 60
    assert said == ["warning: MLflow has not taken all of this run within 1 s."]
    assert tracker._process.returncode == -9


def test_a_process_that_cannot_begin_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(mlflow_tracker, "_PROGRAM", "raise ImportError")
    said = []
    end(MlflowTracker(str(tmp_path), said.append))
    (line,) = said
    assert line.startswith("warning: MLflow was not told of this run: its process ended with 1.")


def test_events_are_in_the_file_at_once_and_what_is_printed_is_said(tmp_path, monkeypatch):
    program = "import sys; print('hello'); print('bye')"
    monkeypatch.setattr(mlflow_tracker, "_PROGRAM", program)
    said = []
    tracker = MlflowTracker(str(tmp_path), said.append)
    tracker.note({"kind": "run_began", "run": "1"})
    assert json.loads((tmp_path / "mlflow.jsonl").read_text()) == {"kind": "run_began", "run": "1"}
    end(tracker)
    assert said == ["hello", "bye"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("import keras\nmodel.autolog()", ""),
        ("import mlflow\nmlflow.log_artifact('x')", ""),
        ("import mlflow\n# mlflow.autolog()", ""),
        ("import mlflow\nmlflow.tensorflow.autolog()", "metrics, model"),
        ("import mlflow\nmlflow.keras.autolog(log_models=False)", "metrics"),
        ("from mlflow import log_metric\nlog_metric('a', 1)", "metrics"),
        ("import mlflow\nmlflow.keras.MlflowCallback(run)", "metrics"),
        ("import mlflow\nmlflow.pyfunc.log_model(model)", "model"),
    ],
)
def test_what_a_module_logs_itself_is_left_to_it(write_file, text, left):
    assert str(OwnLogging.of([write_file(text)])) == left


@pytest.fixture
def write_file(tmp_path):
    def write_module(text):
        path = tmp_path / "module.py"
        path.write_text(text)
        return str(path)

    return write_module


def test_parameters_in_json_have_names_of_their_own():
    given = {"train_args": '{ "num_steps": 100 }', "rate": 0.5, "none": None, "text": "{no json"}
    assert dict(flatten("Trainer", given)) == {
        "Trainer.train_args.num_steps": "100",
        "Trainer.rate": "0.5",
        "Trainer.text": "{no json",
    }


@pytest.mark.parametrize(
    ("key", "clean"),
    [("a/b c:d.e-f", "a/b c:d.e-f"), ("größe", "größe"), ("a//../b", "a/b"), ("x@<y>", "x__y_")],
)
def test_names_are_made_of_what_mlflow_takes(key, clean):
    assert clean_key(key) == clean


def test_a_growing_file_gives_each_line_once_when_it_is_whole(tmp_path):
    path = tmp_path / "lines"
    lines = GrowingLines(str(path))
    assert lines.read_new() == []
    path.write_text('{"a": 1}\n{"a": ')
    assert lines.read_new() == [{"a": 1}]
    with path.open("a") as file:
        file.write('2}\nhalf of{"a": 3\n{"a": 4}\n')
    assert lines.read_new() == [{"a": 2}, {"a": 4}]
    assert lines.read_new() == []
