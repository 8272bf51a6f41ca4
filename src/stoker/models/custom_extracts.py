# SPDX-License-Identifier: Apache-2.0
"""What a module's `custom_eval_shared_model` and `custom_extractors` make of models and examples.

Their steps run on Beam in this process; what comes out is measured by Stoker's own engine.
"""

import itertools
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stoker.dsl.proto.eval_config_pb2 import EvalConfig, ModelSpec
from stoker.evaluation.config import LABELS
from stoker.evaluation.engine import Batch
from stoker.evaluation.features import Feature
from stoker.evaluation.with_tfma import make_adapter_config
from stoker.stand_ins.tfma.constants import (
    ARROW_RECORD_BATCH_KEY,
    EXAMPLE_WEIGHTS_KEY,
    FEATURES_KEY,
    LABELS_KEY,
    PREDICTIONS_KEY,
)
from stoker.stand_ins.tfma.shared_models import EvalSharedModel, default_eval_shared_model

_BATCH_ROWS = 2048
_KEPT = (FEATURES_KEY, LABELS_KEY, EXAMPLE_WEIGHTS_KEY, PREDICTIONS_KEY)

_collected: dict[str, list[dict[str, Any]]] = {}
"""What runs of Beam in this process have come to, by a name of their own."""


def load_shared_models(
    config: EvalConfig, models: Mapping[str, str], load: Callable[..., Any] | None
) -> dict[str, EvalSharedModel]:
    """The models by name, as the user's function or else TFMA's default makes them."""
    found = {}
    for name, folder in models.items():
        one = (load or default_eval_shared_model)(
            eval_saved_model_path=folder,
            model_name=name,
            eval_config=config,
            add_metrics_callbacks=None,
        )
        if not isinstance(one, EvalSharedModel):
            raise TypeError(
                f"custom_eval_shared_model returned {one!r}. Let it return an EvalSharedModel, as "
                "tfma.default_eval_shared_model makes them."
            )
        found[name] = one
    return found


def name_labels(config: EvalConfig) -> EvalConfig:
    """A copy of a configuration, with a name for labels that only an extractor knows."""
    named = EvalConfig()
    named.CopyFrom(config)
    for spec in named.model_specs:
        spec.label_key = spec.label_key or LABELS
    return named


def extract_batches(
    config: EvalConfig,
    shared: Mapping[str, EvalSharedModel],
    files: Sequence[str],
    schema_path: str | None,
    custom_extractors: Callable[..., Any],
) -> Iterator[Batch]:
    """The examples of some files, after all extractors."""
    models = list(shared.values())
    extractors = custom_extractors(
        eval_shared_model=models[0] if len(models) == 1 else models,
        eval_config=config,
        tensor_adapter_config=make_adapter_config(files, schema_path) if schema_path else None,
    )
    if not extractors:
        raise TypeError(
            f"custom_extractors returned {extractors!r}. Let it return a list of extractors, as "
            "tfma.default_extractors makes it."
        )
    for extracts in _gather(_run(extractors, files)):
        yield _make_batch(config, extracts)


def _run(extractors: Iterable[Any], files: Sequence[str]) -> list[dict[str, Any]]:
    import apache_beam as beam

    from stoker.models.extractors import LAST_STAGES

    steps = list(extractors)
    while steps and steps[-1].stage_name in LAST_STAGES:
        steps.pop()
    key = uuid.uuid4().hex
    _collected[key] = []
    try:
        with beam.Pipeline(runner="FnApiRunner") as pipeline:
            extracts = pipeline | beam.Create(list(files)) | beam.FlatMap(_start)
            for number, step in enumerate(steps):
                extracts |= f"{number} {step.stage_name}" >> step.ptransform
            _ = extracts | "Collect" >> beam.Map(_collect, key)
        return _collected[key]
    finally:
        del _collected[key]


def _start(path: str) -> Iterator[dict[str, Any]]:
    from stoker.models.extractors import start_extracts
    from stoker.models.scoring import read_batches

    for records, columns in read_batches([path], _BATCH_ROWS):
        yield start_extracts(records, columns)


def _collect(extracts: Mapping[str, Any], key: str) -> None:
    kept = {name: extracts[name] for name in _KEPT if name in extracts}
    is_batch = ARROW_RECORD_BATCH_KEY in extracts
    _collected[key].append(kept if is_batch else {"one": kept})


def _gather(found: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Extracts of many examples each; those of one example are put together."""
    for alone, many in itertools.groupby(found, key=lambda one: "one" in one):
        if not alone:
            yield from many
            continue
        while rows := [one["one"] for one in itertools.islice(many, _BATCH_ROWS)]:
            whole: dict[str, Any] = {key: [row[key] for row in rows] for key in rows[0]}
            names = {name for row in rows for name in row.get(FEATURES_KEY, {})}
            whole[FEATURES_KEY] = {
                name: [row[FEATURES_KEY].get(name, ()) for row in rows] for name in names
            }
            yield whole


def _make_batch(config: EvalConfig, extracts: Mapping[str, Any]) -> Batch:
    if PREDICTIONS_KEY not in extracts:
        raise ValueError(
            "No extractor of custom_extractors put tfma.PREDICTIONS_KEY into the extracts: let one "
            "of them ask the model."
        )
    raw = {name: _as_feature(rows) for name, rows in extracts.get(FEATURES_KEY, {}).items()}
    features, outputs = {}, {}
    for spec in config.model_specs:
        known = dict(raw)
        for key, name in (
            (LABELS_KEY, spec.label_key),
            (EXAMPLE_WEIGHTS_KEY, spec.example_weight_key),
        ):
            if name and extracts.get(key) is not None:
                known[name] = _as_feature(_select_model(extracts[key], spec))
        features[spec.name] = known
        outputs[spec.name] = _as_outputs(_select_model(extracts[PREDICTIONS_KEY], spec))
    num_rows = len(next(iter(next(iter(outputs.values())).values())))
    return Batch(features, outputs, [b""] * num_rows)


def _as_feature(rows: Any) -> Feature:
    """Rows of any lengths."""
    arrays = [np.atleast_1d(np.asarray(row)).ravel() for row in rows]
    lengths = np.array([len(one) for one in arrays], np.int64)
    values = np.concatenate(arrays) if arrays else np.array([])
    return Feature(values.astype(object) if values.dtype.kind in "SU" else values, lengths)


def _select_model(value: Any, spec: ModelSpec) -> Any:
    """The part of one model: of a dict by models, of a list of such dicts, or what is for all."""
    if isinstance(value, Mapping):
        return value.get(spec.name, value)
    if len(value) and isinstance(value[0], Mapping) and spec.name in value[0]:
        return [one[spec.name] for one in value]
    return value


def _as_outputs(value: Any) -> dict[str, np.ndarray]:
    if isinstance(value, Mapping):
        return {name: np.asarray(one) for name, one in value.items()}
    if len(value) and isinstance(value[0], Mapping):
        return {name: np.asarray([one[name] for one in value]) for name in value[0]}
    return {PREDICTIONS_KEY: np.asarray(value)}
