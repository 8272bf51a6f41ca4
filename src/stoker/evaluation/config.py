# SPDX-License-Identifier: Apache-2.0
"""The Evaluator's configuration: TFMA's message or a dict in, ours with its defaults out."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from stoker.dsl.proto.eval_config_pb2 import EvalConfig, MetricsSpec, MetricThreshold, ModelSpec
from stoker.dsl.proto.evaluator_pb2 import FeatureSlicingSpec

CANDIDATE, BASELINE = "candidate", "baseline"
"""What the two models are called where there are two; one alone has no name."""
EVAL = "eval"
"""The signature, and the tag, of the EvalSavedModel that an Estimator exports."""
LABELS = "labels"
"""Its labels, which it makes of the examples itself."""


def as_eval_config(given: Any) -> EvalConfig:
    """Any message that is named EvalConfig, TFMA's among them, or a dict or JSON text, as ours."""
    if isinstance(given, Message):
        if given.DESCRIPTOR.name != "EvalConfig":
            raise TypeError(
                f"Evaluator(eval_config=…) takes an EvalConfig, got {given.DESCRIPTOR.name}."
            )
        return EvalConfig.FromString(given.SerializeToString())
    if not isinstance(given, dict | str):
        raise TypeError(f"Evaluator(eval_config=…) takes an EvalConfig or a dict, got {given!r}.")
    try:
        if isinstance(given, str):
            return json_format.Parse(given, EvalConfig())
        return json_format.ParseDict(given, EvalConfig())
    except json_format.ParseError as error:
        raise ValueError(f"Evaluator(eval_config=…) is not an EvalConfig: {error}") from error


def merge_config(
    eval_config: Any,
    slicing: FeatureSlicingSpec | dict[str, Any] | None,
    fairness_thresholds: Sequence[float] | None,
) -> EvalConfig:
    """One configuration of what an Evaluator is given in old ways and in the new one."""
    if eval_config is not None and slicing is not None:
        raise ValueError("Evaluator takes eval_config or feature_slicing_spec, not both.")
    config = as_eval_config(eval_config) if eval_config is not None else EvalConfig()
    if isinstance(slicing, dict):
        slicing = json_format.ParseDict(slicing, FeatureSlicingSpec())
    if slicing is not None:  # of the time when Estimators were evaluated
        config.model_specs.add(signature_name=EVAL)
        for one in slicing.specs:
            config.slicing_specs.add(feature_keys=one.column_for_slicing)
    if fairness_thresholds:
        settings = json.dumps({"thresholds": list(fairness_thresholds)})
        config.metrics_specs.add().metrics.add(class_name="FairnessIndicators", config=settings)
    return config


def with_defaults(given: EvalConfig, *, has_baseline: bool) -> EvalConfig:
    """The configuration with a spec for each model, and for all examples if no slice is named.

    Without a baseline model there is nothing to compare with, and change thresholds are dropped.
    """
    config = EvalConfig()
    config.CopyFrom(given)
    candidate, baseline = _model_specs(config)
    del config.model_specs[:]
    if has_baseline:
        candidate.name = candidate.name or CANDIDATE
        baseline.name = baseline.name or BASELINE
        baseline.is_baseline = True
        config.model_specs.extend([candidate, baseline])
    else:
        candidate.name = ""
        config.model_specs.append(candidate)
        for threshold in _thresholds(config):
            threshold.ClearField("change_threshold")
    if not config.slicing_specs:
        config.slicing_specs.add()
    return config


def _model_specs(config: EvalConfig) -> tuple[ModelSpec, ModelSpec]:
    """The spec of the model, and of the baseline: by default the same, without its name."""
    candidates = [spec for spec in config.model_specs if not spec.is_baseline]
    baselines = [spec for spec in config.model_specs if spec.is_baseline]
    if len(candidates) > 1 or len(baselines) > 1:
        names = ", ".join(repr(spec.name) for spec in config.model_specs)
        raise ValueError(
            f"eval_config.model_specs names {names}. An Evaluator has one model, and one baseline "
            "with is_baseline=True."
        )
    candidate = ModelSpec()
    candidate.CopyFrom(candidates[0] if candidates else ModelSpec())
    baseline = ModelSpec()
    baseline.CopyFrom(baselines[0] if baselines else candidate)
    if not baselines:
        baseline.name = ""
    for spec in (candidate, baseline):
        if spec.signature_name == EVAL and not spec.label_key:
            spec.label_key = LABELS
    return candidate, baseline


def has_thresholds(config: EvalConfig) -> bool:
    """Whether anything decides on a blessing."""
    return any(
        threshold.HasField("value_threshold") or threshold.HasField("change_threshold")
        for threshold in _thresholds(config)
    )


def has_change_thresholds(config: EvalConfig) -> bool:
    """Whether a metric is compared with the baseline's."""
    return any(threshold.HasField("change_threshold") for threshold in _thresholds(config))


def wants_compiled_metrics(config: EvalConfig) -> bool:
    """Whether the metrics that a model was compiled with are wanted: unless they are refused."""
    options = config.options
    return not options.HasField("include_default_metrics") or options.include_default_metrics.value


def _thresholds(config: EvalConfig) -> Iterator[MetricThreshold]:
    for spec in config.metrics_specs:
        yield from spec.thresholds.values()
        for of_name in spec.per_slice_thresholds.values():
            yield from (one.threshold for one in of_name.thresholds)
        for across in spec.cross_slice_thresholds.values():
            yield from (one.threshold for one in across.thresholds)
        for metric in spec.metrics:
            if metric.HasField("threshold"):
                yield metric.threshold
            yield from (one.threshold for one in metric.per_slice_thresholds)
            yield from (one.threshold for one in metric.cross_slice_thresholds)


def is_weighted(config: EvalConfig, spec: MetricsSpec) -> list[bool]:
    """Whether the metrics of a spec are weighted by examples; both, if both are asked for."""
    if spec.HasField("example_weights"):
        asked = spec.example_weights
        return [True] * asked.weighted + [False] * asked.unweighted
    return [any(model.example_weight_key for model in config.model_specs)]
