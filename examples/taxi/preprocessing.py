"""How a trip becomes what a model reads: learned once from the training split, served as it is."""

import features
import tensorflow as tf
import tensorflow_transform as tft
from features import transformed_name


def preprocessing_fn(inputs):
    """Scale numbers, cut places into buckets, number words; a big tip is a fifth of the fare."""
    outputs = {}
    for key in features.NUMBERS:
        outputs[transformed_name(key)] = tft.scale_to_z_score(_filled(inputs[key]))
    for key in features.PLACES:
        outputs[transformed_name(key)] = tft.bucketize(_filled(inputs[key]), features.NUM_BUCKETS)
    for key in features.WORDS:
        outputs[transformed_name(key)] = tft.compute_and_apply_vocabulary(
            _filled(inputs[key]),
            top_k=features.MAX_WORDS,
            num_oov_buckets=features.NUM_OOV_BUCKETS,
            vocab_filename=key,
        )
    for key in features.CATEGORIES:
        outputs[transformed_name(key)] = _filled(inputs[key])
    tip, fare = _filled(inputs[features.TIP]), _filled(inputs[features.FARE])
    outputs[transformed_name(features.LABEL)] = tf.cast(tip > fare * 0.2, tf.int64)
    return outputs


def _filled(column):
    """One value per trip: an empty word or a zero where there is none."""
    if not isinstance(column, tf.SparseTensor):
        return column
    default = "" if column.dtype == tf.string else 0
    one_per_row = tf.SparseTensor(column.indices, column.values, [column.dense_shape[0], 1])
    return tf.sparse.to_dense(one_per_row, default)
