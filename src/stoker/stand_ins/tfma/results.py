# SPDX-License-Identifier: Apache-2.0
"""An evaluation as notebooks read it with TFMA's functions, where TFMA is not installed."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import json_format

from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.dsl.proto.evaluation_pb2 import (
    EvalRun,
    MetricsForSlice,
    PlotsForSlice,
    ValidationResult,
)
from stoker.errors import BadData, MissingPart
from stoker.evaluation.results import (
    EVAL_CONFIG,
    read_messages,
    read_plots,
    read_slice_key,
    read_validation,
)
from stoker.evaluation.slices import SliceKey
from stoker.stand_ins.tfma.constants import DATA_CENTRIC_MODE, MODEL_CENTRIC_MODE
from stoker.storage.by_path import bring_here

_MODES = MODEL_CENTRIC_MODE, DATA_CENTRIC_MODE
Values = dict[str, dict[str, Any]]
"""Metrics by name: {"auc": {"doubleValue": 0.7}}."""


class SlicedMetrics(NamedTuple):
    """The metrics of a slice, by the names of an output and of a sub key, both empty here."""

    slice: SliceKey
    metrics: dict[str, dict[str, Values]]


class SlicedPlots(NamedTuple):
    """The plots of a slice, by the same names."""

    slice: SliceKey
    plot: dict[str, dict[str, dict[str, Any]]]


class EvalResult(NamedTuple):
    """An evaluation of one model, with TFMA's fields and methods."""

    slicing_metrics: list[SlicedMetrics]
    plots: list[SlicedPlots]
    attributions: list[Any]
    config: EvalConfig
    data_location: str
    file_format: str
    model_location: str

    def get_metrics_for_slice(
        self, slice_name: SliceKey = (), output_name: str = "", **sub_key: Any
    ) -> Values | None:
        """The metrics of a slice, by default of all examples; None if there is no such slice."""
        return self.get_metrics_for_all_slices(output_name, **sub_key).get(slice_name)

    def get_metrics_for_all_slices(
        self, output_name: str = "", **sub_key: Any
    ) -> dict[SliceKey, Values]:
        """The metrics of each slice, or those of the `top_k`; a `class_id` or `k` needs TFMA."""
        named = [name for name in sub_key if name != "top_k" and sub_key[name] is not None]
        if named:
            raise MissingPart(
                f"Metrics by {' and '.join(named)} need TFMA: pip install 'stoker[evaluator]'."
            )
        part = _name_part(sub_key.get("top_k") or 0)
        return {key: metrics[output_name].get(part, {}) for key, metrics in self.slicing_metrics}

    def get_metric_names(self) -> list[str]:
        """The names of all metrics."""
        return list(
            {name: None for one in self.get_metrics_for_all_slices().values() for name in one}
        )

    def get_slice_names(self) -> list[SliceKey]:
        """All slices."""
        return [one.slice for one in self.slicing_metrics]


def load_eval_result(
    output_path: str, output_file_format: str | None = "tfrecord", model_name: str | None = None
) -> EvalResult:
    """The evaluation in a folder; of two models, the one that was compared with the baseline."""
    output_path = bring_here(output_path)
    run = _read_eval_run(output_path)
    by_slice = {
        read_slice_key(one.slice_key): _group_by_model(one)
        for one in load_metrics(output_path, output_file_format)
    }
    name = _choose_model(model_name, run)
    return EvalResult(
        slicing_metrics=[
            SlicedMetrics(key, {"": _merge_parts(models.get("", {}), models.get(name, {}))})
            for key, models in by_slice.items()
        ],
        plots=[
            SlicedPlots(read_slice_key(one.slice_key), {"": {"": _merge_plots(one, name)}})
            for one in load_plots(output_path, output_file_format)
        ],
        attributions=[],
        config=run.eval_config,
        data_location=run.data_location,
        file_format=run.file_format,
        model_location=run.model_locations.get(name, ""),
    )


class EvalResults(NamedTuple):
    """Several evaluations: of models on the same data, or of one model on more and more data."""

    results: list[EvalResult]
    mode: str = MODEL_CENTRIC_MODE

    def get_results(self) -> list[EvalResult]:
        """The evaluations."""
        return self.results

    def get_mode(self) -> str:
        """What differs between them: the models, or the data."""
        return self.mode


def make_eval_results(results: Iterable[EvalResult], mode: str) -> EvalResults:
    """Several evaluations as one thing to look at."""
    if mode not in _MODES:
        raise ValueError(
            f"The mode is {MODEL_CENTRIC_MODE!r} or {DATA_CENTRIC_MODE!r}, got {mode!r}."
        )
    return EvalResults(list(results), mode)


def load_eval_results(
    output_paths: str | Iterable[str],
    output_file_format: str | None = "tfrecord",
    mode: str = MODEL_CENTRIC_MODE,
    model_name: str | None = None,
) -> EvalResults:
    """The evaluations in some folders."""
    if output_file_format in _MODES:  # its place in older TFMAs
        output_file_format, mode = "tfrecord", output_file_format
    paths = [output_paths] if isinstance(output_paths, str) else output_paths
    found = [load_eval_result(path, output_file_format, model_name) for path in paths]
    return make_eval_results(found, mode)


def load_metrics(
    output_path: str, output_file_format: str | None = "tfrecord"
) -> Iterator[MetricsForSlice]:
    """The metrics of each slice, as messages."""
    return read_messages(bring_here(output_path), output_file_format or "tfrecord")


def load_plots(
    output_path: str, output_file_format: str | None = "tfrecord"
) -> Iterator[PlotsForSlice]:
    """The plots of each slice that has some, as messages."""
    return read_plots(bring_here(output_path), output_file_format or "tfrecord")


def load_validation_result(
    output_path: str,
    output_file_format: str | None = "",  # noqa: ARG001
) -> ValidationResult:
    """The verdict of an evaluation."""
    found = read_validation(bring_here(output_path))
    if found is None:
        raise BadData(f"There is no validation result in {output_path}. Evaluate a model first.")
    return found


def _merge_plots(message: PlotsForSlice, model: str) -> dict[str, Any]:
    """All plots of a model in a slice, by kind."""
    found: dict[str, Any] = {}
    for one in message.plot_keys_and_values:
        if one.key.model_name in ("", model):
            found |= json_format.MessageToDict(one.value)
    return found


def _read_eval_run(folder: str) -> EvalRun:
    path = Path(folder, EVAL_CONFIG)
    if not path.is_file():
        raise BadData(
            f"There is no evaluation in {folder}: it has no {EVAL_CONFIG}. Give the URI of an "
            "Evaluator's output 'evaluation'."
        )
    return json_format.Parse(path.read_text(), EvalRun(), ignore_unknown_fields=True)


def _choose_model(asked: str | None, run: EvalRun) -> str:
    names = [spec.name for spec in run.eval_config.model_specs if not spec.is_baseline]
    if asked is None:
        return names[0] if names else ""
    if asked not in run.model_locations:
        known = ", ".join(sorted(run.model_locations))
        raise ValueError(f"The evaluation has no model {asked!r}; it has {known}.")
    return asked


def _name_part(top_k: int) -> str:
    """What TFMA calls the metrics of some classes."""
    return f"topK:{top_k}" if top_k else ""


def _merge_parts(*models: Mapping[str, Values]) -> dict[str, Values]:
    parts = {"": None, **{part: None for model in models for part in model}}
    return {
        part: {name: value for model in models for name, value in model.get(part, {}).items()}
        for part in parts
    }


def _group_by_model(message: MetricsForSlice) -> Mapping[str, Mapping[str, Values]]:
    """The metrics of a slice by the model's name; a change from the baseline ends in `_diff`."""
    found: dict[str, dict[str, Values]] = {}
    for one in message.metric_keys_and_values:
        name = f"{one.key.name}_diff" if one.key.is_diff else one.key.name
        part = found.setdefault(one.key.model_name, {}).setdefault(
            _name_part(one.key.sub_key.top_k.value), {}
        )
        part[name] = json_format.MessageToDict(one.value)
    return found
