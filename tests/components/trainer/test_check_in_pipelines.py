"""The model check where it counts: between a real run_fn and the store."""

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
    line = "Trainer: the model check: keep loads; it was not called: it writes files.\n"
    assert line in capfd.readouterr().err
    (log,) = tmp_path.glob("root/Trainer/model_run/*/log.txt")
    assert line in log.read_text()
    assert (
        "serving_default works on made-up values, since the examples have no feature"
        in (model.custom_properties["model_check"])
    )
