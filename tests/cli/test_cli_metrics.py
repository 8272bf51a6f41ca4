# SPDX-License-Identifier: Apache-2.0
"""`stoker runs` and `stoker show` tell what came of trainings and evaluations."""

import measured_pipeline
import pytest

from stoker.errors import StepFailed

LAST = {"loss": 0.5, "accuracy": 0.5, "val_loss": 0.75}


@pytest.fixture
def measured(here):
    return measured_pipeline.run_measured(here / "out")


def test_runs_are_listed_with_their_last_metrics(stoker, here, measured):
    measured_pipeline.run_measured(here / "out", loss=2.0)
    second, first = stoker("runs", "--json").record
    assert first["metrics"] == {"fit": LAST, "judge": {"auc": 0.75}}
    assert second["metrics"]["fit"]["val_loss"] == 2.25
    header, *_, row = stoker("runs").out.splitlines()
    assert header.endswith("METRICS")
    assert row.endswith("fit: loss 0.5, accuracy 0.5, val_loss 0.75; judge: auc 0.75")


def test_a_cached_training_has_its_metrics(stoker, here, measured):
    measured_pipeline.run_measured(here / "out")
    assert stoker("runs", "--json").record[0]["metrics"]["fit"] == LAST


def test_metrics_are_read_only_of_runs_that_are_shown(stoker, here, measured, monkeypatch):
    measured_pipeline.run_measured(here / "out", loss=2.0)
    first = here / "out" / "fit" / "model_run" / "1" / "metrics.jsonl"
    first.unlink()
    first.mkdir()  # to read it is an error
    assert stoker("runs", "-n", 1, "--json").record[0]["metrics"]["fit"]["loss"] == 2.0
    assert stoker("runs", "-n", 2, "--json").code == 1


def test_a_run_is_shown_with_the_metrics_of_its_steps(stoker, measured):
    record = stoker("show", "last", "--json").record
    assert record["metrics"] == {"fit": LAST, "judge": {"auc": 0.75}}
    assert [step["metrics"] for step in record["steps"]] == [LAST, {"auc": 0.75}]
    assert "fit    loss 0.5, accuracy 0.5, val_loss 0.75\n" in stoker("show", "last").out


def test_a_training_is_shown_with_its_curves_and_how_to_see_them(stoker, measured):
    assert stoker("show", "fit", "--json").record["metrics"] == LAST
    out = stoker("show", "fit").out
    assert "tensorboard  stoker tensorboard fit\n" in out
    assert [line.split()[:3] for line in out.splitlines() if line.startswith("loss")] == [
        ["loss", "train", "3"],
        ["loss", "train_epochs", "1"],
        ["loss", "validation", "1"],
    ]


def test_an_evaluation_is_shown_with_its_slices(stoker, measured):
    out = stoker("show", "judge").out
    assert "tensorboard" not in out
    assert out.splitlines()[-2].split() == ["all", "examples", "0.75"]
    assert out.splitlines()[-1].split()[-1] == "0.125"


def test_a_training_that_failed_has_the_metrics_that_it_left(stoker, here):
    with pytest.raises(StepFailed):
        measured_pipeline.run_measured(here / "out", fails=True)
    assert stoker("runs", "--json").record[0]["metrics"] == {"fit": LAST}
    assert stoker("show", "fit", "--json").record["metrics"] == LAST
    stoker("clean")
    assert stoker("runs", "--json").record[0]["metrics"] == {}


def test_a_metric_that_is_no_number_is_a_word_in_json(stoker, here):
    measured_pipeline.run_measured(here / "out", loss=float("nan"))
    assert stoker("runs", "--json").record[0]["metrics"]["fit"]["loss"] == "NaN"
    assert "fit: loss nan, accuracy 0.5" in stoker("runs").out


def test_runs_without_trainings_have_no_column_for_metrics(stoker, run):
    assert "METRICS" not in stoker("runs").out
    assert stoker("runs", "--json").record[0]["metrics"] == {}
