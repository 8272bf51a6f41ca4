"""A wide and deep model that foresees big tips: a search for its hyperparameters, and a training.

It reads what the preprocessing of examples/taxi prepares, and `features.py` is from there.
"""

import features
import keras_tuner
import tensorflow as tf
import tensorflow_transform as tft
from features import transformed_name
from tfx import v1 as tfx
from tfx_bsl.public import tfxio

BATCH_SIZE = 100
LABEL = transformed_name(features.LABEL)


def _input_fn(file_pattern, data_accessor, tf_transform_output):
    """Batches of transformed features and the label, again and again."""
    return data_accessor.tf_dataset_factory(
        file_pattern,
        tfxio.TensorFlowDatasetOptions(batch_size=BATCH_SIZE, label_key=LABEL, shuffle_seed=1),
        tf_transform_output.transformed_metadata.schema,
    )


def _fit_kwargs(fn_args, tf_transform_output):
    files = {"x": fn_args.train_files, "validation_data": fn_args.eval_files}
    return {
        **{
            name: _input_fn(patterns, fn_args.data_accessor, tf_transform_output)
            for name, patterns in files.items()
        },
        "steps_per_epoch": fn_args.train_steps,
        "validation_steps": fn_args.eval_steps,
    }


def _get_hyperparameters():
    """What there is to choose, and what is chosen where there is no Tuner."""
    hparams = keras_tuner.HyperParameters()
    hparams.Choice("learning_rate", [1e-2, 1e-3], default=1e-2)
    hparams.Int("units", 8, 32, step=8, default=16)
    return hparams


def _build_keras_model(hparams):
    inputs = {
        transformed_name(key): tf.keras.Input((1,), name=transformed_name(key), dtype=dtype)
        for keys, dtype in ((features.NUMBERS, "float32"), (features.WIDE, "int64"))
        for key in keys
    }
    deep = tf.keras.layers.concatenate([inputs[transformed_name(key)] for key in features.NUMBERS])
    deep = tf.keras.layers.Dense(hparams.get("units"), activation="relu")(deep)
    wide = tf.keras.layers.concatenate(
        [
            tf.keras.layers.CategoryEncoding(num_values, output_mode="one_hot")(
                inputs[transformed_name(key)]
            )
            for key, num_values in features.WIDE.items()
        ]
    )
    both = tf.keras.layers.concatenate([wide, deep])
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, activation="sigmoid")(both))
    model.compile(
        optimizer=tf.keras.optimizers.Adam(hparams.get("learning_rate")),
        loss="binary_crossentropy",
        metrics=[tf.keras.metrics.AUC(name="auc")],
    )
    return model


def tuner_fn(fn_args: tfx.components.FnArgs) -> tfx.components.TunerFnResult:
    """Say what to search for, how, and on which data."""
    tuner = keras_tuner.RandomSearch(
        _build_keras_model,
        objective=keras_tuner.Objective("val_auc", "max"),
        hyperparameters=_get_hyperparameters(),
        max_trials=fn_args.custom_config["max_trials"],
        seed=1,
        directory=fn_args.working_dir,
        project_name="taxi",
    )
    tf_transform_output = tft.TFTransformOutput(fn_args.transform_graph_path)
    return tfx.components.TunerFnResult(
        tuner=tuner, fit_kwargs=_fit_kwargs(fn_args, tf_transform_output)
    )


def _get_serve_tf_examples_fn(model, tf_transform_output):
    """Serialized tf.Examples in, without a tip; the probability of a big one out."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve_tf_examples_fn(serialized_tf_examples):
        feature_spec = tf_transform_output.raw_feature_spec()
        feature_spec.pop(features.TIP)
        parsed_features = tf.io.parse_example(serialized_tf_examples, feature_spec)
        transformed_features = model.tft_layer(parsed_features)
        transformed_features.pop(LABEL)
        return {"big_tip": model(transformed_features)}

    return serve_tf_examples_fn


def _get_transform_features_fn(model, tf_transform_output):
    """Serialized tf.Examples in, with a tip; what the model is trained on, and the label, out."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def transform_features_fn(serialized_tf_examples):
        feature_spec = tf_transform_output.raw_feature_spec()
        return model.tft_layer_eval(tf.io.parse_example(serialized_tf_examples, feature_spec))

    return transform_features_fn


def run_fn(fn_args: tfx.components.FnArgs):
    """Train with the best hyperparameters, but for those that the pipeline overrules."""
    tf_transform_output = tft.TFTransformOutput(fn_args.transform_graph_path)
    hparams = keras_tuner.HyperParameters.from_config(fn_args.hyperparameters)
    hparams.values.update(fn_args.custom_config["overrules"])
    tf.keras.utils.set_random_seed(1)
    model = _build_keras_model(hparams)
    model.fit(**_fit_kwargs(fn_args, tf_transform_output))
    model.tft_layer = tf_transform_output.transform_features_layer()
    model.tft_layer_eval = tf_transform_output.transform_features_layer()
    signatures = {
        "serving_default": _get_serve_tf_examples_fn(model, tf_transform_output),
        "transform_features": _get_transform_features_fn(model, tf_transform_output),
    }
    model.save(fn_args.serving_model_dir, save_format="tf", signatures=signatures)
