# SPDX-License-Identifier: Apache-2.0
"""Models to rewrite, each with eval examples: the digits, and small ones of every awkward kind."""

import os

import numpy as np
import tensorflow as tf


def write_examples(folder, rows):
    """tf.Examples of dicts of lists, as an eval split; the folder of the split."""
    path = os.path.join(folder, "Split-eval")
    os.makedirs(path, exist_ok=True)
    with tf.io.TFRecordWriter(os.path.join(path, "data.gz"), "GZIP") as writer:
        for row in rows:
            features = {name: _feature(values) for name, values in row.items()}
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    return path


def _feature(values):
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def train_digits(folder):
    """A convolutional network for scikit-learn's digits; its folder, and that of its examples."""
    import keras
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = (digits.images / 16).astype("float32")[..., None]
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1), name="image"),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.Conv2D(64, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(images[:-500], digits.target[:-500], batch_size=64, epochs=3, verbose=0)

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 1], tf.float32, name="image")])
    def serve(image):
        return {"probabilities": model(image)}

    saved = os.path.join(folder, "digits")
    tf.saved_model.save(model, saved, signatures={"serving_default": serve})
    rows = [{"image": image.reshape(-1).tolist()} for image in images[-500:].astype(float)]
    return saved, write_examples(folder, rows)


class Serving(tf.Module):
    """A module whose only method, `serve`, is what it was made with."""

    def __init__(self, serve, *tracked):
        super().__init__()
        self.serve = serve
        self.tracked = list(tracked)


def save(folder, serve, *specs, tracked=(), key="serving_default"):
    """A SavedModel with one signature."""
    path = os.path.join(folder, "saved")
    function = tf.function(serve, input_signature=list(specs))
    module = Serving(function, *tracked)
    tf.saved_model.save(module, path, signatures={key: function})
    return path


EXAMPLES = tf.TensorSpec([None], tf.string, name="examples")
WEIGHTS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def save_dense(folder):
    """Three numbers in, four out."""
    return save(
        folder,
        lambda x: {"y": tf.matmul(x, WEIGHTS)},
        tf.TensorSpec([None, 3], tf.float32, name="x"),
    )


def save_wordy(folder):
    """tf.Examples in: a word that is looked up, a number that may be missing, one that is not."""
    words = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer([b"red", b"green"], tf.constant([0, 1], tf.int64)), 2
    )
    spec = {
        "colour": tf.io.FixedLenFeature([1], tf.string),
        "weight": tf.io.VarLenFeature(tf.float32),
        "size": tf.io.FixedLenFeature([1], tf.float32),
    }

    def serve(examples):
        parsed = tf.io.parse_example(examples, spec)
        colour = tf.one_hot(words.lookup(parsed["colour"])[:, 0], 3)
        weight = tf.sparse.to_dense(
            tf.sparse.reset_shape(parsed["weight"], [tf.shape(examples, tf.int64)[0], 1]), 7.0
        )
        numbers = tf.concat([(weight - 50.0) / 10.0, (parsed["size"] - 1.0) * 2.0], 1)
        scores = tf.matmul(tf.concat([colour, numbers], 1), np.ones([5, 2], np.float32) / 5)
        return {"scores": scores, "label": tf.gather(tf.constant(["no", "yes"]), [0])}

    return save(folder, serve, EXAMPLES, tracked=[words])


def wordy_rows(num=40):
    """Examples for `save_wordy`; every fourth has no weight."""
    return [
        {
            "colour": [[b"red", b"green", b"blue"][n % 3]],
            "size": [n / num],
            **({"weight": [40.0 + n]} if n % 4 else {}),
        }
        for n in range(num)
    ]
