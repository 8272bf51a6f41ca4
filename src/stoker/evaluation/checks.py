# SPDX-License-Identifier: Apache-2.0
"""What is refused before TFMA is started: it would pass over it, or tell it in its own words.

Asking the models of all examples costs little beside what TFMA does with them.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping

from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.errors import BadData
from stoker.evaluation.compiled import Compiled
from stoker.evaluation.engine import Batch
from stoker.evaluation.features import did_you_mean, no_such_feature, refuse_nan
from stoker.evaluation.labels import labels_of
from stoker.evaluation.metrics import NeedsTfma, metric_of, name_of

__all__ = ["check_examples", "check_names", "check_threshold_names"]


def check_names(config: EvalConfig) -> None:
    """Refuse metrics that nobody has."""
    for spec in config.metrics_specs:
        for metric in spec.metrics:
            with contextlib.suppress(NeedsTfma):
                metric_of(metric)


def check_threshold_names(config: EvalConfig, compiled: Mapping[str, Compiled]) -> None:
    """Refuse thresholds of metrics that are not computed."""
    names = {name for one in compiled.values() for name in one.unknown}
    names |= {metric.name for one in compiled.values() for metric, _ in one.metrics}
    names |= {name_of(metric) for spec in config.metrics_specs for metric in spec.metrics}
    for spec in config.metrics_specs:
        for name in (*spec.thresholds, *spec.per_slice_thresholds, *spec.cross_slice_thresholds):
            if name not in names and "/" not in name:  # some have several values: metric/value
                raise ValueError(
                    f"There is a threshold for the metric {name!r}, which is not computed."
                    f"{did_you_mean(name, names)} Those that are: {', '.join(sorted(names))}."
                )


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
    for name, what_for in _wanted(config):
        if name not in known and all_known:
            raise no_such_feature(name, what_for, known)


def _wanted(config: EvalConfig) -> Iterator[tuple[str, str]]:
    """The features that a configuration names, and what each is for."""
    for spec in config.model_specs:
        for name in filter(None, [spec.label_key, *spec.label_keys.values()]):
            yield name, "is to be the label"
        for name in filter(None, [spec.example_weight_key, *spec.example_weight_keys.values()]):
            yield name, "is to be the example weight"
    for slicing in config.slicing_specs:
        for name in (*slicing.feature_keys, *slicing.feature_values):
            yield name, "a slicing_spec names"
