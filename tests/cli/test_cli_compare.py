# SPDX-License-Identifier: Apache-2.0
"""`stoker compare` prints what differs, and nothing else."""

import json
from pathlib import Path

import note_pipeline
import pytest

from stoker.artifacts import ModelRun
from stoker.components import Importer
from stoker.dsl import OutputArtifact, Parameter, Pipeline, component
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner


@component
def train(model_run: OutputArtifact[ModelRun], rate: Parameter[float]):
    record = {"step": 1, "split": "train", "series": "train_epochs", "metrics": {"loss": rate}}
    Path(model_run.uri, "metrics.jsonl").write_text(json.dumps(record) + "\n")


def train_once(root, rate):
    pipeline = Pipeline("trainings", str(root), components=[train(rate=rate)], enable_cache=True)
    return LocalDagRunner(InProcess()).run(pipeline).id


def test_parameters_that_differ_are_printed(stoker, root):
    first = note_pipeline.run_notes(root, text="hello", config="same").id
    note_pipeline.run_notes(root, text="good day", config="same")
    told = stoker("compare", first, "last").out
    assert "write.text  hello" in told
    assert "good day" in told
    assert "write.config" not in told
    assert "write.config" in stoker("compare", first, "last", "--all").out


def test_metrics_are_recorded_and_compared(stoker, here):
    first, second = (train_once(here / "out", rate) for rate in (0.5, 0.25))
    assert train_once(here / "out", 0.5)  # a cache hit has the metrics of what it gives
    record = stoker("compare", first, second, "last", "--json").record
    assert list(record["metrics"]["loss"].values()) == [0.5, 0.25, 0.5]
    assert list(record["parameters"]) == ["train.rate"]
    assert "0.25 (-0.25)" in stoker("compare", first, second).out


def test_equal_runs_are_told_to_be_so(stoker, root):
    first = note_pipeline.run_notes(root).id
    note_pipeline.run_notes(root)
    assert "Parameters and code are the same." in stoker("compare", first, "last").out


@pytest.mark.parametrize("names", [[], ["last"], ["last", "nobody"], ["last"] * 11])
def test_wrong_numbers_and_unknown_runs_are_refused(stoker, run, names):
    found = stoker("compare", *names)
    assert found.code == 2
    assert "runs" in found.err


def test_importers_are_compared_too(stoker, here):
    (here / "a.txt").write_text("a")
    importer = Importer(source_uri=str(here / "a.txt"), artifact_type=note_pipeline.Note)
    pipeline = Pipeline("imports", str(here / "out"), components=[importer])
    runs = [LocalDagRunner(InProcess()).run(pipeline).id for _ in range(2)]
    assert stoker("compare", *runs).code == 0
