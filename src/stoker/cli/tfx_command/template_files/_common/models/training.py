"""How the model is trained and saved: its data, and the signatures that it is served by."""

import tensorflow as tf
import tensorflow_transform as tft
from absl import logging
from models import features
from tfx_bsl.public import tfxio

LABEL = features.transformed_name(features.LABEL_KEY)


def _input_fn(file_pattern, data_accessor, schema, batch_size):
    """Batches of transformed features and the label, again and again."""
    return data_accessor.tf_dataset_factory(
        file_pattern,
        tfxio.TensorFlowDatasetOptions(batch_size=batch_size, label_key=LABEL),
        schema,
    ).repeat()


def _get_serve_tf_examples_fn(model, tf_transform_output):
    """Serialized tf.Examples in, without a label; what the model foresees out."""
    model.tft_layer_inference = tf_transform_output.transform_features_layer()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve_tf_examples_fn(serialized_tf_examples):
        feature_spec = tf_transform_output.raw_feature_spec()
        feature_spec.pop(features.LABEL_KEY)
        parsed_features = tf.io.parse_example(serialized_tf_examples, feature_spec)
        transformed_features = model.tft_layer_inference(parsed_features)
        transformed_features.pop(LABEL, None)
        return {"outputs": model(transformed_features)}

    return serve_tf_examples_fn


def _get_transform_features_fn(model, tf_transform_output):
    """Serialized tf.Examples in; what the model is trained on, and the label, out."""
    model.tft_layer_eval = tf_transform_output.transform_features_layer()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def transform_features_fn(serialized_tf_examples):
        feature_spec = tf_transform_output.raw_feature_spec()
        return model.tft_layer_eval(tf.io.parse_example(serialized_tf_examples, feature_spec))

    return transform_features_fn


def train_and_save(model, fn_args, constants):
    """Train a compiled model, and save it where the Trainer wants it."""
    model.summary(print_fn=logging.info)
    tf_transform_output = tft.TFTransformOutput(fn_args.transform_output)
    schema = tf_transform_output.transformed_metadata.schema
    train_dataset = _input_fn(
        fn_args.train_files, fn_args.data_accessor, schema, constants.TRAIN_BATCH_SIZE
    )
    eval_dataset = _input_fn(
        fn_args.eval_files, fn_args.data_accessor, schema, constants.EVAL_BATCH_SIZE
    )
    model.fit(
        train_dataset,
        steps_per_epoch=fn_args.train_steps,
        validation_data=eval_dataset,
        validation_steps=fn_args.eval_steps,
        callbacks=[tf.keras.callbacks.TensorBoard(log_dir=fn_args.model_run_dir)],
    )
    signatures = {
        "serving_default": _get_serve_tf_examples_fn(model, tf_transform_output),
        "transform_features": _get_transform_features_fn(model, tf_transform_output),
    }
    model.save(fn_args.serving_model_dir, save_format="tf", signatures=signatures)
