# SPDX-License-Identifier: Apache-2.0
"""Small SavedModels with signatures of several kinds, and examples to ask them about."""

from pathlib import Path

from stoker.artifacts import Examples, Model, ModelBlessing, encode_split_names
from stoker.data.tfrecord import write_records
from stoker.dsl import Channel
from stoker.dsl.proto.example_pb2 import Example


def save_model(folder):
    """y = 2 x, on serialized examples and on plain tensors; and signatures of Estimators."""
    import tensorflow as tf

    module = tf.Module()
    module.factor = tf.Variable(2.0)
    spec = {"x": tf.io.FixedLenFeature([1], tf.float32)}
    strings = tf.TensorSpec([None], tf.string, name="examples")

    @tf.function(input_signature=[strings])
    def predict(examples):
        x = tf.io.parse_example(examples, spec)["x"]
        return {"y": x * module.factor, "is_big": x > 2.0, "name": tf.strings.as_string(x)}

    @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.float32, name="x")])
    def plain(x):
        return {"y": x * module.factor}

    @tf.function(input_signature=[strings])
    def total(examples):
        return {"sum": tf.reduce_sum(tf.io.parse_example(examples, spec)["x"])}

    signatures = {"serving_default": predict, "plain": plain, "total": total}
    tf.saved_model.save(module, str(folder), signatures)
    return folder


def save_estimator_like_model(folder):
    """The signatures that Estimators export: one classifies, one regresses."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        examples = v1.placeholder(tf.string, [None], name="examples")
        x = tf.io.parse_example(examples, {"x": tf.io.FixedLenFeature([1], tf.float32)})["x"]
        scores = tf.concat([1 - x / 10, x / 10], axis=1)
        classes = tf.tile(tf.constant([["small", "big"]]), [tf.shape(x)[0], 1])
        utils = v1.saved_model.signature_def_utils
        signatures = {
            "classification": utils.classification_signature_def(examples, classes, scores),
            "regression": utils.regression_signature_def(examples, x * 3.0),
        }
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
    return folder


def example(x):
    message = Example()
    message.features.feature["x"].float_list.value.append(x)
    return message.SerializeToString()


def examples_channel(folder, **splits):
    """Examples with these values of x, by split."""
    artifact = Examples()
    artifact.uri = str(folder)
    artifact.split_names = encode_split_names(list(splits))
    for split, values in splits.items():
        write_records(str(Path(folder, f"Split-{split}", "data.gz")), map(example, values))
    return Channel(Examples, artifacts=[artifact])


def model_channel(folder, save=save_model):
    artifact = Model()
    artifact.uri = str(folder)
    save(Path(folder, "Format-Serving"))
    return Channel(Model, artifacts=[artifact])


def blessing_channel(folder, *, blessed):
    artifact = ModelBlessing()
    artifact.uri = str(folder)
    Path(folder).mkdir()
    artifact.set_int_custom_property("blessed", int(blessed))
    return Channel(ModelBlessing, artifacts=[artifact])
