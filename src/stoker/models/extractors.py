# SPDX-License-Identifier: Apache-2.0
"""TFMA's extractors, where TFMA is not installed: steps of Beam that examples go through.

What goes through them are extracts, dicts of some examples at once: "features" by name, "labels",
"example_weights", "predictions". A user's module puts an extractor of its own among them, to ask a
model that is not TensorFlow's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np

from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.evaluation.features import Feature, features_of
from stoker.models.scoring import load_model
from stoker.stand_ins.tfma.constants import (
    ARROW_RECORD_BATCH_KEY,
    EXAMPLE_WEIGHTS_KEY,
    FEATURES_KEY,
    INPUT_KEY,
    LABELS_KEY,
    PREDICTIONS_KEY,
)
from stoker.stand_ins.tfma.shared_models import (
    EvalSharedModel,
    verify_and_update_eval_shared_models,
)

Extracts = dict[str, Any]


class Extractor(NamedTuple):
    """A step that adds to extracts."""

    stage_name: str
    ptransform: Any


def default_extractors(
    eval_shared_model: Any = None,
    eval_config: EvalConfig | None = None,
    custom_predict_extractor: Extractor | None = None,
    **_: Any,
) -> list[Extractor]:
    """What is done with examples unless a module says otherwise."""
    config = eval_config or EvalConfig()
    predict = custom_predict_extractor or PredictionsExtractor(config, eval_shared_model)
    return [
        FeaturesExtractor(config),
        LabelsExtractor(config),
        ExampleWeightsExtractor(config),
        predict,
        UnbatchExtractor(),
        SliceKeyExtractor(),
    ]


def FeaturesExtractor(
    eval_config: EvalConfig | None = None,  # noqa: ARG001
    tensor_representations: Any = None,  # noqa: ARG001
) -> Extractor:
    """Puts the features there, by name, a row for each example."""
    return Extractor("ExtractFeatures", beam.Map(_extract_features))


def LabelsExtractor(eval_config: EvalConfig) -> Extractor:
    """Puts the labels there, which `ModelSpec.label_key` names."""
    return Extractor("ExtractLabels", beam.Map(_copy_feature, eval_config, "label_key", LABELS_KEY))


def ExampleWeightsExtractor(eval_config: EvalConfig) -> Extractor:
    """Puts the weights there, which `ModelSpec.example_weight_key` names."""
    copy = beam.Map(_copy_feature, eval_config, "example_weight_key", EXAMPLE_WEIGHTS_KEY)
    return Extractor("ExtractExampleWeights", copy)


def PredictionsExtractor(eval_config: EvalConfig, eval_shared_model: Any = None) -> Extractor:
    """Asks the models; without models, the examples have the predictions."""
    models = verify_and_update_eval_shared_models(eval_shared_model)
    if models is None:
        copy = beam.Map(_copy_feature, eval_config, "prediction_key", PREDICTIONS_KEY)
        return Extractor("ExtractPredictions", copy)
    by_name = {one.model_name: one for one in models}
    return Extractor("ExtractPredictions", beam.ParDo(_Predict(eval_config, by_name)))


def UnbatchExtractor() -> Extractor:
    """Makes extracts of one example each."""
    return Extractor(_UNBATCH, beam.FlatMap(_unbatch))


def SliceKeyExtractor(*_: Any, **__: Any) -> Extractor:
    """Does nothing: the engine finds out itself which examples are in which slice."""
    return Extractor(_SLICE, beam.Map(_keep))


_UNBATCH, _SLICE = "ExtractUnbatchedInputs", "ExtractSliceKeys"
LAST_STAGES = (_UNBATCH, _SLICE)
"""What need not be done at the end: the engine takes many examples at once, and slices them."""


def start_extracts(records: Sequence[bytes], columns: Any) -> Extracts:
    """What the first extractor is given."""
    return {ARROW_RECORD_BATCH_KEY: columns, INPUT_KEY: np.array(records, object)}


def _extract_features(extracts: Extracts) -> Extracts:
    columns = features_of(extracts[ARROW_RECORD_BATCH_KEY])
    features = {name: _as_rows(feature) for name, feature in columns.items()}
    return {**extracts, FEATURES_KEY: {**extracts.get(FEATURES_KEY, {}), **features}}


def _as_rows(feature: Feature) -> np.ndarray:
    """A row for each example: of equal lengths, or an array of arrays."""
    width = int(feature.lengths.max(initial=0))
    if (feature.lengths == width).all():
        return feature.values.reshape(-1, width)
    rows = np.empty(len(feature.lengths), object)
    rows[:] = np.split(feature.values, feature.starts[1:])
    return rows


def _copy_feature(extracts: Extracts, config: EvalConfig, field: str, key: str) -> Extracts:
    """The features that the specs name in a field, under a key of their own."""
    features = extracts[FEATURES_KEY]
    found = {
        spec.name: features[getattr(spec, field)]
        for spec in config.model_specs
        if getattr(spec, field) in features
    }
    if not found:
        return extracts
    return {**extracts, key: found if len(config.model_specs) > 1 else next(iter(found.values()))}


class _Predict(beam.DoFn):  # type: ignore[misc]
    """Asks TensorFlow's models."""

    def __init__(self, config: EvalConfig, models: Mapping[str, EvalSharedModel]) -> None:
        self._config = config
        self._models = models

    def setup(self) -> None:
        specs = {spec.name: spec for spec in self._config.model_specs}
        self._loaded = {
            name: load_model(specs[name], str(one.model_path)) for name, one in self._models.items()
        }

    def process(self, extracts: Extracts) -> Iterator[Extracts]:
        records = list(extracts[INPUT_KEY])
        found = {name: model(records) for name, model in self._loaded.items()}
        one_alone = found[""] if list(found) == [""] else found
        yield {**extracts, PREDICTIONS_KEY: one_alone}


def _unbatch(extracts: Extracts) -> Iterator[Extracts]:
    kept = {key: value for key, value in extracts.items() if key != ARROW_RECORD_BATCH_KEY}
    for row in range(len(extracts[INPUT_KEY])):
        yield {key: _take_row(value, row) for key, value in kept.items()}


def _take_row(value: Any, row: int) -> Any:
    if isinstance(value, Mapping):
        return {key: _take_row(one, row) for key, one in value.items()}
    return value[row]


def _keep(extracts: Extracts) -> Extracts:
    return extracts


class DoFnWithModels(beam.DoFn):  # type: ignore[misc]
    """A step that asks models, which `setup` loads into `_loaded_models` by name."""

    def __init__(self, model_loaders: Mapping[str, Any]) -> None:
        self._model_loaders = model_loaders
        self._loaded_models: dict[str, Any] | None = None

    def setup(self) -> None:
        """Load the models."""
        self._loaded_models = {name: one.load() for name, one in self._model_loaders.items()}

    def process(self, elem: Any) -> Any:
        """For others to define."""
        raise NotImplementedError("A DoFnWithModels has to define process(self, elem).")
