# SPDX-License-Identifier: Apache-2.0
"""Scaled measurements and a small model, written as modules for TFX are, in Keras 2."""

import tensorflow as tf
import tensorflow_transform as tft
from tfx_bsl.public import tfxio

NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
LABEL = "species"


def preprocessing_fn(inputs):
    """Scale the measurements, and number the species."""
    outputs = {
        name: tft.scale_to_z_score(tf.cast(_fill(inputs[name]), tf.float32)) for name in NUMBERS
    }
    outputs[LABEL] = tft.compute_and_apply_vocabulary(_fill(inputs[LABEL]), num_oov_buckets=1)
    return outputs


def _fill(column):
    if not isinstance(column, tf.SparseTensor):
        return column
    default = "" if column.dtype == tf.string else 0
    one_per_row = tf.SparseTensor(column.indices, column.values, [column.dense_shape[0], 1])
    return tf.sparse.to_dense(one_per_row, default)


def _read(fn_args, files, transformed):
    options = tfxio.TensorFlowDatasetOptions(batch_size=20, label_key=LABEL)
    schema = transformed.transformed_metadata.schema
    return fn_args.data_accessor.tf_dataset_factory(files, options, schema).repeat()


def _build_model():
    inputs = [tf.keras.layers.Input(shape=(1,), name=name) for name in NUMBERS]
    hidden = tf.keras.layers.concatenate(inputs)
    for _ in range(2):
        hidden = tf.keras.layers.Dense(8, activation="relu")(hidden)
    model = tf.keras.Model(inputs=inputs, outputs=tf.keras.layers.Dense(4)(hidden))
    model.compile(
        optimizer=tf.keras.optimizers.Adam(1e-2),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[tf.keras.metrics.SparseCategoricalAccuracy()],
    )
    return model


def _make_signature(model, transformed):
    model.tft_layer = transformed.transform_features_layer()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(examples):
        spec = transformed.raw_feature_spec()
        spec.pop(LABEL)
        return {"outputs": model(model.tft_layer(tf.io.parse_example(examples, spec)))}

    return serve


def run_fn(fn_args):
    """Train on transformed examples, and save a model that takes raw ones."""
    transformed = tft.TFTransformOutput(fn_args.transform_output)
    model = _build_model()
    model.fit(
        _read(fn_args, fn_args.train_files, transformed),
        steps_per_epoch=fn_args.train_steps,
        validation_data=_read(fn_args, fn_args.eval_files, transformed),
        validation_steps=fn_args.eval_steps,
        verbose=0,
    )
    signatures = {"serving_default": _make_signature(model, transformed)}
    model.save(fn_args.serving_model_dir, save_format="tf", signatures=signatures)
