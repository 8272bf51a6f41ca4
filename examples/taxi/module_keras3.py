"""A wide and deep model in Keras 3, with the transform graph in its serving signature."""

import features
import keras
import tensorflow as tf
import tensorflow_transform as tft
from features import transformed_name
from tfx import v1 as tfx
from tfx_bsl.public import tfxio


def _input_fn(file_pattern, data_accessor, tf_transform_output, batch_size=200):
    """Batches of transformed features and the label, again and again."""
    return data_accessor.tf_dataset_factory(
        file_pattern,
        tfxio.TensorFlowDatasetOptions(
            batch_size=batch_size, label_key=transformed_name(features.LABEL), shuffle_seed=1
        ),
        tf_transform_output.transformed_metadata.schema,
    )


def _build_model():
    inputs = {
        transformed_name(key): keras.Input((1,), name=transformed_name(key), dtype=dtype)
        for keys, dtype in ((features.NUMBERS, "float32"), (features.WIDE, "int64"))
        for key in keys
    }
    deep = keras.layers.concatenate([inputs[transformed_name(key)] for key in features.NUMBERS])
    for units in (32, 16):
        deep = keras.layers.Dense(units, activation="relu")(deep)
    one_hot = [
        keras.layers.CategoryEncoding(num_values, output_mode="one_hot")(
            inputs[transformed_name(key)]
        )
        for key, num_values in features.WIDE.items()
    ]
    wide = keras.layers.Dense(8, activation="relu")(keras.layers.concatenate(one_hot))
    both = keras.layers.concatenate([wide, deep])
    model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(both))
    model.compile(
        optimizer=keras.optimizers.Adam(learning_rate=1e-2),
        loss="binary_crossentropy",
        metrics=["accuracy"],
    )
    return model


def _get_transform_features_fn(model, tf_transform_output):
    """Serialized tf.Examples in, the features that the model reads out."""
    model.tft_layer = tf_transform_output.transform_features_layer()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def transform_features_fn(serialized_tf_examples):
        feature_spec = tf_transform_output.raw_feature_spec()
        feature_spec.pop(features.TIP)
        parsed_features = tf.io.parse_example(serialized_tf_examples, feature_spec)
        transformed_features = model.tft_layer(parsed_features)
        transformed_features.pop(transformed_name(features.LABEL))
        return transformed_features

    return transform_features_fn


def _get_serve_tf_examples_fn(model, transform_features_fn):
    """Serialized tf.Examples in, the probability of a big tip out."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve_tf_examples_fn(serialized_tf_examples):
        return {"big_tip": model(transform_features_fn(serialized_tf_examples))}

    return serve_tf_examples_fn


def run_fn(fn_args: tfx.components.FnArgs):
    """Train on transformed examples, and save a model that takes raw ones."""
    tf_transform_output = tft.TFTransformOutput(fn_args.transform_graph_path)
    keras.utils.set_random_seed(1)
    model = _build_model()
    model.fit(
        _input_fn(fn_args.train_files, fn_args.data_accessor, tf_transform_output),
        steps_per_epoch=fn_args.train_steps,
        validation_data=_input_fn(fn_args.eval_files, fn_args.data_accessor, tf_transform_output),
        validation_steps=fn_args.eval_steps,
        shuffle=False,  # the data accessor has done it
    )
    transform_features_fn = _get_transform_features_fn(model, tf_transform_output)
    signatures = {
        "serving_default": _get_serve_tf_examples_fn(model, transform_features_fn),
        "transform_features": transform_features_fn,
    }
    tf.saved_model.save(model, fn_args.serving_model_dir, signatures=signatures)
