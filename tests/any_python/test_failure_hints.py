# SPDX-License-Identifier: Apache-2.0
"""What to do about an error of the user's own code, where that is known."""

import pytest

from stoker.any_python.failures import input_hint, missing_folder_hint


def write(path):
    with pytest.raises((FileNotFoundError, IsADirectoryError)) as caught, open(path, "w"):
        pass
    return caught.value


def test_a_model_that_is_written_into_a_folder_nobody_made_is_told_how(tmp_path):
    model = tmp_path / "model" / "4"
    model.mkdir(parents=True)
    hint = missing_folder_hint(write(model / "Format-Serving" / "1" / "model.pkl"))
    assert f"There is no folder {model}/Format-Serving/1. Make it first" in hint


def test_any_other_error_has_no_such_hint(tmp_path):
    (tmp_path / "Format-Serving").mkdir()
    assert missing_folder_hint(write(tmp_path / "elsewhere" / "model.pkl")) == ""
    assert missing_folder_hint(write(tmp_path / "Format-Serving")) == ""
    assert missing_folder_hint(KeyError("Format-Serving")) == ""


def test_a_loss_that_is_given_words_is_told_how_to_make_numbers_of_them():
    error = RuntimeError("Graph execution error: Cast string to float is not supported")
    assert "StringLookup" in input_hint(error)


def test_a_plain_reader_of_gzip_files_is_told_how_to_read_them():
    error = RuntimeError("Graph execution error:\ncorrupted record at 0 (Is this even a TFRecord?)")
    assert "compression_type='GZIP'" in input_hint(error)


@pytest.mark.tf
def test_what_no_example_can_hold_is_to_be_cast():
    tf = pytest.importorskip("tensorflow")
    schema_inference = pytest.importorskip("tensorflow_transform.schema_inference")
    with tf.Graph().as_default() as graph, pytest.raises(ValueError) as raised:  # noqa: PT011
        schema_inference.infer_feature_schema({"x": tf.zeros([1], tf.float64)}, graph)
    assert "tf.cast(value, tf.float32)" in input_hint(raised.value)


@pytest.mark.tf
@pytest.mark.parametrize("name", ["class", "has balcony?", "Größe"])
def test_an_input_whose_name_no_saved_model_can_have_is_told_so(tmp_path, name):
    tf_keras = pytest.importorskip("tf_keras")
    inputs = {name: tf_keras.Input(shape=(1,), name=name)}
    model = tf_keras.Model(inputs, tf_keras.layers.Dense(1)(inputs[name]))
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        model.save(tmp_path / "model", save_format="tf")
    assert "name='has_balcony'" in input_hint(raised.value)


def test_a_layer_that_is_given_a_sparse_tensor_is_told_how_to_fill_it():
    error = TypeError("Failed to convert elements of SparseTensor(indices=…) to Tensor.")
    assert "tf.sparse.to_dense" in input_hint(error)
    assert input_hint(TypeError("no")) == ""
    assert input_hint(KeyError("SparseTensor")) == ""
