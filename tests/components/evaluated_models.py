# SPDX-License-Identifier: Apache-2.0
"""A small classifier of two classes, others of three, and labelled examples to evaluate them on."""

from pathlib import Path

import numpy as np

from stoker.artifacts import Examples, encode_split_names
from stoker.data.tfrecord import write_records
from stoker.dsl import Channel
from stoker.dsl.proto.example_pb2 import Example

COLORS = ("red", "green", "blue")


def save_classifier(folder, bias=0.1):
    """One score per example, and three under `classes`: of one class each, or of several.

    `colors` names its classes, and `features` makes another label.
    """
    import tensorflow as tf

    module = tf.Module()
    module.weights = tf.Variable([[1.5, 0.2, -1.0], [-2.0, 0.3, 1.0]])
    spec = {
        "x": tf.io.FixedLenFeature([2], tf.float32),
        "label": tf.io.FixedLenFeature([1], tf.int64),
    }
    strings = tf.TensorSpec([None], tf.string, name="examples")

    @tf.function(input_signature=[strings])
    def score(examples):
        x = tf.io.parse_example(examples, spec)["x"]
        return {"score": tf.sigmoid(x @ module.weights[:, :1] + bias)}

    @tf.function(input_signature=[strings])
    def classes(examples):
        x = tf.io.parse_example(examples, spec)["x"]
        logits = x @ module.weights + bias
        several = tf.sigmoid(logits)
        return {"probabilities": tf.nn.softmax(logits), "logits": logits, "several": several}

    @tf.function(input_signature=[strings])
    def colors(examples):
        scores = classes(examples)["probabilities"]
        return {"scores": scores, "classes": tf.tile([COLORS], [tf.shape(scores)[0], 1])}

    @tf.function(input_signature=[strings])
    def features(examples):
        label = tf.io.parse_example(examples, spec)["label"]
        return {"label_xf": 1 - label, "label_name": tf.strings.as_string(label)}

    named = {"classes": classes, "colors": colors, "features": features}
    tf.saved_model.save(module, str(folder), {"serving_default": score, **named})


def save_opposite(folder):
    """A classifier that is worse: it says yes to nearly all."""
    save_classifier(folder, bias=4.0)


def labelled_examples(num=600, seed=0):
    rng = np.random.default_rng(seed)
    for index in range(num):
        x = rng.normal(size=2)
        example = Example()
        feature = example.features.feature
        feature["x"].float_list.value.extend(x)
        is_positive = rng.random() < 1 / (1 + np.exp(1.8 * x[1] - 1.2 * x[0]))
        feature["label"].int64_list.value.append(int(is_positive))
        number = int(rng.integers(3))
        feature["class"].int64_list.value.append(number)
        feature["one_hot"].float_list.value.extend(float(one == number) for one in range(3))
        feature["several"].int64_list.value.extend(index >> bit & 1 for bit in range(3))
        feature["amount"].float_list.value.append(0.5 + x[0] ** 2)
        feature["color"].bytes_list.value.append(COLORS[rng.integers(3)].encode())
        feature["name"].bytes_list.value.append(b"red" if index else b"mauve")
        feature["size"].int64_list.value.append(int(rng.integers(2)))
        feature["weight"].float_list.value.append(rng.random())
        if index % 3:
            tags = rng.choice(["a", "b", "c"], size=index % 3, replace=False)
            feature["tags"].bytes_list.value.extend(tag.encode() for tag in tags)
        yield example.SerializeToString()


def labelled_channel(folder, num=600):
    artifact = Examples()
    artifact.uri = str(folder)
    artifact.split_names = encode_split_names(["eval"])
    write_records(str(Path(folder, "Split-eval", "data.gz")), labelled_examples(num))
    return Channel(Examples, artifacts=[artifact])


def save_compiled(folder, weights):
    """A model of Keras 2, saved with the metrics that it was compiled with."""
    import tensorflow as tf
    import tf_keras

    inputs = tf_keras.Input((2,), name="x")
    model = tf_keras.Model(inputs, tf_keras.layers.Dense(1, "sigmoid", name="out")(inputs))
    model.compile(
        loss=tf_keras.losses.BinaryCrossentropy(label_smoothing=0.1),
        metrics=["accuracy", tf_keras.metrics.AUC(name="area"), tf_keras.metrics.Precision()],
        weighted_metrics=[tf_keras.metrics.MeanAbsoluteError(name="mae")],
    )
    model.evaluate(np.zeros((1, 2)), np.zeros((1, 1)), verbose=0)  # decides of what accuracy
    model.set_weights([np.array(weights)[:, None], np.zeros(1)])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(examples):
        spec = {"x": tf.io.FixedLenFeature([2], tf.float32)}
        return {"outputs": model(tf.io.parse_example(examples, spec)["x"])}

    model.save(str(folder), save_format="tf", signatures={"serving_default": serve})
