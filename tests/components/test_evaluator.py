# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

import pytest
from evaluated_models import labelled_channel, save_classifier, save_compiled, save_opposite
from evaluating import at_least, config, evaluate
from served_models import model_channel

from stoker.components.evaluator import Evaluator
from stoker.components.pusher import Pusher
from stoker.data.column_file import ColumnWriter
from stoker.data.decode import decode
from stoker.data.tfrecord import read_records, write_records
from stoker.dsl import Pipeline
from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.errors import StokerError
from stoker.evaluation.results import read_metrics, read_validation
from stoker.runner import LocalDagRunner

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return model_channel(tmp_path_factory.mktemp("model"), save_classifier)


@pytest.fixture(scope="module")
def worse(tmp_path_factory):
    return model_channel(tmp_path_factory.mktemp("worse"), save_opposite)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    return labelled_channel(tmp_path_factory.mktemp("examples"))


def not_less_than_before():
    return {"change_threshold": {"absolute": -0.001, "direction": "HIGHER_IS_BETTER"}}


def run(tmp_path, *steps):
    pipeline = Pipeline("evaluate", str(tmp_path / "root"), components=steps)
    done = LocalDagRunner().run(pipeline)
    return [done.outputs[step.id] for step in steps]


def test_a_good_model_is_blessed_and_a_worse_one_is_not(tmp_path, model, worse, examples, capfd):
    accuracy = {"class_name": "BinaryAccuracy", "threshold": at_least(0.6)}
    auc = {
        "class_name": "AUC",
        "per_slice_thresholds": [
            {"slicing_specs": [{"feature_keys": ["color"]}], "threshold": at_least(0.99)}
        ],
    }
    changed = {
        "class_name": "BinaryAccuracy",
        "threshold": {**at_least(0.6), **not_less_than_before()},
    }
    by_color = ({}, {"feature_keys": ["color"]})
    good = Evaluator(examples=examples, model=model, eval_config=config(accuracy)).with_id("good")
    strict = Evaluator(
        examples=examples, model=model, eval_config=config(accuracy, auc, slices=by_color)
    ).with_id("strict")
    compared = Evaluator(
        examples=examples, model=worse, baseline_model=model, eval_config=config(changed)
    ).with_id("compared")

    for_good, for_strict, for_compared = run(tmp_path, good, strict, compared)

    (blessing,) = for_good["blessing"]
    assert blessing.get_int_custom_property("blessed") == 1
    assert blessing.get_string_custom_property("current_model") == model.get()[0].uri
    assert Path(blessing.uri, "BLESSED").exists()
    (refused,) = for_strict["blessing"]
    assert refused.get_int_custom_property("blessed") == 0
    verdict = read_validation(for_strict["evaluation"][0].uri)
    assert len(verdict.metric_validations_per_slice) == 3
    (worse_one,) = for_compared["blessing"]
    assert Path(worse_one.uri, "NOT_BLESSED").exists()
    assert worse_one.has_custom_property("baseline_model_id")
    told = capfd.readouterr().out
    assert "Evaluator runs on Stoker's own engine" in told
    assert "auc of color=red is 0.8" in told
    assert "binary_accuracy (change) of all examples is -0." in told


def test_the_first_run_without_a_baseline_is_judged_by_values_alone(tmp_path, model, examples):
    from stoker.artifacts import Model
    from stoker.dsl import Channel

    both = {
        "class_name": "BinaryAccuracy",
        "threshold": {**at_least(0.6), **not_less_than_before()},
    }
    nothing_yet = Channel(Model, artifacts=[])
    step = Evaluator(
        examples=examples, model=model, baseline_model=nothing_yet, eval_config=config(both)
    )

    evaluation, blessing = evaluate(
        tmp_path, step, examples=examples, model=model, baseline_model=nothing_yet
    )

    assert blessing.get_int_custom_property("blessed") == 1
    assert read_validation(evaluation.uri).rubber_stamp


def test_labels_may_come_from_a_signature_of_the_model(tmp_path, model, examples):
    step = Evaluator(
        examples=examples,
        model=model,
        eval_config=config(
            {"class_name": "MeanLabel"},
            label_key="label_xf",
            preprocessing_function_names=["features"],
            slices=({"feature_keys": ["label_name"]},),
        ),
    )

    evaluation, blessing = evaluate(tmp_path, step, examples=examples, model=model)

    means = {key: list(values.values()) for key, values in read_metrics(evaluation.uri).items()}
    assert means == {(("label_name", "0"),): [1.0], (("label_name", "1"),): [0.0]}
    assert not blessing.has_custom_property("blessed")


def test_columns_are_read_where_there_are_some_and_say_the_same(tmp_path, model, monkeypatch):
    examples = labelled_channel(tmp_path / "examples", 5000)
    metrics = [{"class_name": "AUC"}, {"class_name": "Calibration"}]
    slices = ({}, {"feature_keys": ["color", "tags"]}, {"feature_values": {"size": "1"}})
    step = Evaluator(examples=examples, model=model, eval_config=config(*metrics, slices=slices))
    decoded, _ = evaluate(tmp_path / "decoded", step, examples=examples, model=model)
    shard = str(tmp_path / "examples" / "Split-eval" / "data.gz")
    with ColumnWriter(shard) as writer:
        for batch in decode(read_records(shard)):
            writer.write(batch)
    monkeypatch.delattr("stoker.models.scoring.decode")

    mapped, _ = evaluate(tmp_path / "mapped", step, examples=examples, model=model)

    assert read_metrics(mapped.uri) == read_metrics(decoded.uri)
    assert len(read_metrics(mapped.uri)) == 11


def test_a_configuration_of_tfma_s_own_class_is_taken_by_its_name(examples, model):
    given = EvalConfig(metrics_specs=[{"metrics": [{"class_name": "AUC"}]}])
    step = Evaluator(examples=examples, model=model, eval_config=given)

    assert '"class_name": "AUC"' in step.exec_properties["eval_config"]
    with pytest.raises(TypeError, match="takes an EvalConfig, got ModelSpec"):
        Evaluator(examples=examples, model=model, eval_config=given.model_specs.add())


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"label_key": "color"}, "the label.*|'color' is text, such as b'"),
        ({"label_key": "x"}, "labels have 2 values per example, and the predictions one value"),
        ({"label_key": "tags"}, "'tags' is text"),
        ({"label_key": "weight", "signature_name": "classes"}, "is no class of the model"),
        ({"prediction_key": "scor", "signature_name": "features"}, "Did you mean|is none of them"),
        ({"metric": "TopKCategoricalAccuracy"}, r"pip install 'stoker\[evaluator\]'"),
        ({"label_key": "class", "metric": "Recall"}, "takes labels from 0 to 1, and one is 2"),
    ],
)
def test_what_cannot_be_evaluated_is_told_before_anything_is_blessed(
    tmp_path, model, examples, changes, told
):
    refuses(tmp_path, model, examples, changes, told)


@pytest.mark.parametrize("engine", [None, "tfma"])
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"label_key": "lable"}, "no feature 'lable'.* Did you mean 'label'.* They have amount"),
        ({"label_key": "color"}, "label 'color' is text"),
        ({"label_key": "name", "signature_name": "colors"}, "is 'mauve' in an example, .* 'red',"),
        ({"signature_name": "nothing"}, "no signature 'nothing'; it has classes"),
        ({"example_weight_key": "wieght"}, "the example weight.* Did you mean 'weight'"),
        ({"metric": "AUCC"}, "no metric 'AUCC'. Did you mean 'AUC'"),
        ({"example_splits": ["evil"]}, r"has no split 'evil'; it has \['eval'\]"),
        ({"records": []}, "There are no examples to evaluate"),
        ({"records": [b"?"]}, "data.gz: A record is not the tf.Example that it should be"),
        ({"model_bias": float("nan")}, "output 'score' is not a number .NaN. 600 times"),
    ],
)
def test_either_engine_refuses_before_anything_is_blessed(
    tmp_path, model, examples, changes, told, engine, monkeypatch
):
    # What is told here is told before TFMA is imported.
    monkeypatch.setattr("stoker.evaluation.chosen_engine.tfma_is_installed", lambda: True)
    refuses(tmp_path, model, examples, changes, told, engine=engine)


def refuses(tmp_path, model, examples, changes, told, engine=None):
    changes = {**changes}
    if "records" in changes:
        examples = labelled_channel(tmp_path / "examples", 0)
        shard = str(tmp_path / "examples" / "Split-eval" / "data.gz")
        write_records(shard, changes.pop("records"))
    if "model_bias" in changes:
        bias = changes.pop("model_bias")
        model = model_channel(tmp_path / "model", lambda folder: save_classifier(folder, bias))
    thresholds = {name: at_least(0) for name in changes.pop("thresholds", ())}
    splits = changes.pop("example_splits", None)
    metric = {"class_name": changes.pop("metric", "BinaryAccuracy"), "threshold": at_least(0)}
    given = config(metric, **changes)
    given["metrics_specs"][0]["thresholds"] = thresholds

    def declare_and_run():
        step = Evaluator(
            examples=examples, model=model, eval_config=given, engine=engine, example_splits=splits
        )
        evaluate(tmp_path, step, examples=examples, model=model)

    with pytest.raises((StokerError, ValueError), match=told):
        declare_and_run()
    assert not list(tmp_path.glob("blessing/*"))


def test_there_are_no_slices_by_a_feature_that_no_example_has(tmp_path, model, examples, capfd):
    """As with TFMA: many pipelines have slicing_specs that were copied from another data set."""
    accuracy = {"class_name": "BinaryAccuracy", "threshold": at_least(0.6)}
    slices = ({}, {"feature_keys": ["colour", "partner"]}, {"feature_values": {"color": "red"}})
    given = config(accuracy, slices=slices)
    step = Evaluator(examples=examples, model=model, eval_config=given)

    evaluation, blessing = evaluate(tmp_path, step, examples=examples, model=model)

    assert blessing.get_int_custom_property("blessed") == 1
    assert set(read_metrics(evaluation.uri)) == {(), (("color", "red"),)}
    told = capfd.readouterr().out
    assert "no feature 'colour', which a slicing_spec names. Did you mean 'color'?" in told


def test_a_threshold_for_slices_that_there_are_not_is_not_held(tmp_path, model, examples):
    accuracy = {"class_name": "BinaryAccuracy", "threshold": at_least(0)}
    given = config(accuracy, slices=({"feature_keys": ["colour"]},))
    step = Evaluator(examples=examples, model=model, eval_config=given)
    _, blessing = evaluate(tmp_path, step, examples=examples, model=model)
    assert blessing.get_int_custom_property("blessed") == 0


def test_a_pipeline_that_cannot_be_evaluated_pushes_nothing(tmp_path, model, examples):
    accuracy = {"class_name": "BinaryAccuracy", "threshold": at_least(0.6)}
    given = config(accuracy, label_key="lable")
    evaluator = Evaluator(examples=examples, model=model, eval_config=given)
    destination = {"filesystem": {"base_directory": str(tmp_path / "served")}}
    pusher = Pusher(
        model=model, model_blessing=evaluator.outputs["blessing"], push_destination=destination
    )

    with pytest.raises(StokerError, match="no feature 'lable', which is to be the label"):
        run(tmp_path, evaluator, pusher)
    assert not list(tmp_path.glob("root/Evaluator/blessing/*/*BLESSED"))
    assert not (tmp_path / "served").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (config({"class_name": "AUCC"}), "no metric 'AUCC'. Did you mean 'AUC'"),
        (config({"class_name": "NDCG"}), r"only TFMA has the metric NDCG.*stoker\[evaluator\]"),
        (config({"class_name": "AUC", "cross_slice_thresholds": [{}]}), "cross_slice_thresholds"),
        ({"model_specs": [{"name": "a"}, {"name": "b"}]}, "names 'a', 'b'. An Evaluator has one"),
    ],
)
def test_what_no_model_can_change_is_told_when_the_step_is_declared(examples, model, given, told):
    with pytest.raises((StokerError, ValueError), match=told):
        Evaluator(examples=examples, model=model, eval_config=given)


def test_metrics_that_a_model_was_compiled_with_are_computed(tmp_path, examples, capsys):
    compiled = model_channel(tmp_path / "m", lambda folder: save_compiled(folder, [1.5, -2.0]))
    given = {
        "model_specs": [{"label_key": "label"}],
        "metrics_specs": [{"thresholds": {"accuracy": at_least(0.6), "area": at_least(0.99)}}],
    }
    step = Evaluator(examples=examples, model=compiled, eval_config=given)

    evaluation, blessing = evaluate(tmp_path, step, examples=examples, model=compiled)

    assert blessing.get_int_custom_property("blessed") == 0
    names = {one.name for one in read_metrics(evaluation.uri)[()]}
    assert names >= {"accuracy", "area", "mae", "loss"}
    assert "area of all examples is 0.8" in capsys.readouterr().out


def test_the_oldest_way_to_name_slices_is_about_an_estimator(examples, model):
    slicing = {"specs": [{"columnForSlicing": ["payment"]}, {}]}
    evaluator = Evaluator(examples=examples, model=model, feature_slicing_spec=slicing)
    config = json.loads(evaluator.exec_properties["eval_config"])
    assert config["model_specs"] == [{"signature_name": "eval"}]
    assert config["slicing_specs"] == [{"feature_keys": ["payment"]}, {}]


@pytest.mark.parametrize(
    ("threshold", "verdict"),
    [
        ({**at_least(0.6), **not_less_than_before()}, 1),
        ({**at_least(0.99), **not_less_than_before()}, 0),
        (not_less_than_before(), None),
    ],
)
def test_without_a_baseline_values_alone_decide(tmp_path, model, examples, threshold, verdict):
    given = config({"class_name": "BinaryAccuracy", "threshold": threshold})
    step = Evaluator(examples=examples, model=model, eval_config=given)

    _, blessing = evaluate(tmp_path, step, examples=examples, model=model)

    assert blessing.custom_properties.get("blessed") == verdict


def test_a_label_that_is_no_class_is_told(tmp_path, model, examples):
    given = config(
        {"class_name": "SparseCategoricalAccuracy"}, label_key="weight", signature_name="classes"
    )
    step = Evaluator(examples=examples, model=model, eval_config=given)

    with pytest.raises(StokerError, match="is no class of the model, which has 3: 0 to 2"):
        evaluate(tmp_path, step, examples=examples, model=model)
