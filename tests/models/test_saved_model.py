# SPDX-License-Identifier: Apache-2.0
import pytest

from stoker.errors import ModelRejected

pytestmark = pytest.mark.tf


@pytest.fixture
def read(tmp_path):
    """Saves a function of serialized examples, and reads what its signature says about it."""

    def save_and_read(function, shape=(None,)):
        import tensorflow as tf

        from stoker.models.saved_model import read_graphs

        spec = tf.TensorSpec(shape, tf.string, name="examples")
        module = tf.Module()
        module.serve = tf.function(function, input_signature=[spec])
        tf.saved_model.save(module, str(tmp_path), signatures={"serve": module.serve})
        (graph,) = read_graphs(str(tmp_path))
        assert graph.tags == {"serve"}
        return graph.signatures["serve"]

    return save_and_read


def parsed(signature) -> dict:
    return {
        name: (feature.dtype, feature.size, feature.required)
        for name, feature in signature.parses.items()
    }


def test_the_features_that_a_signature_parses_are_read_from_its_graph(read):
    import tensorflow as tf

    spec = {
        "pair": tf.io.FixedLenFeature([2], tf.float32),
        "count": tf.io.FixedLenFeature([], tf.int64, default_value=3),
        "sequence": tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True),
        "sparse": tf.io.VarLenFeature(tf.string),
        "ragged": tf.io.RaggedFeature(tf.int64),
    }

    signature = read(lambda examples: {"pair": tf.io.parse_example(examples, spec)["pair"]})

    assert parsed(signature) == {
        "pair": ("float32", 2, True),
        "count": ("int64", 1, False),
        "sequence": ("string", None, False),
        "sparse": ("string", None, False),
        "ragged": ("int64", None, False),
    }


def test_the_parser_of_tensorflow_1_is_read_too(read):
    import tensorflow as tf

    def parse(examples):
        parsed = tf.raw_ops.ParseExample(
            serialized=examples,
            names=[],
            sparse_keys=[tf.constant("sparse")],
            dense_keys=[tf.constant("pair"), tf.constant("count")],
            dense_defaults=[tf.constant([], tf.float32), tf.constant([3], tf.int64)],
            sparse_types=[tf.string],
            dense_shapes=[[2], [1]],
        )
        return {"pair": parsed.dense_values[0]}

    assert parsed(read(parse)) == {
        "pair": ("float32", 2, True),
        "count": ("int64", 1, False),
        "sparse": ("string", None, False),
    }


def test_a_parser_of_single_examples_is_found_inside_a_loop(read):
    import tensorflow as tf

    spec = {"x": tf.io.FixedLenFeature([2], tf.float32)}

    def parse_each(examples):
        def parse(example):
            return tf.io.parse_single_example(example, spec)["x"]

        return {"x": tf.map_fn(parse, examples, fn_output_signature=tf.float32)}

    assert parsed(read(parse_each)) == {"x": ("float32", 2, True)}


def test_a_signature_on_strings_that_parses_nothing_takes_no_examples(read):
    import tensorflow as tf

    signature = read(lambda text: {"length": tf.strings.length(text)})

    assert signature.parses is None
    assert not signature.takes_examples


def test_one_example_at_a_time_is_examples_too(read):
    import tensorflow as tf

    spec = {"x": tf.io.FixedLenFeature([], tf.float32)}

    signature = read(lambda one: tf.io.parse_single_example(one, spec), shape=())

    assert signature.takes_examples
    assert signature.to_dict() == {
        "inputs": {"examples": {"dtype": "string", "shape": []}},
        "outputs": {"x": {"dtype": "float32", "shape": []}},
    }


def test_a_file_without_a_graph_is_refused(tmp_path):
    from stoker.models.saved_model import read_graphs

    (tmp_path / "saved_model.pbtxt").write_text("saved_model_schema_version: 1")

    with pytest.raises(ModelRejected, match=r"saved_model\.pbtxt is not a SavedModel: it holds no"):
        read_graphs(str(tmp_path))
