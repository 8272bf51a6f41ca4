# SPDX-License-Identifier: Apache-2.0
"""The other engine: TFMA on Beam's in-memory runner, for what Stoker does not compute itself.

The checks refuse what TFMA would pass over, or tell in its own words. Asking the models of all
examples costs little beside what TFMA does with them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.errors import BadData
from stoker.evaluation.compiled import Compiled
from stoker.evaluation.engine import Batch
from stoker.evaluation.features import (
    labels_of,
    no_such_feature,
    refuse_nan,
    say_there_are_no_slices_by,
)
from stoker.evaluation.metrics import name_of
from stoker.evaluation.thresholds import say_what_is_not_computed
from stoker.statistics.data_schema import read_schema

_RAW_RECORD = "__raw_record__"
"""The column of serialized examples, as TFMA calls it."""


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

    theirs = TheirEvalConfig.FromString(_move_thresholds(config, models).SerializeToString())
    load = custom_eval_shared_model or tfma.default_eval_shared_model
    # TFX gives a user's function this argument, and no other.
    more = {"add_metrics_callbacks": None} if custom_eval_shared_model else {}
    shared = [
        load(eval_saved_model_path=path, model_name=name, eval_config=theirs, **more)
        for name, path in models.items()
    ]
    if rubber_stamp:
        shared = [one._replace(rubber_stamp=True) for one in shared]
    model = shared if len(shared) != 1 else shared[0]
    extractors = custom_extractors and custom_extractors(
        eval_shared_model=model,
        eval_config=theirs,
        tensor_adapter_config=make_adapter_config(files, schema_path) if schema_path else None,
    )
    writing = tfma.ExtractEvaluateAndWriteResults(
        eval_config=theirs,
        eval_shared_model=model or None,
        extractors=extractors,
        output_path=folder,
    )
    source = _read_examples(files, schema_path)
    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        _ = pipeline | "Read" >> source.BeamSource() | "Evaluate" >> writing


def make_adapter_config(files: Sequence[str], schema_path: str) -> Any:
    """What says how features become tensors, of tfx_bsl's class."""
    from tfx_bsl.tfxio import tensor_adapter

    source = _read_examples(files, schema_path)
    return tensor_adapter.TensorAdapterConfig(
        arrow_schema=source.ArrowSchema(), tensor_representations=source.TensorRepresentations()
    )


def _read_examples(files: Sequence[str], schema_path: str | None) -> Any:
    from tfx_bsl.tfxio import tf_example_record

    return tf_example_record.TFExampleRecord(
        file_pattern=list(files),
        schema=read_schema(schema_path) if schema_path else None,
        raw_record_column_name=_RAW_RECORD,
    )


def _move_thresholds(config: EvalConfig, models: Iterable[str]) -> EvalConfig:
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


def check_threshold_names(config: EvalConfig, compiled: Mapping[str, Compiled]) -> None:
    """Tell of thresholds of metrics that are not computed."""
    names = {name for one in compiled.values() for name in one.unknown}
    names |= {metric.name for one in compiled.values() for metric, _ in one.metrics}
    names |= {name_of(metric) for spec in config.metrics_specs for metric in spec.metrics}
    held = [
        name
        for spec in config.metrics_specs
        for name in (*spec.thresholds, *spec.per_slice_thresholds, *spec.cross_slice_thresholds)
        if name not in names and "/" not in name  # some have several values: metric/value
    ]
    say_what_is_not_computed(held, names)


def check_examples(config: EvalConfig, batches: Iterable[Batch], *, all_known: bool) -> None:
    """Refuse features that no example has, predictions that are no numbers, and no examples.

    Unless `all_known`, further features are made where only TFMA sees them.
    """
    known: set[str] = set()
    num_examples = 0
    for batch in batches:
        num_examples += batch.num_rows
        for spec in config.model_specs:
            features, outputs = batch.features[spec.name], batch.outputs[spec.name]
            known.update(features)
            for name, array in outputs.items():
                refuse_nan(array, f"The model's output {name!r}")
            if spec.label_key in features and features[spec.label_key].values.dtype == object:
                labels_of(features, spec.label_key, outputs)
    if not num_examples:
        raise BadData("There are no examples to evaluate. Name other example_splits.")
    if not all_known:
        return
    for name, what_for in _list_needed_features(config):
        if name not in known:
            raise no_such_feature(name, what_for, known)
    for slicing in config.slicing_specs:
        for name in (*slicing.feature_keys, *slicing.feature_values):
            if name not in known:
                say_there_are_no_slices_by(name, known)


def _list_needed_features(config: EvalConfig) -> Iterator[tuple[str, str]]:
    """The features without which nothing can be computed, and what each is for."""
    for spec in config.model_specs:
        for name in filter(None, [spec.label_key, *spec.label_keys.values()]):
            yield name, "is to be the label"
        for name in filter(None, [spec.example_weight_key, *spec.example_weight_keys.values()]):
            yield name, "is to be the example weight"
