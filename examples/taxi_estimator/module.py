"""A wide and deep Estimator that foresees big tips, as modules for the first TFX had it.

It reads what the preprocessing of examples/taxi prepares, and `features.py` is from there.
"""

import features
import tensorflow as tf
import tensorflow_model_analysis as tfma
import tensorflow_transform as tft
from features import transformed_name
from tensorflow_transform.tf_metadata import schema_utils

BATCH_SIZE = 200
LABEL = transformed_name(features.LABEL)


def _input_fn(file_pattern, tf_transform_output):
    """Batches of transformed features and the label, again and again."""
    return tf.data.experimental.make_batched_features_dataset(
        file_pattern,
        BATCH_SIZE,
        tf_transform_output.transformed_feature_spec(),
        reader=lambda files: tf.data.TFRecordDataset(files, compression_type="GZIP"),
        label_key=LABEL,
    )


def _build_estimator(config, warm_start_from):
    """Numbers for the deep part, everything that stands for something for the wide part."""
    numbers = [tf.feature_column.numeric_column(transformed_name(key)) for key in features.NUMBERS]
    categories = [
        tf.feature_column.categorical_column_with_identity(transformed_name(key), num_values, 0)
        for key, num_values in features.WIDE.items()
    ]
    return tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=categories,
        dnn_feature_columns=numbers,
        dnn_hidden_units=[32, 16],
        config=config,
        warm_start_from=warm_start_from,
    )


def _serving_receiver_fn(tf_transform_output, schema):
    """Raw trips in, without the tip: that is what the model is asked for."""
    feature_spec = schema_utils.schema_as_feature_spec(schema).feature_spec
    feature_spec.pop(features.TIP)
    raw = tf.estimator.export.build_parsing_serving_input_receiver_fn(feature_spec)()
    transformed = tf_transform_output.transform_raw_features(raw.features)
    transformed.pop(LABEL, None)
    return tf.estimator.export.ServingInputReceiver(transformed, raw.receiver_tensors)


def _eval_receiver_fn(tf_transform_output, schema):
    """Raw trips in, with the tip: TFMA sees their raw features, and slices by them."""
    examples = tf.compat.v1.placeholder(tf.string, [None], name="input_example_tensor")
    raw = tf.io.parse_example(examples, schema_utils.schema_as_feature_spec(schema).feature_spec)
    transformed = tf_transform_output.transform_raw_features(raw)
    return tfma.export.EvalInputReceiver(
        labels=transformed.pop(LABEL),
        features={**raw, **transformed},
        receiver_tensors={"examples": examples},
    )


def trainer_fn(fn_args, schema):
    """What to train, how to evaluate it, and how to export it."""
    tf_transform_output = tft.TFTransformOutput(fn_args.transform_output)
    exporter = tf.estimator.FinalExporter(
        "taxi", lambda: _serving_receiver_fn(tf_transform_output, schema)
    )
    config = tf.estimator.RunConfig(
        model_dir=fn_args.serving_model_dir, save_checkpoints_steps=1000, keep_checkpoint_max=1
    )
    return {
        "estimator": _build_estimator(config, warm_start_from=fn_args.base_model),
        "train_spec": tf.estimator.TrainSpec(
            lambda: _input_fn(fn_args.train_files, tf_transform_output),
            max_steps=fn_args.train_steps,
        ),
        "eval_spec": tf.estimator.EvalSpec(
            lambda: _input_fn(fn_args.eval_files, tf_transform_output),
            steps=fn_args.eval_steps,
            exporters=[exporter],
        ),
        "eval_input_receiver_fn": lambda: _eval_receiver_fn(tf_transform_output, schema),
    }
