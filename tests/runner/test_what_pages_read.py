# SPDX-License-Identifier: Apache-2.0
"""What a run leaves for those who look at it: its plan, its progress, its code, its metrics."""

import json
import os
from pathlib import Path

import pytest

from stoker.any_python.launcher_link import report
from stoker.artifacts import Artifact, ModelRun
from stoker.dsl import InputArtifact, OutputArtifact, Parameter, Pipeline, component
from stoker.errors import StepFailed, StoreError
from stoker.launchers.in_process import InProcess
from stoker.metadata import sqlite_metadata_connection_config
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner
from stoker.storage.root import Root
from stoker.views.pages.run_reading import read_run

SEEN = []


class Note(Artifact):
    TYPE_NAME = "PageNote"


@component
def train(
    model_run: OutputArtifact[ModelRun], root: Parameter[str], fails: Parameter[bool] = False
):
    record = {"step": 5, "split": "train", "series": "train", "metrics": {"loss": 0.25}}
    Path(model_run.uri, "metrics.jsonl").write_text(json.dumps(record) + "\n")
    report({"kind": "progress", "step": 5, "steps": 10, "seconds_left": 3.0})
    with Store(sqlite_metadata_connection_config(os.path.join(root, "metadata.db"))) as store:
        SEEN.append(read_run(store, store.runs(newest=1)[0].run_id))
    if fails:
        raise ValueError("no")


@component
def read(model_run: InputArtifact[ModelRun], note: OutputArtifact[Note]):
    Path(note.uri, "x").write_text("x")


def run(root, **given):
    trainer = train(root=str(root), **given)
    reader = read(model_run=trainer.outputs["model_run"])
    pipeline = Pipeline("seen", str(root), components=[trainer, reader], enable_cache=True)
    return LocalDagRunner(InProcess()).run(pipeline).id


def look(root, run_id=None):
    with Store(sqlite_metadata_connection_config(str(root / "metadata.db"))) as store:
        return read_run(store, run_id or store.runs(newest=1)[0].run_id)


def test_a_run_that_goes_on_shows_what_is_to_come_and_how_far_it_is(tmp_path):
    run(tmp_path)
    seen = SEEN.pop()
    assert (seen.state, seen.is_live) == ("running", True)
    assert [(one.node_id, one.state) for one in seen.steps] == [
        ("train", "running"),
        ("read", "to come"),
    ]
    assert [(one.source, one.target, one.key) for one in seen.edges] == [
        ("train", "read", "model_run")
    ]
    (progress,) = seen.progress
    assert progress.node_id == "train"
    assert progress.share == 0.5


def test_its_progress_is_gone_when_it_has_ended(tmp_path):
    run_id = run(tmp_path)
    assert not os.path.exists(Root(str(tmp_path)).progress_file(run_id))
    assert not look(tmp_path).progress


def test_metrics_are_those_of_the_run_also_of_a_cached_one(tmp_path):
    first, second = run(tmp_path), run(tmp_path)
    assert look(tmp_path, first).metrics == {"loss": 0.25}
    assert look(tmp_path, second).metrics == {"loss": 0.25}
    assert look(tmp_path, second).num_cached == 2


def test_steps_that_were_not_reached_are_told(tmp_path):
    with pytest.raises(StepFailed):
        run(tmp_path, fails=True)
    seen = look(tmp_path)
    assert [one.state for one in seen.steps] == ["failed", "not begun"]
    assert seen.steps[0].error.startswith("Traceback")


def test_a_note_changes_neither_the_state_nor_the_time(tmp_path):
    run_id = run(tmp_path)
    before = look(tmp_path)
    with Store(
        sqlite_metadata_connection_config(str(tmp_path / "metadata.db")), looks_on=True
    ) as s:
        s.describe_run(run_id, note="good", tags=["best", "taxi"])
    after = look(tmp_path)
    assert (after.note, after.tags) == ("good", ["best", "taxi"])
    assert (after.state, after.took_ms) == (before.state, before.took_ms)


def test_the_code_of_its_steps_is_kept_by_its_digest(tmp_path):
    run(tmp_path)
    kept = [path.read_text() for path in (tmp_path / ".stoker/sources").iterdir()]
    assert kept == [Path(__file__).read_text()]


def test_who_looks_on_writes_nothing_else(tmp_path):
    run(tmp_path)
    config = sqlite_metadata_connection_config(str(tmp_path / "metadata.db"))
    with Store(config, looks_on=True) as store, pytest.raises(StoreError, match="readonly"):
        store.ask(lambda connection: connection.exec_driver_sql("DELETE FROM Event"))
