"""The user's part of the penguin pipeline: a Keras model that learns species from measurements."""

import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx import v1 as tfx
from tfx_bsl.public import tfxio

# Per measurement: its type in the data, and a mean and a deviation that bring all to one scale.
FEATURES = {
    "bill_length_mm": (tf.float32, 44.0, 5.5),
    "bill_depth_mm": (tf.float32, 17.0, 2.0),
    "flipper_length_mm": (tf.int64, 201, 14),
    "body_mass_g": (tf.int64, 4200, 800),
}
LABEL = "species"
SPECIES = ["Adelie", "Chinstrap", "Gentoo"]


def _scaled(features):
    """The measurements around zero; a bird that was not measured counts as an average one."""
    columns = {}
    for name, (_, mean, deviation) in FEATURES.items():
        column = features[name]
        if isinstance(column, tf.SparseTensor):
            one_per_row = tf.sparse.reset_shape(column, [column.dense_shape[0], 1])
            column = tf.sparse.to_dense(one_per_row, default_value=mean)
        columns[name] = (tf.cast(column, tf.float32) - mean) / deviation
    return columns


def _dataset(file_patterns, fn_args, schema):
    options = tfxio.TensorFlowDatasetOptions(batch_size=20, label_key=LABEL, shuffle_seed=1)
    dataset = fn_args.data_accessor.tf_dataset_factory(file_patterns, options, schema)
    index = tf.keras.layers.StringLookup(vocabulary=SPECIES, num_oov_indices=0)
    return dataset.map(lambda features, label: (_scaled(features), index(label)))


def _build_model():
    inputs = {name: tf.keras.Input(shape=(1,), name=name) for name in FEATURES}
    hidden = tf.keras.layers.concatenate(list(inputs.values()))
    for units in (16, 16):
        hidden = tf.keras.layers.Dense(units, activation="relu")(hidden)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(len(SPECIES))(hidden))
    model.compile(
        optimizer=tf.keras.optimizers.Adam(1e-2),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def _serving_fn(model):
    """Serialized tf.Examples in, a probability per species out."""
    spec = {name: tf.io.VarLenFeature(dtype) for name, (dtype, _, _) in FEATURES.items()}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serving_default(examples):
        return {"probabilities": tf.nn.softmax(model(_scaled(tf.io.parse_example(examples, spec))))}

    return serving_default


def run_fn(fn_args: tfx.components.FnArgs):
    """Train a model and save it where the pipeline asks for it."""
    schema = tfx.utils.parse_pbtxt_file(fn_args.schema_path, schema_pb2.Schema())
    tf.keras.utils.set_random_seed(1)
    model = _build_model()
    model.fit(
        _dataset(fn_args.train_files, fn_args, schema),
        steps_per_epoch=fn_args.train_steps,
        validation_data=_dataset(fn_args.eval_files, fn_args, schema),
        validation_steps=fn_args.eval_steps,
    )
    signatures = {"serving_default": _serving_fn(model)}
    model.save(fn_args.serving_model_dir, save_format="tf", signatures=signatures)
