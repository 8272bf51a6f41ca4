# SPDX-License-Identifier: Apache-2.0
"""Metrics by the class names of Keras and TFMA: which sums each needs, and its formula.

The formulas, their edge cases and their precision are those of TFMA, so that both say the same.

To add a metric:

1. Add a row to METRICS below, and to _SETTINGS if it has any; new sums go to accumulators.py.
2. Take its name off _TFMA_METRICS at the end.
3. Compare it with TFMA: add it to CASES in tests/evaluation/test_both_engines.py.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stoker.any_python.lines import did_you_mean
from stoker.dsl.proto.eval_config_pb2 import MetricConfig
from stoker.evaluation.accumulators import (
    RecordStatistic,
    Scored,
    Statistic,
    confusion,
    histogram,
    lenient_confusion,
    mean_of,
    pairs,
    totals_of,
)
from stoker.evaluation.areas import area_under_curve
from stoker.evaluation.losses import CLASS_LOSSES, binary_cross_entropy, exact
from stoker.evaluation.plots import PLOTS, SHARED_NAMES, Plot
from stoker.evaluation.plots import SETTINGS as SETTINGS_OF_PLOTS

Settings = Mapping[str, Any]
Formula = Callable[[np.ndarray], float]


class NeedsTfma(Exception):
    """Something that only TFMA computes; the message says what."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number for each slice: a formula over the sums of a statistic."""

    name: str
    statistic: Statistic | RecordStatistic
    formula: Formula
    top_k: int = 0
    """Of how many classes the scores count; of all where it is 0."""


def make_metrics(config: MetricConfig) -> list[Metric]:
    """The metrics that a configuration names: one, those of a group, or none if it is a plot."""
    if config.class_name not in (*GROUPS, *PLOTS):
        return [make_metric(config)]
    _check_settings(config)
    if config.class_name in PLOTS:
        return []
    name, settings = name_of(config), _settings(config)
    return [
        Metric(f"{name}/{part}", statistic, formula)
        for part, statistic, formula in GROUPS[config.class_name](settings)
    ]


def make_plots(config: MetricConfig) -> list[Plot]:
    """The plot that a configuration names, if it does."""
    if config.class_name not in PLOTS:
        return []
    _check_settings(config)
    name = name_of(config)
    return [
        Plot("" if name in SHARED_NAMES else name, *PLOTS[config.class_name](_settings(config)))
    ]


def make_metric(config: MetricConfig) -> Metric:
    """The metric that a configuration names."""
    _check_settings(config)
    statistic, formula = METRICS[config.class_name](_settings(config))
    return Metric(name_of(config), statistic, formula, top_k_of(config))


def _check_settings(config: MetricConfig) -> None:
    """Refuse metrics that nobody has; NeedsTfma for those, and for settings, of TFMA alone."""
    settings = _settings(config)
    if config.module and not config.module.startswith(_MODULES):
        raise NeedsTfma(f"metrics of your own classes, like {config.module}.{config.class_name}")
    if config.class_name not in (*METRICS, *GROUPS, *PLOTS):
        if config.class_name in _TFMA_METRICS:
            raise NeedsTfma(f"the metric {config.class_name}")
        known = [*METRICS, *GROUPS, *PLOTS, *_TFMA_METRICS]
        raise ValueError(
            f"There is no metric {config.class_name!r}.{did_you_mean(config.class_name, known)} A "
            "metric is named by its class in tf.keras.metrics or tfma.metrics; one of your own "
            "needs MetricConfig.module."
        )
    taken = ("name", *_SETTINGS.get(config.class_name, ()))
    for key, value in settings.items():
        if key not in taken and value not in _HARMLESS.get(key, (None,)):
            raise NeedsTfma(f"{config.class_name}({key}={value!r})")


def is_metric(class_name: str) -> bool:
    """Whether there is such a metric, here or in TFMA."""
    return any(class_name in names for names in (METRICS, GROUPS, PLOTS, _TFMA_METRICS))


def name_of(config: MetricConfig) -> str:
    """What a metric is called in an evaluation."""
    usual = _USUAL_NAMES.get(config.class_name) or _snake_case(config.class_name)
    return str(_settings(config)["name"] or usual)


def top_k_of(config: MetricConfig) -> int:
    """Of how many classes the scores count for a metric; 0 for all."""
    return int(_settings(config).get("top_k") or 0)


_USUAL_NAMES = {"FairnessIndicators": "fairness_indicators_metrics"}
_MODULES = ("tf_keras", "keras", "tensorflow", "tensorflow_model_analysis")
_HARMLESS: dict[str, tuple[Any, ...]] = {
    "dtype": (None, "float32"),
    "reduction": (None, "auto", "sum_over_batch_size"),
    "multi_label": (None, False),
    "from_logits": (None, False),
    "axis": (None, -1),
    "ignore_class": (None,),
    "label_smoothing": (None, 0, 0.0),
    "fn": (None,),
}
"""Settings that change nothing if they have one of these values."""


def _settings(config: MetricConfig) -> dict[str, Any]:
    text = config.config.strip()
    try:
        found = json.loads(text if text.startswith("{") else f"{{{text}}}")
    except json.JSONDecodeError as error:
        raise ValueError(
            f"The config of {config.class_name} is not JSON: {config.config!r} ({error}). "
            "Write it as '\"name\": value, …'."
        ) from error
    return {"name": "", **found}


def _snake_case(class_name: str) -> str:
    words = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", class_name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", words).lower()


def _ratio(numerator: float, denominator: float) -> float:
    return float(numerator / denominator) if denominator > 0 else math.nan


# From the four sums of a confusion matrix: tp, tn, fp, fn.
OfConfusion = Callable[[float, float, float, float], float]
_OF_CONFUSION: dict[str, OfConfusion] = {
    "TruePositives": lambda tp, tn, fp, fn: tp,  # noqa: ARG005
    "TrueNegatives": lambda tp, tn, fp, fn: tn,  # noqa: ARG005
    "FalsePositives": lambda tp, tn, fp, fn: fp,  # noqa: ARG005
    "FalseNegatives": lambda tp, tn, fp, fn: fn,  # noqa: ARG005
    "BinaryAccuracy": lambda tp, tn, fp, fn: _ratio(tp + tn, tp + tn + fp + fn),
    "Precision": lambda tp, tn, fp, fn: _ratio(tp, tp + fp),  # noqa: ARG005
    "Recall": lambda tp, tn, fp, fn: _ratio(tp, tp + fn),  # noqa: ARG005
    "Specificity": lambda tp, tn, fp, fn: _ratio(tn, tn + fp),  # noqa: ARG005
    "FallOut": lambda tp, tn, fp, fn: _ratio(fp, fp + tn),  # noqa: ARG005
    "MissRate": lambda tp, tn, fp, fn: _ratio(fn, fn + tp),  # noqa: ARG005
    "NegativePredictiveValue": lambda tp, tn, fp, fn: _ratio(tn, tn + fn),  # noqa: ARG005
    "FalseDiscoveryRate": lambda tp, tn, fp, fn: _ratio(fp, fp + tp),  # noqa: ARG005
    "FalseOmissionRate": lambda tp, tn, fp, fn: _ratio(fn, fn + tn),  # noqa: ARG005
    "PredictedPositiveRate": lambda tp, tn, fp, fn: _ratio(tp + fp, tp + tn + fp + fn),
    "Prevalence": lambda tp, tn, fp, fn: _ratio(tp + fn, tp + tn + fp + fn),
    "ThreatScore": lambda tp, tn, fp, fn: _ratio(tp, tp + fn + fp),  # noqa: ARG005
    "F1Score": lambda tp, tn, fp, fn: _ratio(2 * tp, 2 * tp + fp + fn),  # noqa: ARG005
    "BalancedAccuracy": lambda tp, tn, fp, fn: (_ratio(tp, tp + fn) + _ratio(tn, tn + fp)) / 2,
}
_SHORT_NAMES = {
    "TP": "TruePositives",
    "TN": "TrueNegatives",
    "FP": "FalsePositives",
    "FN": "FalseNegatives",
    "PPV": "Precision",
    "TPR": "Recall",
    "TNR": "Specificity",
    "FPR": "FallOut",
    "FNR": "MissRate",
    "NPV": "NegativePredictiveValue",
}

Maker = Callable[[Settings], tuple[Statistic, Formula]]


def _confusion_metric(class_name: str) -> Maker:
    of_sums = _OF_CONFUSION[class_name]

    def make(settings: Settings) -> tuple[Statistic, Formula]:
        given, top_k = settings.get("thresholds", settings.get("threshold")), settings.get("top_k")
        usual = -math.inf if top_k else 0.5
        thresholds = given if isinstance(given, list) else [usual if given is None else given]
        if len(thresholds) != 1:
            raise NeedsTfma(f"{class_name} at {len(thresholds)} thresholds")
        if class_name == "BinaryAccuracy":
            statistic = lenient_confusion(float(thresholds[0]), class_name)
            return statistic, lambda sums: float(of_sums(*sums))
        return _at_threshold(of_sums, thresholds[0], int(top_k or 0))

    return make


def _at_threshold(
    of_sums: OfConfusion, threshold: float, top_k: int = 0
) -> tuple[Statistic, Formula]:
    return confusion(float(threshold), top_k), lambda sums: float(of_sums(*sums))


def _area(settings: Settings, *, curve: str = "ROC") -> tuple[Statistic, Formula]:
    thresholds = settings.get("thresholds")
    num_thresholds = settings.get("num_thresholds") or 10_000
    if thresholds and len(thresholds) != num_thresholds - 2:
        raise NeedsTfma("AUC at thresholds of its own")
    curve = str(settings.get("curve") or curve).upper()
    method = str(settings.get("summation_method") or "interpolation").lower()
    return histogram(), lambda sums: area_under_curve(sums, num_thresholds, curve, method)


def _mean(sums: np.ndarray) -> float:
    return float(sums[0] / sums[1]) if sums[1] else math.nan


def _regression(class_name: str, error: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Maker:
    def make(_: Settings) -> tuple[Statistic, Formula]:
        def of_example(batch: Scored) -> np.ndarray:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(error(*pairs(batch, class_name)).mean(axis=1))

        return mean_of(class_name, of_example), _mean

    return make


def _take_root(make: Maker) -> Maker:
    def make_root(settings: Settings) -> tuple[Statistic, Formula]:
        statistic, formula = make(settings)
        return statistic, lambda sums: math.sqrt(formula(sums))

    return make_root


def _percentage_error(label: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    return np.where(label == 0, np.nan, 100 * np.abs((label - prediction) / label))


def _log_error(label: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    return np.asarray(np.square(np.log(label + 1) - np.log(prediction + 1)))


def _squared_error(label: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    return np.asarray(np.square(label - prediction))


def _moments(formula: Formula) -> Maker:
    """A metric of the sums of labels, predictions, weights, their squares and their products."""
    powers = ((1, 0), (0, 1), (0, 0), (2, 0), (0, 2), (1, 1))

    def weighted_mean(of_label: int, of_prediction: int) -> Callable[[Scored], np.ndarray]:
        def of_example(batch: Scored) -> np.ndarray:
            labels, predictions = pairs(batch, "Calibration")
            products = labels**of_label * predictions**of_prediction
            return np.asarray(batch.weights * products.mean(axis=1))

        return of_example

    statistic = totals_of("moments", *(weighted_mean(*one) for one in powers))
    return lambda _: (statistic, formula)


def _quotient(numerator: int, denominator: int) -> Formula:
    def formula(sums: np.ndarray) -> float:
        if np.isclose(sums[denominator], 0):
            return math.nan
        return float(sums[numerator] / sums[denominator])

    return formula


def _squared_correlation(sums: np.ndarray) -> float:
    labels, predictions, weights, squared_labels, squared_predictions, products = sums
    if weights <= 0:
        return math.nan
    variances = (squared_labels - labels**2 / weights) * (
        squared_predictions - predictions**2 / weights
    )
    return _ratio((products - labels * predictions / weights) ** 2, variances)


def _count(_: Settings) -> tuple[Statistic, Formula]:
    return totals_of("count", lambda batch: batch.weights), lambda sums: float(sums[0])


def _binary_cross_entropy(settings: Settings) -> tuple[Statistic, Formula]:
    from_logits = bool(settings.get("from_logits"))
    smoothing = float(settings.get("label_smoothing") or 0)
    return (
        mean_of(
            f"binary_cross_entropy {from_logits} {smoothing}",
            lambda batch: binary_cross_entropy(batch, from_logits, smoothing),
        ),
        _mean,
    )


def _of_classes(class_name: str) -> Maker:
    def make(settings: Settings) -> tuple[Statistic, Formula]:
        loss, from_logits = CLASS_LOSSES[class_name], bool(settings.get("from_logits"))
        key = f"{class_name} {from_logits}"
        return mean_of(key, lambda batch: loss(batch, from_logits)), _mean

    return make


METRICS: dict[str, Maker] = {
    "ExampleCount": _count,
    "WeightedExampleCount": _count,
    **{
        name: _confusion_metric(_SHORT_NAMES.get(name, name))
        for name in (*_OF_CONFUSION, *_SHORT_NAMES)
    },
    "AUC": _area,
    "AUCPrecisionRecall": lambda settings: _area(settings, curve="PR"),
    "Accuracy": lambda _: (mean_of("accuracy", exact), _mean),
    **{name: _of_classes(name) for name in CLASS_LOSSES},
    "BinaryCrossentropy": _binary_cross_entropy,
    "MeanSquaredError": _regression("MeanSquaredError", _squared_error),
    "RootMeanSquaredError": _take_root(_regression("MeanSquaredError", _squared_error)),
    "MeanAbsoluteError": _regression("MeanAbsoluteError", lambda y, found: np.abs(y - found)),
    "MeanAbsolutePercentageError": _regression("MeanAbsolutePercentageError", _percentage_error),
    "MeanSquaredLogarithmicError": _regression("MeanSquaredLogarithmicError", _log_error),
    "MeanLabel": _moments(_quotient(0, 2)),
    "MeanPrediction": _moments(_quotient(1, 2)),
    "Calibration": _moments(_quotient(1, 0)),
    "SquaredPearsonCorrelation": _moments(_squared_correlation),
}
"""By class name: how the metric is made of its settings."""

_FAIRNESS: dict[str, OfConfusion] = {
    "false_positive_rate": _OF_CONFUSION["FallOut"],
    "false_negative_rate": _OF_CONFUSION["MissRate"],
    "true_positive_rate": _OF_CONFUSION["Recall"],
    "true_negative_rate": _OF_CONFUSION["Specificity"],
    "positive_rate": _OF_CONFUSION["PredictedPositiveRate"],
    "negative_rate": lambda tp, tn, fp, fn: _ratio(tn + fn, tp + tn + fp + fn),
    "false_discovery_rate": _OF_CONFUSION["FalseDiscoveryRate"],
    "false_omission_rate": _OF_CONFUSION["FalseOmissionRate"],
    "precision": _OF_CONFUSION["Precision"],
    "recall": _OF_CONFUSION["Recall"],
}
_FAIRNESS_THRESHOLDS = tuple(number / 10 for number in range(1, 10))


def _fairness_indicators(settings: Settings) -> Iterator[tuple[str, Statistic, Formula]]:
    """Each rate at each threshold, such as `positive_rate@0.5`."""
    thresholds = settings.get("thresholds") or _FAIRNESS_THRESHOLDS
    digits = max(1, *(len(str(one)) - 2 for one in thresholds))
    for threshold in thresholds:
        for name, of_sums in _FAIRNESS.items():
            yield f"{name}@{threshold:.{digits}f}", *_at_threshold(of_sums, threshold)


GROUPS: dict[str, Callable[[Settings], Iterable[tuple[str, Statistic, Formula]]]] = {
    "FairnessIndicators": _fairness_indicators,
}
"""By class name: metrics that are several, each with a name of its own behind the common one."""

_AREA_SETTINGS = ("num_thresholds", "thresholds", "curve", "summation_method")
_SETTINGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*_OF_CONFUSION, *_SHORT_NAMES), ("thresholds", "threshold", "top_k")),
    "BinaryAccuracy": ("thresholds", "threshold"),
    **dict.fromkeys(("AUC", "AUCPrecisionRecall"), _AREA_SETTINGS),
    **dict.fromkeys(("SparseCategoricalCrossentropy", "CategoricalCrossentropy"), ("from_logits",)),
    "BinaryCrossentropy": ("from_logits", "label_smoothing"),
    "FairnessIndicators": ("thresholds",),
    **SETTINGS_OF_PLOTS,
}
"""By class name: the settings that a metric knows, besides its name."""

_TFMA_METRICS = frozenset(
    [
        *("BinaryCrossEntropy", "BinaryIoU", "Bleu", "BooleanFlipRates"),
        *("CategoricalCrossEntropy", "CategoricalHinge", "COCOAveragePrecision"),
        *("COCOAverageRecall", "COCOMeanAveragePrecision", "COCOMeanAverageRecall"),
        *("CoefficientOfDiscrimination", "ConfusionMatrixAtThresholds"),
        *("CosineSimilarity", "DiagnosticOddsRatio", "ExactMatch"),
        *("FalseNegativeFeatureSampler", "FalsePositiveFeatureSampler", "FBetaScore"),
        *("FowlkesMallowsIndex", "Hinge", "Informedness", "IoU", "KLDivergence", "LogCoshError"),
        *("Markedness", "MatthewsCorrelationCoefficient", "MaxRecall", "Mean"),
        *("MeanAbsoluteAttributions", "MeanAttributions", "MeanIoU", "MeanMetricWrapper"),
        *("MeanRelativeError", "MeanTensor", "MinLabelPosition", "ModelCosineSimilarity"),
        *("MultiClassConfusionMatrixAtThresholds",),
        *("MultiLabelConfusionMatrixPlot", "NDCG", "NegativeLikelihoodRatio", "NegToNegFlipRate"),
        *("NegToPosFlipRate", "ObjectDetectionConfusionMatrixPlot", "ObjectDetectionMaxRecall"),
        *("ObjectDetectionPrecision", "ObjectDetectionPrecisionAtRecall", "ObjectDetectionRecall"),
        *("ObjectDetectionThresholdAtRecall", "OneHotIoU", "OneHotMeanIoU", "Poisson"),
        *("PositiveLikelihoodRatio", "PosToNegFlipRate", "PosToPosFlipRate", "PrecisionAtRecall"),
        *("PrevalenceThreshold", "QueryStatistics", "R2Score"),
        *("RecallAtFalsePositiveRate", "RecallAtPrecision", "RelativeCoefficientOfDiscrimination"),
        *("Rouge", "ScoreDistributionPlot", "SemanticSegmentationConfusionMatrix"),
        *("SemanticSegmentationFalsePositive", "SemanticSegmentationTruePositive"),
        *("SensitivityAtSpecificity", "SetMatchPrecision", "SetMatchRecall"),
        *("SparseTopKCategoricalAccuracy", "SpecificityAtSensitivity", "SquaredHinge", "Sum"),
        *("SymmetricFlipRate", "SymmetricPredictionDifference", "ThresholdAtRecall"),
        *("TopKCategoricalAccuracy", "TotalAbsoluteAttributions", "TotalAttributions"),
    ]
)
"""Metrics of Keras and TFMA that Stoker does not compute itself."""
