# SPDX-License-Identifier: Apache-2.0
"""A Keras module in the words of TensorFlow 1.15: graphs, export_saved_model, the old imports."""

MODULE = """
import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx.components.trainer.executor import TrainerFnArgs
from tfx.utils import io_utils
from tfx_bsl.public import tfxio

from old_columns import FEATURES


def _input_fn(file_pattern, data_accessor, schema, batch_size):
    options = tfxio.TensorFlowDatasetOptions(batch_size=batch_size, label_key='year')

    def dense(features, label):
        columns = [
            tf.reshape(tf.cast(tf.sparse.to_dense(features[name])
                               if isinstance(features[name], tf.SparseTensor)
                               else features[name], tf.float32), [batch_size, 1]) / 1000.
            for name in FEATURES]
        return tf.concat(columns, axis=1), tf.cast(label, tf.float32) - 2008.

    return data_accessor.tf_dataset_factory(file_pattern, options, schema).map(dense)


def run_fn(fn_args: TrainerFnArgs):
    assert not tf.executing_eagerly()
    schema = io_utils.parse_pbtxt_file(fn_args.schema_file, schema_pb2.Schema())
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(8, activation='relu', input_shape=(len(FEATURES),)),
        tf.keras.layers.Dense(1)])
    model.compile(optimizer=tf.keras.optimizers.Adam(lr=0.01), loss='mse')
    model.fit(
        _input_fn(fn_args.train_files, fn_args.data_accessor, schema, 20),
        steps_per_epoch=fn_args.train_steps,
        validation_data=_input_fn(fn_args.eval_files, fn_args.data_accessor, schema, 20),
        validation_steps=fn_args.eval_steps,
        verbose=0)
    print('trained with', tf.__version__)
    tf.keras.experimental.export_saved_model(model, fn_args.serving_model_dir)
"""
COLUMNS = """
FEATURES = ['bill_length_mm', 'bill_depth_mm', 'flipper_length_mm', 'body_mass_g']
"""
