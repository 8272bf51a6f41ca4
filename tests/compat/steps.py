"""Steps that the compat pipelines use around the Trainer."""

import glob
import os

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact
from tfx.dsl.component.experimental.decorators import component
from tfx.types.standard_artifacts import Examples, Schema, TransformGraph

FEATURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
LABEL = "species"


def preprocessing_fn(inputs):
    """Scale the measurements and number the species, as tensorflow-transform would be asked to."""
    import tensorflow as tf
    import tensorflow_transform as tft

    outputs = {}
    for name in FEATURES:
        column = inputs[name]
        if isinstance(column, tf.SparseTensor):
            column = tf.sparse.to_dense(
                tf.SparseTensor(column.indices, column.values, [column.dense_shape[0], 1])
            )
        outputs[f"{name}_xf"] = tft.scale_to_z_score(tf.cast(column, tf.float32))
    outputs[f"{LABEL}_xf"] = tft.compute_and_apply_vocabulary(inputs[LABEL])
    return outputs


@component
def transform(
    examples: InputArtifact[Examples],
    schema: InputArtifact[Schema],
    transform_graph: OutputArtifact[TransformGraph],
    transformed_examples: OutputArtifact[Examples],
):
    """Transform with tensorflow-transform's own Beam implementation."""
    import tempfile

    import apache_beam as beam
    import tensorflow as tf
    import tensorflow_transform.beam as tft_beam
    from google.protobuf import text_format
    from tensorflow_metadata.proto.v0 import schema_pb2
    from tensorflow_transform.tf_metadata import dataset_metadata
    from tfx_bsl.coders.example_coder import RecordBatchToExamplesEncoder
    from tfx_bsl.public import tfxio

    with open(os.path.join(schema.uri, "schema.pbtxt")) as file:
        parsed = text_format.Parse(file.read(), schema_pb2.Schema())
    for feature in list(parsed.feature):
        if feature.name not in (*FEATURES, LABEL):
            parsed.feature.remove(feature)
    metadata = dataset_metadata.DatasetMetadata(parsed)
    transformed_examples.splits = ["train", "eval"]

    def batches(split):
        source = tfxio.TFExampleRecord(examples.path(split=split) + "/*", schema=parsed)
        return source.BeamSource(), source.TensorAdapterConfig()

    with (
        tempfile.TemporaryDirectory() as tmp,
        beam.Pipeline(argv=["--runner=FnApiRunner"]) as pipeline,
        tft_beam.Context(temp_dir=tmp),
    ):
        source, config = batches("train")
        train = pipeline | "ReadTrain" >> source
        transform_fn = (train, config) | tft_beam.AnalyzeDataset(preprocessing_fn)
        _ = transform_fn | tft_beam.WriteTransformFn(transform_graph.uri)
        _ = metadata | tft_beam.WriteMetadata(
            os.path.join(transform_graph.uri, "metadata"), pipeline
        )
        for split in ("train", "eval"):
            source, config = batches(split)
            data = train if split == "train" else pipeline | "ReadEval" >> source
            (encoded, _) = (
                (data, config),
                transform_fn,
            ) | f"Transform{split}" >> tft_beam.TransformDataset(output_record_batches=True)
            _ = (
                encoded
                | f"Encode{split}"
                >> beam.FlatMap(lambda pair: RecordBatchToExamplesEncoder().encode(pair[0]))
                | f"Write{split}"
                >> beam.io.WriteToTFRecord(
                    os.path.join(transformed_examples.uri, f"Split-{split}", "transformed"),
                    file_name_suffix=".gz",
                )
            )
    assert glob.glob(os.path.join(transformed_examples.uri, "Split-eval", "*.gz"))
    assert tf.io.gfile.exists(os.path.join(transform_graph.uri, "transform_fn"))
