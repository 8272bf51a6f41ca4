# SPDX-License-Identifier: Apache-2.0
"""The guide's Estimator module: `trainer_fn` as its oldest edition prints it, and what that needs.

The text is run on TensorFlow 2.21 by test_estimators.py, and as it is in older environments.
"""

TRAINER_FN = '''
# TFX will call this function
def trainer_fn(trainer_fn_args, schema):
  """Build the estimator using the high level API.

  Args:
    trainer_fn_args: Holds args used to train the model as name/value pairs.
    schema: Holds the schema of the training examples.

  Returns:
    A dict of the following:
      - estimator: The estimator that will be used for training and eval.
      - train_spec: Spec for training.
      - eval_spec: Spec for eval.
      - eval_input_receiver_fn: Input function for eval.
  """
  # Number of nodes in the first layer of the DNN
  first_dnn_layer_size = 100
  num_dnn_layers = 4
  dnn_decay_factor = 0.7

  train_batch_size = 40
  eval_batch_size = 40

  tf_transform_output = tft.TFTransformOutput(trainer_fn_args.transform_output)

  train_input_fn = lambda: _input_fn(  # pylint: disable=g-long-lambda
      trainer_fn_args.train_files,
      tf_transform_output,
      batch_size=train_batch_size)

  eval_input_fn = lambda: _input_fn(  # pylint: disable=g-long-lambda
      trainer_fn_args.eval_files,
      tf_transform_output,
      batch_size=eval_batch_size)

  train_spec = tf.estimator.TrainSpec(  # pylint: disable=g-long-lambda
      train_input_fn,
      max_steps=trainer_fn_args.train_steps)

  serving_receiver_fn = lambda: _example_serving_receiver_fn(  # pylint: disable=g-long-lambda
      tf_transform_output, schema)

  exporter = tf.estimator.FinalExporter('chicago-taxi', serving_receiver_fn)
  eval_spec = tf.estimator.EvalSpec(
      eval_input_fn,
      steps=trainer_fn_args.eval_steps,
      exporters=[exporter],
      name='chicago-taxi-eval')

  run_config = tf.estimator.RunConfig(
      save_checkpoints_steps=999, keep_checkpoint_max=1)

  run_config = run_config.replace(model_dir=trainer_fn_args.serving_model_dir)
  warm_start_from = trainer_fn_args.base_models[
      0] if trainer_fn_args.base_models else None

  estimator = _build_estimator(
      # Construct layers sizes with exponetial decay
      hidden_units=[
          max(2, int(first_dnn_layer_size * dnn_decay_factor**i))
          for i in range(num_dnn_layers)
      ],
      config=run_config,
      warm_start_from=warm_start_from)

  # Create an input receiver for TFMA processing
  receiver_fn = lambda: _eval_input_receiver_fn(  # pylint: disable=g-long-lambda
      tf_transform_output, schema)

  return {
      'estimator': estimator,
      'train_spec': train_spec,
      'eval_spec': eval_spec,
      'eval_input_receiver_fn': receiver_fn
  }
'''

FEATURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
LABEL = "species"

PREPROCESSING = f"""
import tensorflow as tf
import tensorflow_transform as tft


def _one_per_row(column):
    if not isinstance(column, tf.SparseTensor):
        return column
    return tf.sparse.to_dense(
        tf.SparseTensor(column.indices, column.values, [column.dense_shape[0], 1]))


def preprocessing_fn(inputs):
    outputs = {{
        name + '_xf': tft.scale_to_z_score(tf.cast(_one_per_row(inputs[name]), tf.float32))
        for name in {FEATURES!r}}}
    outputs['{LABEL}_xf'] = tft.compute_and_apply_vocabulary(inputs[{LABEL!r}])
    return outputs
"""

# What the guide's function refers to and does not print.
COMPLETION = f"""
import tensorflow as tf
import tensorflow_model_analysis as tfma
import tensorflow_transform as tft
from tensorflow_transform.tf_metadata import schema_utils

_FEATURE_KEYS = {FEATURES!r}
_LABEL_KEY = {LABEL!r}


def _transformed_name(key):
    return key + '_xf'


def _raw_feature_spec(schema):
    return schema_utils.schema_as_feature_spec(schema).feature_spec


def _input_fn(file_pattern, tf_transform_output, batch_size):
    return tf.data.experimental.make_batched_features_dataset(
        file_pattern,
        batch_size,
        tf_transform_output.transformed_feature_spec(),
        reader=lambda files: tf.data.TFRecordDataset(files, compression_type='GZIP'),
        label_key=_transformed_name(_LABEL_KEY))


def _build_estimator(hidden_units, config, warm_start_from=None):
    numbers = [
        tf.feature_column.numeric_column(_transformed_name(key), shape=(1,))
        for key in _FEATURE_KEYS]
    buckets = [
        tf.feature_column.bucketized_column(number, [-1.0, 0.0, 1.0]) for number in numbers]
    return tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=buckets,
        dnn_feature_columns=numbers,
        dnn_hidden_units=hidden_units,
        n_classes=3,
        config=config,
        warm_start_from=warm_start_from)


def _example_serving_receiver_fn(tf_transform_output, schema):
    feature_spec = _raw_feature_spec(schema)
    feature_spec.pop(_LABEL_KEY)
    raw = tf.estimator.export.build_parsing_serving_input_receiver_fn(feature_spec)()
    transformed = tf_transform_output.transform_raw_features(raw.features)
    transformed.pop(_transformed_name(_LABEL_KEY), None)
    return tf.estimator.export.ServingInputReceiver(transformed, raw.receiver_tensors)


def _eval_input_receiver_fn(tf_transform_output, schema):
    examples = tf.compat.v1.placeholder(tf.string, [None], name='input_example_tensor')
    raw = tf.io.parse_example(examples, _raw_feature_spec(schema))
    transformed = tf_transform_output.transform_raw_features(raw)
    labels = transformed.pop(_transformed_name(_LABEL_KEY))
    features = dict(raw)
    features.update(transformed)
    return tfma.export.EvalInputReceiver(
        features=features, labels=labels, receiver_tensors={{'examples': examples}})
"""

MODULE = COMPLETION + TRAINER_FN
