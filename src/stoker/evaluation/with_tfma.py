# SPDX-License-Identifier: Apache-2.0
"""The other engine: TFMA on Beam's in-memory runner, for what Stoker does not compute itself."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.evaluation.metrics import name_of
from stoker.statistics.data_schema import read_schema

__all__ = ["evaluate_with_tfma"]


def evaluate_with_tfma(
    config: EvalConfig,
    models: Mapping[str, str],
    files: Sequence[str],
    folder: str,
    *,
    rubber_stamp: bool,
    schema_path: str | None = None,
    custom_eval_shared_model: Callable[..., Any] | None = None,
    custom_extractors: Callable[..., Any] | None = None,
) -> None:
    """Evaluate the models, folders by name, and write TFMA's files to a folder.

    The user's own functions, where there are some, load the models and say what is computed of
    each example.
    """
    import apache_beam as beam
    import tensorflow_model_analysis as tfma
    from tensorflow_model_analysis.proto.config_pb2 import EvalConfig as TheirEvalConfig
    from tfx_bsl.tfxio import tensor_adapter, tf_example_record

    theirs = TheirEvalConfig.FromString(_as_tfma_reads(config, models).SerializeToString())
    load = custom_eval_shared_model or tfma.default_eval_shared_model
    shared = [
        load(
            eval_saved_model_path=path,
            model_name=name,
            eval_config=theirs,
            rubber_stamp=rubber_stamp,
        )
        for name, path in models.items()
    ]
    model = shared if len(shared) > 1 else shared[0]
    source = tf_example_record.TFExampleRecord(
        file_pattern=list(files),
        schema=read_schema(schema_path) if schema_path else None,
        raw_record_column_name=tfma.ARROW_INPUT_COLUMN,
    )
    extractors = None
    if custom_extractors:
        adapter = schema_path and tensor_adapter.TensorAdapterConfig(
            arrow_schema=source.ArrowSchema(),
            tensor_representations=source.TensorRepresentations(),
        )
        extractors = custom_extractors(
            eval_shared_model=model,
            eval_config=theirs,
            tensor_adapter_config=adapter or None,
        )
    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        _ = (
            pipeline
            | "Read" >> source.BeamSource()
            | "Evaluate"
            >> tfma.ExtractEvaluateAndWriteResults(
                eval_config=theirs,
                eval_shared_model=model,
                extractors=extractors,
                output_path=folder,
            )
        )


def _as_tfma_reads(config: EvalConfig, models: Iterable[str]) -> EvalConfig:
    """Thresholds by name go to the metrics of that name: TFMA looks only among a model's own."""
    copy = EvalConfig()
    copy.CopyFrom(config)
    for spec in copy.metrics_specs:
        if not spec.model_names:
            spec.model_names.extend(models)
        for metric in spec.metrics:
            name = name_of(metric)
            if name in spec.thresholds and not metric.HasField("threshold"):
                metric.threshold.CopyFrom(spec.thresholds.pop(name))
            if name in spec.per_slice_thresholds:
                found = spec.per_slice_thresholds.pop(name).thresholds
                metric.per_slice_thresholds.extend(found)
    return copy
