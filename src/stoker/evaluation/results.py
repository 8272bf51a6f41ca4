# SPDX-License-Identifier: Apache-2.0
"""An evaluation on disk, in the layout and the messages of TFMA, whose tools read it.

<uri>/metrics-00000-of-00001.tfrecord        MetricsForSlice, a record for each slice
      plots-00000-of-00001.tfrecord          PlotsForSlice, a record for each slice with plots
      attributions-00000-of-00001.tfrecord   empty
      validations.tfrecord                   one ValidationResult
      eval_config.json                       EvalRun
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from google.protobuf import json_format

from stoker.data.tfrecord import read_records, write_records
from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.dsl.proto.evaluation_pb2 import (
    EvalRun,
    MetricKey,
    MetricsForSlice,
    PlotData,
    PlotsForSlice,
    SliceKey,
    ValidationResult,
)
from stoker.evaluation.engine import Drawn, Measured, MetricId
from stoker.evaluation.slices import SliceKey as OurSliceKey

EVAL_CONFIG = "eval_config.json"
EXAMPLES_FORMAT = "tfrecords_gzip"
"""How the examples of a pipeline are kept."""
_METRICS = "metrics-00000-of-00001.tfrecord"
_PLOTS = "plots-00000-of-00001.tfrecord"
_ATTRIBUTIONS = "attributions-00000-of-00001.tfrecord"
_VALIDATIONS = "validations.tfrecord"
_LAYOUT_VERSION = "0.52.0"
"""The edition of TFMA whose files these are: its reader asks."""


def write_evaluation(
    folder: str,
    config: EvalConfig,
    measured: Measured,
    validation: ValidationResult,
    *,
    data_location: str,
    file_format: str = EXAMPLES_FORMAT,
    models: Mapping[str, str],
    drawn: Drawn | None = None,
) -> None:
    """Write all files of an evaluation."""
    records = (_metrics_for_slice(key, values) for key, values in sort_slices(measured))
    write_records(os.path.join(folder, _METRICS), records)
    plots = (_plots_for_slice(key, drawn[key]) for key in measured if drawn and key in drawn)
    write_records(os.path.join(folder, _PLOTS), plots)
    write_records(os.path.join(folder, _ATTRIBUTIONS), [])
    write_records(os.path.join(folder, _VALIDATIONS), [validation.SerializeToString()])
    run = EvalRun(
        eval_config=config,
        version=_LAYOUT_VERSION,
        data_location=data_location,
        file_format=file_format,
        model_locations=models,
    )
    Path(folder, EVAL_CONFIG).write_text(json_format.MessageToJson(run))


def sort_slices(measured: Measured) -> list[tuple[OurSliceKey, dict[MetricId, float]]]:
    """All examples first, then by features and values."""
    return sorted(measured.items(), key=lambda one: (len(one[0]), [(k, str(v)) for k, v in one[0]]))


def read_metrics(folder: str) -> Measured:
    """The metrics of an evaluation; values that are no single number are left out."""
    return {
        read_slice_key(message.slice_key): _read_values(message)
        for message in read_messages(folder)
    }


def read_overall_metrics(folder: str) -> dict[MetricId, float]:
    """The metrics of all examples, without those of slices; empty if there are none."""
    messages = read_messages(folder)
    overall = (one for one in messages if not one.slice_key.single_slice_keys)
    return next(map(_read_values, overall), {})


def _read_values(message: MetricsForSlice) -> dict[MetricId, float]:
    return {
        read_metric_key(one.key): one.value.double_value.value
        for one in message.metric_keys_and_values
        if one.value.WhichOneof("type") == "double_value"
    }


def read_messages(folder: str, ending: str = "tfrecord") -> Iterator[MetricsForSlice]:
    """The metrics of each slice, as they are stored."""
    for path in sorted(Path(folder).glob(f"metrics-*.{ending}")):
        yield from map(MetricsForSlice.FromString, read_records(str(path)))


def read_plots(folder: str, ending: str = "tfrecord") -> Iterator[PlotsForSlice]:
    """The plots of each slice that has some, as they are stored."""
    for path in sorted(Path(folder).glob(f"plots-*.{ending}")):
        yield from map(PlotsForSlice.FromString, read_records(str(path)))


def read_validation(folder: str) -> ValidationResult | None:
    """The verdict of an evaluation, if it has one."""
    for path in sorted(Path(folder).glob("validations*")):
        for record in read_records(str(path)):
            return ValidationResult.FromString(record)
    return None


def metric_key(key: MetricId) -> MetricKey:
    """A metric's name as TFMA's message."""
    message = MetricKey(name=key.name, model_name=key.model, is_diff=key.is_diff)
    message.example_weighted.value = key.weighted
    if key.top_k:
        message.sub_key.top_k.value = key.top_k
    return message


def read_metric_key(key: MetricKey) -> MetricId:
    """TFMA's message as a metric's name."""
    weighted, top_k = key.example_weighted.value, key.sub_key.top_k.value
    return MetricId(key.name, key.model_name, weighted, key.is_diff, top_k)


def slice_key(key: OurSliceKey) -> SliceKey:
    """A slice as TFMA's message."""
    message = SliceKey()
    for name, value in key:
        single = message.single_slice_keys.add(column=name)
        match value:
            case str():
                single.bytes_value = value.encode()
            case int():
                single.int64_value = value
            case float():
                single.float_value = value
    return message


def read_slice_key(message: SliceKey) -> OurSliceKey:
    """TFMA's message as a slice."""
    key = []
    for single in message.single_slice_keys:
        value = getattr(single, single.WhichOneof("kind") or "bytes_value")
        key.append((single.column, value.decode() if isinstance(value, bytes) else value))
    return tuple(key)


def _metrics_for_slice(key: OurSliceKey, values: Mapping[MetricId, float]) -> bytes:
    message = MetricsForSlice(slice_key=slice_key(key))
    for one, value in values.items():
        pair = message.metric_keys_and_values.add(key=metric_key(one))
        pair.value.double_value.value = value
    return message.SerializeToString()


def _plots_for_slice(key: OurSliceKey, plots: Mapping[MetricId, PlotData]) -> bytes:
    message = PlotsForSlice(slice_key=slice_key(key))
    for one, data in plots.items():
        pair = message.plot_keys_and_values.add(value=data)
        pair.key.name, pair.key.model_name = one.name, one.model
        pair.key.example_weighted.value = one.weighted
    return message.SerializeToString()
