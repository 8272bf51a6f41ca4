# SPDX-License-Identifier: Apache-2.0
"""What the guest's Trainer refuses, and what it warns of, before it trains."""

from types import SimpleNamespace

import pytest

from stoker.any_python import estimator, training
from stoker.any_python.failures import NothingWritten
from stoker.any_python.fn_args import FnArgs

COMPLETE = dict.fromkeys(["estimator", "train_spec", "eval_spec", "eval_input_receiver_fn"], 1)


class FinalExporter:
    def __init__(self, name):
        self.name = name


def spec(*names):
    return SimpleNamespace(exporters=[FinalExporter(name) for name in names])


def test_a_trainer_fn_needs_a_schema():
    with pytest.raises(ValueError, match=r"Give it one: Trainer\(schema="):
        estimator.train_estimator(lambda *_: COMPLETE, FnArgs(model_run_dir="run"))


@pytest.mark.parametrize("missing", COMPLETE)
def test_what_trainer_fn_did_not_return_is_named(missing):
    returned = {name: part for name, part in COMPLETE.items() if name != missing}
    with pytest.raises(ValueError, match=f"Add '{missing}': a"):
        estimator._checked(returned)


def test_a_trainer_fn_that_returns_nothing_is_told_what_to_return():
    with pytest.raises(ValueError, match=r"should return a dict with .* and returned None"):
        estimator._checked(None)


@pytest.mark.parametrize(("names", "told"), [([], "none"), (["a", "b"], "'a' and 'b'")])
def test_there_has_to_be_one_exporter(names, told):
    with pytest.raises(ValueError, match=f"the EvalSpec has {told}"):
        estimator._only_exporter(spec(*names), 10)


def test_a_training_without_an_end_has_no_final_export():
    with pytest.raises(ValueError, match="max_steps, which is None"):
        estimator._only_exporter(spec("final"), None)
    assert estimator._only_exporter(spec("final"), 10).name == "final"


def test_the_newest_export_is_taken(tmp_path, capsys):
    for time in ("9", "10", "temp-11"):
        (tmp_path / "export" / "final" / time).mkdir(parents=True)
    trained = SimpleNamespace(model_dir=str(tmp_path))
    found = estimator._exported(trained, FinalExporter("final"))
    assert found == str(tmp_path / "export" / "final" / "10")
    assert "exported 2 models: the last one is published" in capsys.readouterr().out
    with pytest.raises(NothingWritten, match="its exporter 'other' wrote nothing"):
        estimator._exported(trained, FinalExporter("other"))


@pytest.mark.tf
@pytest.mark.parametrize(("for_tensorflow_1", "num_warnings"), [(True, 0), (False, 1)])
def test_a_transform_graph_in_tensorflow_2s_format_is_worth_a_warning(
    tmp_path, monkeypatch, for_tensorflow_1, num_warnings
):
    import tensorflow as tf

    folder = str(tmp_path / "transform_fn")
    if for_tensorflow_1:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            builder = tf.compat.v1.saved_model.Builder(folder)
            builder.add_meta_graph_and_variables(session, ["serve"])
            builder.save()
    else:
        tf.saved_model.save(tf.Module(), folder)
    fn_args, said = FnArgs(transform_output=str(tmp_path)), []
    training._warn_about_the_transform_graph(fn_args, said.append)
    assert said == []
    monkeypatch.setattr(tf, "__version__", "1.15.5")
    training._warn_about_the_transform_graph(fn_args, said.append)
    assert len(said) == num_warnings
    assert all("Transform(force_tf_compat_v1=True)" in text for text in said)
