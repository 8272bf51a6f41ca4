# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from stoker.errors import TrainingDiverged
from stoker.training import log_metrics, session, watch
from stoker.user_code.fn_args import FnArgs


@pytest.fixture(autouse=True)
def fresh_state(monkeypatch):
    monkeypatch.setattr(session, "_state", session._State())
    monkeypatch.delenv(session.SWITCH, raising=False)


def test_a_loop_of_ones_own_writes_the_same_file_and_reports(tmp_path):
    reports = []
    fn_args = FnArgs(model_run_dir=str(tmp_path), train_steps=2)
    with watch(fn_args, report=reports.append):
        log_metrics(1, loss=0.5)
        log_metrics(2, {"loss": 0.25, "matrix": memoryview(b"1234")}, accuracy=1)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [(line["step"], line["metrics"]) for line in lines] == [
        (1, {"loss": 0.5}),
        (2, {"loss": 0.25, "accuracy": 1.0}),
    ]
    assert [(one["step"], one["steps"]) for one in reports] == [(1, 2), (2, 2)]
    assert reports[-1]["seconds_left"] == 0


def test_every_step_is_written_but_few_are_reported(tmp_path):
    reports = []
    with watch(FnArgs(model_run_dir=str(tmp_path)), report=reports.append):
        for step in range(500):
            log_metrics(step, loss=1.0)
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 500
    assert 1 <= len(reports) < 50
    assert reports[-1]["step"] == 499, "the last one is reported in any case"


def test_what_a_loop_says_of_its_validation_is_the_validations_curve(tmp_path):
    with watch(FnArgs(model_run_dir=str(tmp_path)), report=print):
        log_metrics(1, loss=0.5)
        log_metrics(2, loss=0.25, val_loss=0.75)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [(line["series"], line["step"], line["metrics"]) for line in lines] == [
        ("train", 1, {"loss": 0.5}),
        ("train", 2, {"loss": 0.25}),
        ("validation", 2, {"loss": 0.75}),
    ]


@pytest.mark.parametrize(("value", "word"), [("nan", "NaN"), ("inf", "infinite")])
def test_the_first_loss_that_is_not_finite_is_told_at_once(value, word):
    warnings = []

    def report(record):
        if record["kind"] == "warning":
            warnings.append(record["text"])

    with watch(FnArgs(), report=report):
        log_metrics(1, loss=0.5, accuracy=float("nan"))
        assert warnings == []
        log_metrics(2, loss=float(value))
        log_metrics(3, loss=float(value))
        assert warnings == [f"loss is {word} for the first time at step 2"]


def test_a_loop_that_is_to_stop_on_nan_stops_though_it_catches_everything():
    def train():
        for step in (1, 2, 3):
            try:
                log_metrics(step, loss=float("nan") if step > 1 else 1.0)
            except Exception:
                return

    with (
        pytest.raises(TrainingDiverged, match="loss is NaN for the first time at step 2"),
        watch(FnArgs(), report=dict, stop_on_nan=True),
    ):
        train()


def test_outside_of_a_trainer_it_does_nothing_and_says_so_once(capsys):
    log_metrics(1, loss=0.5)
    log_metrics(2, loss=0.5)
    assert capsys.readouterr().err.count("log_metrics does nothing here") == 1


@pytest.mark.parametrize("by_variable", [True, False])
def test_one_switch_turns_everything_off(tmp_path, monkeypatch, capsys, by_variable):
    if by_variable:
        monkeypatch.setenv("STOKER_WATCH", "0")
    reports = []
    fn_args = FnArgs(model_run_dir=str(tmp_path))
    with watch(fn_args, report=reports.append, enabled=by_variable):
        log_metrics(1, loss=0.5)
    assert reports == []
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("is_watched", [True, False])
def test_rewriters_find_the_eval_files_of_the_training_around_them(is_watched):
    with watch(FnArgs(eval_files=["eval/*"]), enabled=is_watched):
        assert session.find_eval_files() == ["eval/*"]
    assert session.find_eval_files() == []
