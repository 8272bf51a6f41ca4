# SPDX-License-Identifier: Apache-2.0
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from stoker.any_python.launcher_link import set_sink
from stoker.artifacts import Examples, Model, Schema, TransformGraph
from stoker.components.trainer.before_publishing import ModelCheck
from stoker.components.trainer.component import Trainer
from stoker.data.tfrecord import write_records
from stoker.dsl import Channel
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import ModelRejected
from stoker.launchers.worker import execute
from stoker.task import Task, Workers

ROWS = [{"x": [float(row)], "y": [0.5], "name": [b"row"]} for row in range(12)]
LISTS = {bytes: "bytes_list", float: "float_list", int: "int64_list"}


def serialized(row: dict) -> bytes:
    example = Example()
    for name, values in row.items():
        getattr(example.features.feature[name], LISTS[type(values[0])]).value.extend(values)
    return example.SerializeToString()


def write_examples(folder: Path, rows: list[dict], split: str = "eval") -> Examples:
    artifact = Examples()
    artifact.uri = str(folder)
    artifact.splits = [split]
    write_records(str(folder / f"Split-{split}" / "data.gz"), map(serialized, rows))
    return artifact


@pytest.fixture
def check(tmp_path):
    """Runs the check on the Model in a folder; returns the Model with its properties."""

    def run(folder: Path = tmp_path / "model", rows: list[dict] = ROWS, inputs=(), **properties):
        model = Model()
        model.uri = str(folder)
        examples = write_examples(tmp_path / "examples", rows)
        ModelCheck().Do({"examples": [examples], **dict(inputs)}, {"model": [model]}, properties)
        return model

    return run


def test_a_model_without_any_file_is_refused(check, tmp_path):
    (tmp_path / "model" / "Format-Serving").mkdir(parents=True)

    with pytest.raises(ModelRejected, match="nothing was saved there"):
        check()


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, ["ModelCheck"]),
        ({"rewrite": ["tflite"]}, ["ModelCheck", "Rewrite"]),
        ({"rewrite": ["tflite"], "check": False}, ["Rewrite"]),
        ({"check": False}, []),
        ({"check": "required"}, ["ModelCheck"]),
    ],
)
def test_a_trainer_says_what_sees_its_model_before_it_is_published(given, names):
    trainer = Trainer(module_file="module.py", examples=Channel(type=Examples), **given)

    assert [check.partition(":")[2] for check in trainer.checks] == names


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"check": "always"}, "True, False or \"required\", got 'always'"),
        ({"stop_on_nan": True, "watch": False}, "stop_on_nan or watch=False, not both"),
        ({"stop_on_nan": True, "python": "python3.8"}, "stop_on_nan or python=…, not both"),
        ({"steps_per_execution": 0}, "a number from 1 on, got 0"),
        ({"steps_per_execution": 2, "watch": False}, "steps_per_execution or watch=False, not"),
        ({"workers": "2"}, "takes Workers or a number, got '2'"),
        ({"workers": 0}, "takes a whole number from 1 on, got 0"),
    ],
)
def test_a_trainer_refuses_what_it_could_not_keep(given, why):
    with pytest.raises(ValueError, match=why):
        Trainer(module_file="module.py", examples=Channel(type=Examples), **given)


def test_a_number_of_workers_is_as_good_as_workers():
    given = {"module_file": "module.py", "examples": Channel(type=Examples)}
    assert Trainer(**given, workers=2).workers == Trainer(**given, workers=Workers(2)).workers


@pytest.fixture
def save(tmp_path):
    """Saves a function that takes parsed features, as a signature on serialized examples."""

    def save_one(function, spec, *, folder="Format-Serving", name="serving_default"):
        import tensorflow as tf

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
        def serve(examples):
            return {"score": function(tf.io.parse_example(examples, spec))}

        save_signatures(tmp_path / "model" / folder, {name: serve})

    return save_one


def save_signatures(folder: Path, signatures: dict) -> None:
    import tensorflow as tf

    module = tf.Module()
    module.functions = signatures
    tf.saved_model.save(module, str(folder), signatures=signatures)


def fixed(*names: str) -> dict:
    import tensorflow as tf

    return {name: tf.io.FixedLenFeature([1], tf.float32) for name in names}


@pytest.fixture(scope="module", params=[2, 3])
def keras_models(request, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("keras")
    script = Path(__file__).parent / "keras_models.py"
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": str(int(request.param == 2))}
    subprocess.run([sys.executable, script, folder], env=environment, check=True)
    return folder


@pytest.mark.tf
def test_a_good_keras_model_is_called_and_described(keras_models, check):
    for folder in (path for path in keras_models.iterdir() if path.name != "export"):
        model = check(folder)

        assert model.get_string_custom_property("model_type") == "SavedModel"
        assert model.get_string_custom_property("model_check") == (
            "serving_default works on 8 eval examples."
        )
        assert model.get_custom_property("signatures")["serving_default"] == {
            "inputs": {"examples": {"dtype": "string", "shape": [-1]}},
            "outputs": {"outputs": {"dtype": "float32", "shape": [-1, 2]}},
        }


@pytest.mark.tf
def test_a_signature_on_plain_tensors_is_called_on_the_features_of_those_names(keras_models, check):
    model = check(keras_models / "export")

    assert "serving_default works on 8 eval examples." in (
        model.get_string_custom_property("model_check")
    )
    assert sorted(model.get_custom_property("signatures")["serving_default"]["inputs"]) == [
        "x",
        "y",
    ]


@pytest.mark.tf
def test_a_signature_that_raises_is_named_with_the_example_and_the_reason(check, save):
    import tensorflow as tf

    save(lambda features: tf.gather([1.0, 2.0, 3.0], tf.cast(features["x"], tf.int32)), fixed("x"))

    with pytest.raises(ModelRejected) as raised:
        check()

    first, second = str(raised.value).splitlines()
    assert first.startswith("The signature 'serving_default' of the model in ")
    assert first.endswith("fails on an eval example: indices[0,0] = 3 is not in [0, 3).")
    assert second.startswith("The example: x=[3.0]. Fix the signature, or publish")
    assert second.endswith("Trainer(check=False).")


@pytest.mark.tf
def test_an_output_that_is_not_finite_is_named_with_the_example(check, save):
    import tensorflow as tf

    save(lambda features: tf.math.log(5.0 - features["x"]), fixed("x", "y"))

    with pytest.raises(ModelRejected, match=r"its output 'score' is -inf\.\nThe example: x=\[5\.0"):
        check()


@pytest.mark.tf
def test_a_feature_that_the_raw_examples_lack_is_named(check, save):
    save(lambda features: features["z"], fixed("x", "z"))

    with pytest.raises(ModelRejected, match="have no feature 'z', which it requires"):
        check()


@pytest.mark.tf
def test_examples_that_lack_an_optional_feature_or_hold_nan_are_no_ones_fault(check, save):
    rows = [{"y": [0.5]}, {"x": [float("nan")]}, {"x": [1.0]}, {"x": [2.0, 3.0]}]
    save(lambda features: features["x"], fixed("x"))

    model = check(rows=rows)

    assert "works on 1 eval example." in model.get_string_custom_property("model_check")


def transform_graph(folder: Path, *, raw: str, transformed: str) -> TransformGraph:
    for name, feature in (("metadata", raw), ("transformed_metadata", transformed)):
        (folder / name).mkdir(parents=True)
        (folder / name / "schema.pbtxt").write_text(feature)
    artifact = TransformGraph()
    artifact.uri = str(folder)
    return artifact


@pytest.fixture
def transformed(tmp_path):
    """The inputs of a Trainer whose examples hold x_xf, made from the raw words in `word`."""
    domain = 'string_domain { value: "one" value: "two" }'
    graph = transform_graph(
        tmp_path / "graph",
        raw=f'feature {{ name: "word" type: BYTES {domain} }}',
        transformed='feature { name: "x_xf" type: FLOAT }',
    )
    return {"rows": [{"x_xf": [1.0]}], "inputs": {"transform_graph": [graph]}}


def word_spec() -> dict:
    import tensorflow as tf

    return {"word": tf.io.FixedLenFeature([1], tf.string)}


@pytest.mark.tf
def test_a_signature_on_raw_examples_is_called_with_some_made_up_from_the_raw_schema(
    check, save, transformed
):
    import tensorflow as tf

    def length_of_known_words(features):
        is_known = (features["word"] == "one") | (features["word"] == "two")
        known = tf.debugging.Assert(tf.reduce_all(is_known), ["unknown word"])
        with tf.control_dependencies([known]):
            return tf.strings.length(features["word"])

    save(length_of_known_words, word_spec())

    model = check(**transformed)

    assert model.get_string_custom_property("model_check") == (
        "serving_default works on 8 made-up raw examples (word one of 2 words)."
    )


@pytest.mark.tf
def test_what_fails_on_made_up_examples_only_is_published_with_a_note(check, save, transformed):
    import tensorflow as tf

    save(lambda features: tf.strings.to_number(features["word"]), word_spec())

    model = check(**transformed)

    assert "could not be judged by made-up raw examples: " in (
        model.get_string_custom_property("model_check")
    )


@pytest.mark.tf
def test_a_signature_on_transformed_examples_has_to_work_on_them(check, save, transformed):
    save(lambda features: features["x_xf"] / 0.0, fixed("x_xf"))

    with pytest.raises(ModelRejected, match="is inf"):
        check(**transformed)


@pytest.mark.tf
def test_a_feature_that_is_raw_and_transformed_under_one_name_decides_nothing(check, tmp_path):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.float32, name="x")])
    def serve(x):
        return {"score": 1.0 / (x - 1.0)}

    feature = 'feature { name: "x" type: FLOAT }'
    graph = transform_graph(tmp_path / "graph", raw=feature, transformed=feature)
    save_signatures(tmp_path / "model" / "Format-Serving", {"serving_default": serve})

    model = check(rows=[{"x": [1.0]}], inputs={"transform_graph": [graph]})

    assert model.get_string_custom_property("model_check") == (
        "serving_default loads; it could not be judged by eval examples: its output 'score' is inf."
    )


@pytest.mark.tf
@pytest.mark.parametrize(
    ("name", "shape", "dtype", "outcome"),
    [
        ("x", [None], "float64", "works on 8 eval examples"),
        ("x", [None, 1, 1], "int32", "works on 8 eval examples"),
        ("x", [3, 1], "float32", "works on 3 eval examples"),
        ("x", [None, 2], "float32", "'x' has the shape [-1, 2], and the feature 1 values"),
        ("y", [None, 1], "int64", "which cannot hold what the feature has"),
        ("z", [None, 1], "float32", "works on made-up values, since the examples have no feature"),
        ("z", None, "int32", "works on made-up values"),
        ("z", [], "bool", "works on made-up values"),
        ("z", [4, None, None], "bfloat16", "works on made-up values"),
        ("z", [1 << 14, 1 << 14], "int8", "not called: the examples have no feature 'z', and 'z' "),
        ("name", [None], "float32", "'name' takes float32, and the feature is string"),
        ("name", [None], "string", "works on 8 eval examples"),
        ("text", [None], "string", "works on made-up values, since the examples have no feature"),
    ],
)
def test_a_plain_tensor_is_fed_only_what_fits_it(check, tmp_path, name, shape, dtype, outcome):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec(shape, dtype, name=name)])
    def serve(value):
        return {"same": tf.identity(value)}

    save_signatures(tmp_path / "model" / "Format-Serving", {"only_one": serve})

    assert outcome in check().get_string_custom_property("model_check")


@pytest.mark.tf
def test_every_saved_model_below_the_folder_is_checked(check, save):
    save(lambda features: features["x"], fixed("x"), folder="Format-Serving/good")
    save(lambda features: features["x"], fixed("x"), folder="Format-Serving/large/1", name="rank")

    model = check()

    assert sorted(model.get_custom_property("signatures")) == [
        "good/serving_default",
        "large/1/rank",
    ]
    assert model.get_string_custom_property("model_check") == (
        "good/serving_default works on 8 eval examples. large/1/rank works on 8 eval examples."
    )


@pytest.mark.tf
def test_one_bad_model_among_several_is_named(check, save):
    save(lambda features: features["x"], fixed("x"), folder="Format-Serving/good")
    save(lambda features: features["x"] / 0.0, fixed("x"), folder="Format-Serving/large")

    with pytest.raises(ModelRejected, match="'large/serving_default'"):
        check()


def test_a_model_that_is_no_saved_model_is_not_loaded(check, tmp_path):
    (tmp_path / "model" / "Format-Serving").mkdir(parents=True)
    (tmp_path / "model" / "Format-Serving" / "model.pkl").write_bytes(pickle.dumps([1.0]))

    model = check()

    assert model.custom_properties == {
        "model_type": "files",
        "model_check": "It was not loaded: there is no SavedModel among its files.",
    }


@pytest.mark.tf
@pytest.mark.parametrize("content", [b"", b"not a model", b"\xff" * 100])
def test_a_broken_file_is_named(check, tmp_path, content):
    (tmp_path / "model" / "Format-Serving").mkdir(parents=True)
    (tmp_path / "model" / "Format-Serving" / "saved_model.pb").write_bytes(content)

    with pytest.raises(ModelRejected, match=r"Format-Serving/saved_model\.pb is not a SavedModel"):
        check()


@pytest.mark.tf
def test_a_saved_model_with_damaged_variables_does_not_load(check, keras_models, tmp_path):
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", keras_models / "save", copy], check=True)
    (copy / "Format-Serving" / "variables" / "variables.index").write_bytes(b"x")

    with pytest.raises(ModelRejected, match="copy/Format-Serving does not load: "):
        check(copy)


@pytest.mark.tf
def test_a_model_without_eval_examples_is_called_with_made_up_ones(check, save):
    save(lambda features: features["x"], fixed("x"))

    model = check(rows=[])

    assert model.get_string_custom_property("model_check") == (
        "serving_default works on made-up values, since the eval split has no examples."
    )


@pytest.mark.tf
def test_the_splits_are_those_of_the_eval_args(check, save):
    save(lambda features: features["x"], fixed("x"))

    model = check(eval_args=json.dumps({"splits": ["other"]}))

    assert "the eval split has no examples" in model.get_string_custom_property("model_check")


def write_eval_model(folder: Path) -> None:
    """A graph with the tag and the signature of an EvalSavedModel."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        inputs = {"examples": v1.placeholder(tf.string, [None])}
        outputs = {"loss": tf.constant(0.5)}
        signature = v1.saved_model.predict_signature_def(inputs, outputs)
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(session, ["eval"], {"eval": signature})
        builder.save()


@pytest.mark.tf
def test_an_eval_model_is_loaded_and_described(check, save, tmp_path):
    save(lambda features: features["x"], fixed("x"))
    write_eval_model(tmp_path / "model" / "Format-TFMA")

    model = check()

    assert model.get_string_custom_property("model_check").endswith(". Format-TFMA loads.")
    assert model.get_custom_property("signatures")["Format-TFMA/eval"]["outputs"] == {
        "loss": {"dtype": "float32", "shape": []}
    }


@pytest.mark.tf
def test_an_eval_model_that_is_damaged_is_rejected(check, save, tmp_path):
    save(lambda features: features["x"], fixed("x"))
    write_eval_model(tmp_path / "model" / "Format-TFMA")
    (tmp_path / "model" / "Format-TFMA" / "saved_model.pb").write_bytes(b"x")

    with pytest.raises(ModelRejected, match="Format-TFMA"):
        check()


@pytest.mark.tf
def test_a_model_of_tensorflow_1_is_called_through_its_serving_graph(check, tmp_path):
    import tensorflow as tf

    v1 = tf.compat.v1
    builder = v1.saved_model.Builder(str(tmp_path / "model" / "Format-Serving"))
    with tf.Graph().as_default(), v1.Session() as session:
        examples = v1.placeholder(tf.string, [None])
        outputs = {"x": v1.io.parse_example(examples, fixed("x"))["x"]}
        signature = v1.saved_model.predict_signature_def({"examples": examples}, outputs)
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.add_meta_graph(["serve", "tpu"])
        builder.save()

    model = check()

    assert model.get_string_custom_property("model_check") == (
        "serving_default works on 8 eval examples."
    )


@pytest.mark.tf
def test_an_op_that_is_not_known_here_is_not_held_against_the_model(check, save, tmp_path):
    import tensorflow as tf

    save(lambda features: tf.math.softplus(features["x"]), fixed("x"))
    file = tmp_path / "model" / "Format-Serving" / "saved_model.pb"
    file.write_bytes(file.read_bytes().replace(b"Softplus", b"Softmine"))

    model = check()

    assert "an op of a library that was not imported" in (
        model.get_string_custom_property("model_check")
    )
    assert "serving_default" in model.get_custom_property("signatures")


@pytest.fixture
def outcome(tmp_path):
    """Runs the check as a worker does; returns the outcome."""

    def run():
        model = Model()
        model.uri = str(tmp_path / "model")
        task = Task(
            pipeline_name="p",
            run_id="r",
            node_id="Trainer",
            execution_id=1,
            executor="stoker.components.trainer.before_publishing:ModelCheck",
            inputs={"examples": [write_examples(tmp_path / "examples", ROWS)]},
            outputs={"model": [model]},
        )
        return execute(Task.from_json(task.to_json()))

    return run


@pytest.mark.tf
def test_what_a_worker_finds_out_reaches_the_runner(outcome, save):
    save(lambda features: features["x"], fixed("x"))

    (model,) = outcome().outputs["model"]

    assert model["custom_properties"]["model_type"] == "SavedModel"
    assert "serving_default" in model["custom_properties"]["signatures"]


@pytest.mark.tf
def test_a_rejection_reaches_the_runner_without_our_own_traceback(outcome, save):
    save(lambda features: features["x"] / 0.0, fixed("x"))

    failure = outcome().failure

    assert failure.kind == "ModelRejected"
    assert failure.message.startswith("The signature 'serving_default'")
    assert failure.traceback == ""


SCHEMA = """
feature { name: "age" type: INT int_domain { min: 17 max: 90 } }
feature { name: "share" type: FLOAT float_domain { min: 2.0 max: 3.0 } }
feature { name: "sex" type: BYTES domain: "sexes" }
feature { name: "scores" type: FLOAT shape { dim { size: 6 } } }
string_domain { name: "sexes" value: "Female" value: "Male" }
"""


@pytest.fixture
def schema(tmp_path):
    artifact = Schema()
    artifact.uri = str(tmp_path / "schema")
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "schema.pbtxt").write_text(SCHEMA)
    return {"schema": [artifact]}


def save_a_model_for_adults(folder: Path) -> None:
    """It answers what it was not made for, such as an age of 1, with an error."""
    import tensorflow as tf

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 1], tf.int64, name="age"),
            tf.TensorSpec([None], tf.string, name="sex_input"),
            tf.TensorSpec([None, None], tf.float32, name="scores"),
            tf.TensorSpec([None, 1], tf.float32, name="share"),
        ]
    )
    def serve(age, sex_input, scores, share):
        checks = [
            tf.debugging.Assert(tf.reduce_all((age >= 17) & (age <= 90)), [age]),
            tf.debugging.Assert(
                tf.reduce_all((sex_input == "Female") | (sex_input == "Male")), [0]
            ),
            tf.debugging.Assert(tf.shape(scores)[1] == 6, [scores]),
            tf.debugging.Assert(tf.reduce_all((share >= 2.0) & (share <= 3.0)), [share]),
        ]
        with tf.control_dependencies(checks):
            return {"score": tf.reduce_sum(scores, 1) + tf.cast(age[:, 0], tf.float32)}

    save_signatures(folder, {"serving_default": serve})


@pytest.mark.tf
def test_where_no_example_fits_the_values_are_those_of_the_schema_and_told(check, schema, tmp_path):
    told = []
    save_a_model_for_adults(tmp_path / "model" / "Format-Serving")

    set_sink(told.append)
    try:
        model = check(rows=[], inputs=schema, check="required")
    finally:
        set_sink(None)

    what = (
        "serving_default works on values from the schema (age 17 to 90, scores plain, sex_input "
        "one of 2 words and 1 more), since the eval split has no examples."
    )
    assert model.get_string_custom_property("model_check") == what
    assert [one["text"] for one in told if "text" in one] == [f"the model check: {what}"]


@pytest.mark.tf
def test_a_model_that_answers_nan_to_the_schemas_values_and_all_others_is_rejected(
    check, schema, tmp_path
):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.float32, name="share")])
    def serve(share):
        return {"score": tf.math.log(-share - 1.0)}

    save_signatures(tmp_path / "model" / "Format-Serving", {"serving_default": serve})
    with pytest.raises(ModelRejected, match="no finite number for any made-up values"):
        check(rows=[], inputs=schema)


@pytest.mark.tf
def test_a_parser_without_examples_gets_what_the_schema_says(check, save, schema):
    import tensorflow as tf

    def refuse_children(features):
        adults = tf.debugging.Assert(tf.reduce_all(features["age"] >= 17), [features["age"]])
        with tf.control_dependencies([adults]):
            return features["age"] * 2

    save(refuse_children, {"age": tf.io.FixedLenFeature([1], tf.int64)})

    assert check(rows=[], inputs=schema).get_string_custom_property("model_check") == (
        "serving_default works on made-up values (age 17 to 90), since the eval split has no "
        "examples."
    )
