"""The model check where it counts: between a real run_fn and the store."""

import re

import pytest

from stoker.artifacts import Examples, State
from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.trainer.component import Trainer
from stoker.dsl import Pipeline
from stoker.errors import StepFailed
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]

MODULE = """
import tensorflow as tf

class Model(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(self, examples):
        a = tf.io.parse_example(examples, {"a": tf.io.FixedLenFeature([1], tf.int64)})["a"]
        return {"score": RESULT}

def run_fn(fn_args):
    model = Model()
    tf.saved_model.save(model, fn_args.serving_model_dir, {"serving_default": model.serve})
"""


def run(tmp_path, result, code=MODULE, **given):
    data = tmp_path / "data"
    data.mkdir()
    (data / "rows.csv").write_text("a,b\n" + "".join(f"{n},{n * n}\n" for n in range(30)))
    module = tmp_path / "module.py"
    module.write_text(code.replace("RESULT", result))
    examples = CsvExampleGen(input_base=str(data))
    trainer = Trainer(module_file=str(module), examples=examples.outputs["examples"], **given)
    pipeline = Pipeline("checked", str(tmp_path / "root"), components=[examples, trainer])
    return LocalDagRunner().run(pipeline).outputs["Trainer"]["model"][0]


def test_a_good_model_is_published_with_its_signatures(tmp_path):
    model = run(tmp_path, "tf.cast(a, tf.float32)")
    assert model.custom_properties["signatures"]["serving_default"]["inputs"]["examples"]


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ("tf.math.log(-1.0 - tf.cast(a, tf.float32))", "serving_default.*score"),
        (
            "tf.strings.to_number(tf.strings.as_string(a) + 'x')",
            "serving_default.*not correctly convert",
        ),
    ],
    ids=["NaN", "raises"],
)
def test_a_bad_signature_publishes_nothing(tmp_path, result, why):
    with pytest.raises(StepFailed, match=f"(?s)ModelRejected.*{why}"):
        run(tmp_path, result)
    root = str(tmp_path / "root")
    with Store(Pipeline("checked", root).store_config(root)) as store:
        assert store.artifacts(type_name="Model") == []
        assert len(store.artifacts(type_name="Model", states=[State.ABANDONED])) == 1
        assert store.artifacts(type_name=Examples.TYPE_NAME)


def test_the_check_can_be_switched_off(tmp_path):
    model = run(tmp_path, "tf.math.log(-1.0 - tf.cast(a, tf.float32))", check=False)
    assert "signatures" not in model.custom_properties


MODULE_WITH_WEIGHTS = """
import tensorflow as tf

class Model(tf.Module):
    def __init__(self):
        self.weights = tf.Variable([WEIGHT], name="weights")

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="pixels")])
    def serve(self, pixels):
        return {"score": tf.where(pixels > 2.0, self.weights, pixels)}

    @tf.function(input_signature=[tf.TensorSpec([], tf.string, name="path")])
    def keep(self, path):
        tf.io.write_file(path, "kept")
        return {"path": path}

def run_fn(fn_args):
    model = Model()
    signatures = {"serving_default": model.serve, "keep": model.keep}
    tf.saved_model.save(model, fn_args.serving_model_dir, signatures)
"""


def test_weights_that_are_nan_publish_nothing_though_no_feature_is_named_like_an_input(tmp_path):
    code = MODULE_WITH_WEIGHTS.replace("WEIGHT", "float('nan')")
    with pytest.raises(StepFailed, match=r"not finite: weights \(NaN in 1 of 1 values\)"):
        run(tmp_path, "", code)


def test_what_was_not_called_is_a_line_of_the_run_and_of_its_log(tmp_path, capfd):
    model = run(tmp_path, "", MODULE_WITH_WEIGHTS.replace("WEIGHT", "1.0"))
    line = (
        "Trainer: the model check: serving_default works on made-up values, since the examples "
        "have no feature 'pixels'. keep loads; it was not called: it writes files.\n"
    )
    assert line in capfd.readouterr().err
    (log,) = tmp_path.glob("root/Trainer/model_run/*/log.txt")
    assert line in log.read_text()
    assert (
        "serving_default works on made-up values, since the examples have no feature"
        in (model.custom_properties["model_check"])
    )


MODULE_WITH_FIT = """
IMPORT
import tensorflow as tf
from tfx_bsl.public import tfxio

def run_fn(fn_args):
    options = tfxio.TensorFlowDatasetOptions(batch_size=4, num_epochs=1, shuffle=SHUFFLE)
    data = fn_args.data_accessor.tf_dataset_factory(fn_args.train_files, options)

    def stack(features):
        a = tf.cast(features["a"], tf.float32) / 10.0
        bad = tf.constant([BAD], tf.int64)
        a = tf.where(tf.reduce_any(features["a"] == bad, 1, True), float("nan"), a)
        return tf.concat([a, a], 1), a

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data.map(stack), epochs=2)
    model.export(fn_args.serving_model_dir)
"""
KERAS = {2: "import tf_keras as keras", 3: "import keras"}


def code_with_fit(keras, *, bad=-1, shuffle=False):
    code = MODULE_WITH_FIT.replace("IMPORT", KERAS[keras])
    return code.replace("BAD", str(bad)).replace("SHUFFLE", str(shuffle))


@pytest.mark.slow
@pytest.mark.parametrize("keras", [2, 3])
def test_a_model_of_inputs_without_names_is_called_with_rows_that_fit_was_given(tmp_path, keras):
    model = run(tmp_path, "", code_with_fit(keras), check="required")
    assert "works on rows that fit was given" in model.custom_properties["model_check"]


@pytest.mark.slow
@pytest.mark.parametrize("keras", [2, 3])
def test_a_training_that_stops_on_nan_names_step_and_rows_and_publishes_nothing(
    tmp_path, keras, capfd
):
    code = code_with_fit(keras, bad="*range(20, 30)")
    with pytest.raises(StepFailed, match=r"TrainingDiverged.*stopped: loss is NaN for the first"):
        run(tmp_path, "", code, stop_on_nan=True)
    told = capfd.readouterr().err
    assert re.search(
        r"Trainer: warning: loss is NaN .* at step \d \(epoch 1, batch \d; rows \d", told
    )
    root = str(tmp_path / "root")
    with Store(Pipeline("checked", root).store_config(root)) as store:
        assert store.artifacts(type_name="Model") == []
