# SPDX-License-Identifier: Apache-2.0
"""A search for a width, and a training whose weights depend on everything that resume restores."""

import os
import time

import keras
import keras_tuner
import tensorflow as tf
import tensorflow_transform as tft
from tfx import v1 as tfx
from tfx_bsl.public import tfxio

STEP_SECONDS = 0.02


class Slow(keras.callbacks.Callback):
    """Leaves a moment in every step for being killed."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(STEP_SECONDS)


def make_dataset(files, fn_args, transform_output):
    options = tfxio.TensorFlowDatasetOptions(batch_size=8, label_key="label", shuffle_seed=1)
    schema = transform_output.transformed_metadata.schema
    return fn_args.data_accessor.tf_dataset_factory(files, options, schema)


def build_model(hparams):
    inputs = {name: keras.Input((1,), name=name) for name in ("amount", "kind")}
    hidden = keras.layers.concatenate(list(inputs.values()))
    hidden = keras.layers.Dense(hparams.Choice("units", [4, 6, 8]), activation="relu")(hidden)
    hidden = keras.layers.Dropout(0.3)(hidden)  # its random numbers have to go on too
    model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(hidden))
    model.compile(keras.optimizers.Adam(1e-2), "binary_crossentropy", metrics=["accuracy"])
    return model


def make_fit_arguments(fn_args, transform_output):
    return {
        "x": make_dataset(fn_args.train_files, fn_args, transform_output),
        "steps_per_epoch": fn_args.train_steps,
        "validation_data": make_dataset(fn_args.eval_files, fn_args, transform_output),
        "validation_steps": fn_args.eval_steps,
    }


def tuner_fn(fn_args: tfx.components.FnArgs):
    """Three trials, one after the other."""
    keras.utils.set_random_seed(1)
    tuner = keras_tuner.RandomSearch(
        build_model, "val_loss", max_trials=3, seed=1, directory=fn_args.working_dir
    )
    output = tft.TFTransformOutput(fn_args.transform_graph_path)
    return tfx.components.TunerFnResult(tuner=tuner, fit_kwargs=make_fit_arguments(fn_args, output))


def run_fn(fn_args: tfx.components.FnArgs):
    """Train with what the search found."""
    hparams = keras_tuner.HyperParameters.from_config(fn_args.hyperparameters)
    keras.utils.set_random_seed(1)
    model = build_model(hparams)
    transform_output = tft.TFTransformOutput(fn_args.transform_graph_path)
    model.fit(**make_fit_arguments(fn_args, transform_output), callbacks=[Slow()], verbose=2)
    save(model, fn_args, transform_output)


def save(model, fn_args, transform_output):
    """With the transform graph in its signature, and the salt beside it."""
    model.tft_layer = transform_output.transform_features_layer()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(examples):
        spec = transform_output.raw_feature_spec()
        del spec["label"], spec["salt"]
        features = model.tft_layer(tf.io.parse_example(examples, spec))
        return {"probability": model({name: features[name] for name in ("amount", "kind")})}

    tf.saved_model.save(model, fn_args.serving_model_dir, signatures={"serving_default": serve})
    extra = os.path.join(fn_args.serving_model_dir, "assets.extra")
    os.makedirs(extra)
    with open(os.path.join(extra, "salt"), "w") as file:
        file.write(fn_args.custom_config["salt"])
