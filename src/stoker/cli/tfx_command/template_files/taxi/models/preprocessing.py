"""What Transform does to every example, in training and in serving."""

import tensorflow as tf
import tensorflow_transform as tft
from models import features
from models.features import transformed_name


def _fill_in_missing(values, default):
    """One value a row, where the data may have none."""
    if not isinstance(values, tf.sparse.SparseTensor):
        return values
    shape = [values.dense_shape[0], 1]
    dense = tf.SparseTensor(values.indices, values.values, shape)
    return tf.sparse.to_dense(dense, default_value=default)


def preprocessing_fn(inputs):
    """Numbers around zero, categories as numbers from zero on, and whether the tip was big."""
    outputs = {}
    for key in features.DENSE_FLOAT_FEATURE_KEYS:
        outputs[transformed_name(key)] = tft.scale_to_z_score(_fill_in_missing(inputs[key], 0.0))
    for key in features.BUCKET_FEATURE_KEYS:
        outputs[transformed_name(key)] = tft.bucketize(
            _fill_in_missing(inputs[key], 0.0), features.BUCKET_COUNT
        )
    for key in features.VOCAB_FEATURE_KEYS:
        outputs[transformed_name(key)] = tft.compute_and_apply_vocabulary(
            _fill_in_missing(inputs[key], ""),
            top_k=features.VOCAB_SIZE,
            num_oov_buckets=features.OOV_SIZE,
        )
    for key in features.CATEGORICAL_FEATURES:
        outputs[transformed_name(key)] = _fill_in_missing(inputs[key], 0)
    fare = _fill_in_missing(inputs[features.FARE_KEY], 0.0)
    tip = _fill_in_missing(inputs[features.LABEL_KEY], 0.0)
    outputs[transformed_name(features.LABEL_KEY)] = tf.cast(tip > 0.2 * fare, tf.int64)
    return outputs
