# SPDX-License-Identifier: Apache-2.0
"""What the Estimator Trainer refuses before it trains, and what it waits for; no TensorFlow."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from stoker.any_python import estimator
from stoker.any_python.estimator import _Training, train_estimator
from stoker.any_python.fn_args import FnArgs
from stoker.errors import NothingWritten
from stoker.runner import cache
from stoker.task import ProcessNeeds

FinalExporter = type("FinalExporter", (SimpleNamespace,), {})
LatestExporter = type("LatestExporter", (SimpleNamespace,), {})


def training(*exporters, max_steps=10, role="worker", cluster=None, model_dir="") -> _Training:
    return _Training(
        estimator=SimpleNamespace(
            config=SimpleNamespace(task_type=role, cluster_spec=cluster), model_dir=str(model_dir)
        ),
        train_spec=SimpleNamespace(max_steps=max_steps),
        eval_spec=SimpleNamespace(exporters=exporters),
        eval_input_receiver_fn=lambda: None,
    )


def test_a_trainer_without_a_schema_is_told_to_give_one():
    with pytest.raises(ValueError, match=r"schema=schema_gen\.outputs\['schema'\]"):
        train_estimator(lambda *_: {}, FnArgs(), read_schema=str)


@pytest.mark.parametrize("makes", [False, True])
def test_a_trainer_fn_may_write_into_its_model_dir_straight_away_or_make_it(tmp_path, makes):
    def trainer_fn(fn_args, _):
        folder = Path(fn_args.serving_model_dir)
        if makes:
            folder.mkdir()
        (folder / "vocabulary").write_text("a")

    fn_args = FnArgs(schema_path="schema.pbtxt", model_run_dir=str(tmp_path))
    with pytest.raises(ValueError, match="and returned None"):
        train_estimator(trainer_fn, fn_args, read_schema=str)
    assert (tmp_path / "Format-Serving" / "vocabulary").read_text() == "a"


@pytest.mark.parametrize("name", ["estimator", "train_spec", "eval_spec", "eval_input_receiver_fn"])
def test_what_trainer_fn_leaves_out_is_named(name):
    parts = dict.fromkeys(["estimator", "train_spec", "eval_spec", "eval_input_receiver_fn"], 1)
    del parts[name]
    with pytest.raises(ValueError, match=rf"Add '{name}': "):
        _Training.of(parts)


def test_a_trainer_fn_that_returns_nothing_is_told_what_to_return():
    with pytest.raises(ValueError, match=r"and returned None\. Add 'estimator'"):
        _Training.of(None)


def test_two_exporters_are_refused():
    with pytest.raises(ValueError, match=r"the EvalSpec has 'a' and 'b'\. Give it one"):
        training(FinalExporter(name="a"), FinalExporter(name="b")).check()


def test_without_an_exporter_the_last_step_matters_only_to_a_cluster():
    training(max_steps=None).check()
    with pytest.raises(ValueError, match=r"max_steps, which is None"):
        training(max_steps=None, role="chief", cluster="any").check()


def test_a_final_exporter_needs_to_know_the_last_step():
    with pytest.raises(ValueError, match=r"max_steps, which is None"):
        training(FinalExporter(name="a"), max_steps=None).check()


def test_an_exporter_after_each_evaluation_does_not_unless_it_runs_elsewhere():
    training(LatestExporter(name="a"), max_steps=None).check()
    with pytest.raises(ValueError, match=r"max_steps, which is None"):
        training(LatestExporter(name="a"), max_steps=None, role="chief", cluster="any").check()


def test_the_last_of_several_exports_is_taken(tmp_path, capsys):
    for name in ("999", "1000", "temp-1001"):
        (tmp_path / "export" / "latest" / name).mkdir(parents=True)
    exported = training(LatestExporter(name="latest"), model_dir=tmp_path).find_export()
    assert Path(exported).name == "1000"
    assert "exported 2 models: the last one is published" in capsys.readouterr().out


def test_an_exporter_that_wrote_nothing_is_named(tmp_path):
    with pytest.raises(NothingWritten, match=r"its exporter 'final' wrote nothing"):
        training(FinalExporter(name="final"), model_dir=tmp_path).find_export()


def test_a_chief_without_an_evaluator_does_not_wait_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(estimator, "_LOOK_SECONDS", 0.0)
    with pytest.raises(NothingWritten, match=r'"type": "evaluator"'):
        estimator._wait_for(str(tmp_path / "mark"), 0.0)


def test_the_user_exporter_is_marked_as_done_after_its_last_export(tmp_path):
    mark = tmp_path / "run" / "mark"
    exporter = estimator._MarkingExporter(
        SimpleNamespace(name="a", export=lambda *_, is_the_final_export: is_the_final_export),
        str(mark),
    )
    assert exporter.export(1, is_the_final_export=False) is False
    assert not mark.exists()
    assert exporter.export(1, is_the_final_export=True) is True
    assert mark.exists()


def test_the_version_of_the_package_is_in_the_cache_key_only_where_estimators_are_used():
    name = "version of tensorflow-estimator"
    with_them = cache._find_versions(ProcessNeeds(tensorflow=True, keras=2, estimators=True))
    assert with_them[name].startswith("2.15.")
    assert name not in cache._find_versions(ProcessNeeds(tensorflow=True, keras=2))
