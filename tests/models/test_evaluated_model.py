# SPDX-License-Identifier: Apache-2.0
"""Models are asked as TFMA asks them: what is called depends on what the examples have."""

import pytest

from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import BadData

pytestmark = pytest.mark.tf

AS_LIST = list
AS_DICT = dict


def record(**features):
    made = Example()
    for name, value in features.items():
        kind = {float: "float_list", int: "int64_list", bytes: "bytes_list"}[type(value)]
        getattr(made.features.feature[name], kind).value.append(value)
    return made.SerializeToString()


def save_sum(folder, *, inputs_as=AS_DICT, required=True):
    """A Keras 2 model of x_xf + n_xf; its signature makes them of a raw `x`: 10 x, and 1."""
    import tensorflow as tf
    import tf_keras

    layers = {
        "x_xf": tf_keras.Input((1,), name="x_xf"),
        "n_xf": tf_keras.Input((1,), name="n_xf", dtype="int64"),
    }
    total = layers["x_xf"] + tf.cast(layers["n_xf"], tf.float32)
    given = layers if inputs_as is AS_DICT else list(layers.values())
    model = tf_keras.Model(given, total)
    spec = tf.io.FixedLenFeature([1], tf.float32, None if required else 0.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(examples):
        x = tf.io.parse_example(examples, {"x": spec})["x"]
        made = {"x_xf": 10 * x, "n_xf": tf.ones_like(x, tf.int64)}
        return {"total": model(made if inputs_as is AS_DICT else list(made.values()))}

    model.save(str(folder), save_format="tf", signatures={"serving_default": serve})
    return str(folder)


def ask(folder, records, signature_name="", **kwargs):
    from stoker.models.evaluated_model import EvaluatedModel

    (rows,) = EvaluatedModel(folder, signature_name, **{"is_keras": True, **kwargs})(
        records
    ).values()
    return rows.ravel().tolist()


RAW = [record(x=1.0), record(x=2.0)]
TRANSFORMED = [record(x_xf=1.0, n_xf=5), record(x_xf=2.0, n_xf=6)]


@pytest.mark.parametrize("inputs_as", [AS_LIST, AS_DICT])
@pytest.mark.parametrize("required", [True, False])
def test_transformed_examples_go_to_the_keras_model_and_raw_ones_to_its_signature(
    tmp_path, inputs_as, required
):
    folder = save_sum(tmp_path / "model", inputs_as=inputs_as, required=required)
    assert ask(folder, RAW) == [11.0, 21.0]
    assert ask(folder, TRANSFORMED) == [6.0, 8.0]


def test_a_signature_that_is_named_is_asked_whatever_the_examples_have(tmp_path):
    folder = save_sum(tmp_path / "model", required=False)
    assert ask(folder, TRANSFORMED, "serving_default") == [1.0, 1.0]
    assert ask(folder, TRANSFORMED, is_keras=False) == [1.0, 1.0]


def test_a_feature_that_some_transformed_examples_lack_is_named(tmp_path):
    folder = save_sum(tmp_path / "model")
    with pytest.raises(BadData, match=r"Keras model in .* differs in length"):
        ask(folder, [*TRANSFORMED, record(x_xf=1.0)])


@pytest.mark.parametrize("shape", [[None], [None, 1]])
def test_text_that_is_no_feature_is_the_whole_example(tmp_path, capsys, shape):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.string, name="text_xf")])
    def count(text_xf):
        return {"letters": tf.strings.length(text_xf)}

    tf.saved_model.save(tf.Module(), str(tmp_path), {"serving_default": count})
    words = record(text=b"good words")
    assert ask(str(tmp_path), [words]) == [len(words)]
    assert "no feature 'text_xf'" in capsys.readouterr().out
    assert ask(str(tmp_path), [record(text_xf=b"good words")]) == [10]
