# SPDX-License-Identifier: Apache-2.0
"""What a run has made, in a form that another run of the same work has to make bit by bit."""

import hashlib
from pathlib import Path

from kill_matrix.checks import digest_folder, list_outputs

_SAME_FILES = ("transformed_examples", "best_hyperparameters")
"""Outputs whose bytes do not depend on the salt, nor on when they were made."""


def describe_results(root: Path) -> dict[str, str]:
    """By name, digests of what the newest executions have published; models are loaded."""
    outputs = {key: folder for (_, key), folder in list_outputs(root).items()}
    found = {
        f"{key}/{name}": digest
        for key in _SAME_FILES
        if key in outputs
        for name, digest in sorted(digest_folder(outputs[key]).items())
    }
    model = outputs["model"] / "Format-Serving"
    (newest, *_) = sorted((root / "served").glob("[0-9]*"), reverse=True)
    found["model"] = describe_model(model)
    found["served model"] = describe_model(newest)
    return found


def describe_model(folder: Path) -> str:
    """A digest of all weights and of what the model predicts; of a light one, of its counts."""
    if not (folder / "saved_model.pb").exists():
        weights = {name: text for name, text in digest_folder(folder).items() if "weights" in name}
        return _digest(sorted(weights.items()))
    return _digest([_read_weights(folder), _predict(folder)])


def _read_weights(folder: Path) -> list[tuple[str, str]]:
    import tensorflow as tf  # takes seconds, and light models do without

    reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    names = sorted(
        name
        for name in reader.get_variable_to_shape_map()
        if name != "_CHECKPOINTABLE_OBJECT_GRAPH"
    )
    return [(name, _digest(reader.get_tensor(name))) for name in names]


def _predict(folder: Path) -> list[float]:
    import tensorflow as tf

    def make_example(amount: float, kind: int) -> bytes:
        features = {
            "amount": tf.train.Feature(float_list=tf.train.FloatList(value=[amount])),
            "kind": tf.train.Feature(int64_list=tf.train.Int64List(value=[kind])),
        }
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    serve = tf.saved_model.load(str(folder)).signatures["serving_default"]
    examples = tf.constant([make_example(0.5, 1), make_example(-0.25, 2)])
    return serve(examples=examples)["probability"].numpy().ravel().tolist()


def _digest(value: object) -> str:
    data = value.tobytes() if hasattr(value, "tobytes") else repr(value).encode()
    return hashlib.sha256(data).hexdigest()[:16]
