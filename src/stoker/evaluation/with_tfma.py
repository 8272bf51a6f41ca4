# SPDX-License-Identifier: Apache-2.0
"""The other engine: TFMA on Beam's in-memory runner, for what Stoker does not compute itself."""

from collections.abc import Mapping, Sequence

from stoker.proto.eval_config_pb2 import EvalConfig

__all__ = ["evaluate_with_tfma"]


def evaluate_with_tfma(
    config: EvalConfig,
    models: Mapping[str, str],
    files: Sequence[str],
    folder: str,
    *,
    rubber_stamp: bool,
) -> None:
    """Evaluate the models, folders by name, and write TFMA's files to a folder."""
    import apache_beam as beam
    import tensorflow_model_analysis as tfma
    from tensorflow_model_analysis.proto import config_pb2
    from tfx_bsl.tfxio import tf_example_record

    theirs = config_pb2.EvalConfig.FromString(config.SerializeToString())
    for spec in theirs.metrics_specs:
        if not spec.model_names:
            spec.model_names.extend(models)
    shared = [
        tfma.default_eval_shared_model(
            path, model_name=name, eval_config=theirs, rubber_stamp=rubber_stamp
        )
        for name, path in models.items()
    ]
    source = tf_example_record.TFExampleRecord(
        file_pattern=list(files), raw_record_column_name=tfma.ARROW_INPUT_COLUMN
    )
    with beam.Pipeline(runner="DirectRunner") as pipeline:
        _ = (
            pipeline
            | "Read" >> source.BeamSource()
            | "Evaluate"
            >> tfma.ExtractEvaluateAndWriteResults(
                eval_config=theirs,
                eval_shared_model=shared if len(shared) > 1 else shared[0],
                output_path=folder,
            )
        )
