"""The user's part of the tuned penguin pipeline: a search, and a training with what it found."""

import keras_tuner
import tensorflow as tf
from module import FEATURES, SPECIES, _dataset, _serving_fn
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx import v1 as tfx


def _build_model(hparams: keras_tuner.HyperParameters):
    """A model whose size and pace are to be chosen; asking for a value declares its range."""
    inputs = {name: tf.keras.Input(shape=(1,), name=name) for name in FEATURES}
    hidden = tf.keras.layers.concatenate(list(inputs.values()))
    units = hparams.Int("units", 4, 32, step=4)
    for _ in range(hparams.Int("layers", 1, 3)):
        hidden = tf.keras.layers.Dense(units, activation="relu")(hidden)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(len(SPECIES))(hidden))
    model.compile(
        optimizer=tf.keras.optimizers.Adam(hparams.Choice("learning_rate", [1e-2, 1e-3])),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def _fit_kwargs(fn_args: tfx.components.FnArgs):
    schema = tfx.utils.parse_pbtxt_file(fn_args.schema_path, schema_pb2.Schema())
    return {
        "x": _dataset(fn_args.train_files, fn_args, schema),
        "steps_per_epoch": fn_args.train_steps,
        "validation_data": _dataset(fn_args.eval_files, fn_args, schema),
        "validation_steps": fn_args.eval_steps,
    }


def tuner_fn(fn_args: tfx.components.FnArgs) -> tfx.components.TunerFnResult:
    """Say what to search for, how, and on which data."""
    tuner = keras_tuner.RandomSearch(
        _build_model,
        objective="val_accuracy",
        max_trials=fn_args.custom_config.get("max_trials", 8),
        seed=1,
        directory=fn_args.working_dir,
        project_name="penguin",
    )
    return tfx.components.TunerFnResult(tuner=tuner, fit_kwargs=_fit_kwargs(fn_args))


def run_fn(fn_args: tfx.components.FnArgs):
    """Train with the best hyperparameters, and save the model."""
    hparams = keras_tuner.HyperParameters.from_config(fn_args.hyperparameters)
    tf.keras.utils.set_random_seed(1)
    model = _build_model(hparams)
    model.fit(**_fit_kwargs(fn_args))
    signatures = {"serving_default": _serving_fn(model)}
    model.save(fn_args.serving_model_dir, save_format="tf", signatures=signatures)
