# SPDX-License-Identifier: Apache-2.0
"""Where statistics are not what a schema says: what ExampleValidator finds, by TFDV's rules."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2

from stoker.statistics.drift import MEASURES
from stoker.statistics.expectations import (
    Anomaly,
    common_of,
    find_broken_expectations,
    is_in_use,
)
from stoker.statistics.messages import (
    Statistics,
    Stats,
    count_examples,
    feature_name,
    features_of,
    read_message,
    weigh_examples,
    write_message,
)

ANOMALIES_FILE = "SchemaDiff.pb"

Measurement: TypeAlias = anomalies_pb2.DriftSkewInfo.Measurement

_MEASUREMENTS = {
    "infinity_norm": ("L_INFTY", "Linfty distance"),
    "normalized_abs_difference": (
        "NORMALIZED_ABSOLUTE_DIFFERENCE",
        "normalized absolute difference",
    ),
    "jensen_shannon_divergence": (
        "JENSEN_SHANNON_DIVERGENCE",
        "approximate Jensen-Shannon divergence",
    ),
}
_COMPARED = {"previous": "current and previous", "serving": "training and serving"}


def find_anomalies(
    statistics: Statistics,
    schema: schema_pb2.Schema,
    *,
    environment: str | None = None,
    previous: Statistics | None = None,
    serving: Statistics | None = None,
    previous_version: Statistics | None = None,
) -> anomalies_pb2.Anomalies:
    """What in these statistics is not as the schema says.

    Drift comparators look at the `previous` statistics, skew comparators at the `serving` ones; a
    comparator whose statistics are not given, or are of no examples, is not asked. With an
    `environment`, only the features that belong to it are expected.
    """
    if environment is not None and environment not in schema.default_environment:
        raise ValueError(
            f"The schema has no environment {environment!r}; its default_environment lists "
            f"{', '.join(schema.default_environment) or 'none'}."
        )
    anomalies = anomalies_pb2.Anomalies(
        baseline=schema, anomaly_name_format=anomalies_pb2.Anomalies.SERIALIZED_PATH
    )
    if not count_examples(statistics):
        return anomalies_pb2.Anomalies(baseline=schema, data_missing=True)
    num_examples, limits = weigh_examples(statistics), schema.dataset_constraints
    findings = [
        *_compare_size(num_examples, previous, limits.num_examples_drift_comparator, "span"),
        *_compare_size(
            num_examples, previous_version, limits.num_examples_version_comparator, "version"
        ),
        *_check_size(num_examples, limits),
    ]
    if findings:
        _report(anomalies.dataset_anomaly_info, findings)
    features = dict(features_of(statistics))
    for feature in schema.feature:
        stats = features.pop(feature.name, None)
        if not is_in_use(feature):
            continue
        if environment is not None and environment in feature.not_in_environment:
            kept_out = f"The schema keeps it out of {environment}."
            findings = [_new_column(kept_out, "Column missing in environment")] if stats else []
        else:
            findings = [*find_broken_expectations(stats, feature, schema)]
            if stats:
                info = anomalies_pb2.DriftSkewInfo()
                drift, skew = info.drift_measurements, info.skew_measurements
                findings += _compare(stats, feature.drift_comparator, "previous", previous, drift)
                findings += _compare(stats, feature.skew_comparator, "serving", serving, skew)
                if drift or skew:
                    info.path.step.append(feature.name)
                    anomalies.drift_skew_info.append(info)
        add_findings(anomalies, feature.name, findings)
    anomalies.drift_skew_info.sort(key=lambda info: info.path.step[0])
    for name in features:
        unknown = _new_column("The data has this feature, and the schema does not.")
        add_findings(anomalies, name, [unknown])
    return anomalies


def has_anomalies(anomalies: anomalies_pb2.Anomalies) -> bool:
    """Whether anything was found; that there are no examples is an anomaly too."""
    of_all = anomalies.data_missing or anomalies.HasField("dataset_anomaly_info")
    return bool(anomalies.anomaly_info) or of_all


def describe_anomalies(anomalies: anomalies_pb2.Anomalies) -> list[tuple[str, str, str]]:
    """Every reason with the feature it is about, or `(examples)` if it is about all of them."""
    if anomalies.data_missing:
        return [("(examples)", "No examples", "There is no example in this split.")]
    infos = [
        ("(examples)", anomalies.dataset_anomaly_info),
        *sorted(anomalies.anomaly_info.items()),
    ]
    return [
        (name, reason.short_description, reason.description)
        for name, info in infos
        for reason in info.reason
    ]


def _check_size(num_examples: float, limits: schema_pb2.DatasetConstraints) -> Iterator[Anomaly]:
    has = f"There are {num_examples:g} examples"
    if num_examples < limits.min_examples_count:
        few = f"{has}; there should be at least {limits.min_examples_count}."
        yield Anomaly("DATASET_LOW_NUM_EXAMPLES", "Low num examples in dataset.", few)
    if limits.HasField("max_examples_count") and num_examples > limits.max_examples_count:
        many = f"{has}; there should be at most {limits.max_examples_count}."
        yield Anomaly("DATASET_HIGH_NUM_EXAMPLES", "High num examples in dataset.", many)


def _compare_size(
    num_examples: float,
    before: Statistics | None,
    change: schema_pb2.NumericValueComparator,
    what: str,
) -> Iterator[Anomaly]:
    num_before = weigh_examples(before) if before else 0
    if not num_before:
        return
    ratio = num_examples / num_before
    was = (
        f"There are {num_examples:g} examples, {ratio:.6g} times as many as in the previous "
        f"{what}; there should be"
    )
    versus = f"num examples in current dataset versus the previous {what}."
    if ratio < change.min_fraction_threshold:
        few = f"{was} at least {change.min_fraction_threshold:g} times as many."
        yield Anomaly("COMPARATOR_LOW_NUM_EXAMPLES", f"Low {versus}", few)
    if change.HasField("max_fraction_threshold") and ratio > change.max_fraction_threshold:
        many = f"{was} at most {change.max_fraction_threshold:g} times as many."
        yield Anomaly("COMPARATOR_HIGH_NUM_EXAMPLES", f"High {versus}", many)


def _new_column(description: str, short: str = "New column") -> Anomaly:
    return Anomaly("SCHEMA_NEW_COLUMN", short, description)


def _compare(
    stats: Stats,
    comparator: schema_pb2.FeatureComparator,
    control_name: str,
    control: Statistics | None,
    measurements: list[Measurement],
) -> list[Anomaly]:
    """What a comparator says about a feature; every measurement is kept, high or not."""
    asked = [name for name in MEASURES if getattr(comparator, name).HasField("threshold")]
    present = common_of(stats).num_non_missing
    if not asked or not present or control is None or not count_examples(control):
        return []
    other = dict(features_of(control)).get(feature_name(stats))
    if other is None:
        lacks = f"The {control_name} statistics do not have this feature."
        return [Anomaly("COMPARATOR_CONTROL_DATA_MISSING", f"{control_name} data missing", lacks)]
    findings = []
    for name in asked:
        measured = MEASURES[name](stats, other)
        if measured is None:
            continue
        value, where = measured
        threshold = getattr(comparator, name).threshold
        kind, title = _MEASUREMENTS[name]
        measurements.append(Measurement(type=kind, value=value, threshold=threshold))
        if value > threshold:
            at = f" It is largest at {where!r}." if where is not None else ""
            findings.append(
                Anomaly(
                    f"COMPARATOR_{kind}_HIGH",
                    f"High {title} between {_COMPARED[control_name]}",
                    f"The {title} between these and the {control_name} values is {value:.6g}; it "
                    f"should be at most {threshold:g}.{at}",
                )
            )
    return findings


def add_findings(
    anomalies: anomalies_pb2.Anomalies, name: str, findings: Sequence[Anomaly]
) -> None:
    """Say of a feature what was found, if anything was."""
    if findings:
        info = anomalies.anomaly_info[name]
        info.path.step.append(name)
        _report(info, findings)


def _report(info: anomalies_pb2.AnomalyInfo, findings: Sequence[Anomaly]) -> None:
    info.severity = anomalies_pb2.AnomalyInfo.ERROR
    several = len(findings) > 1
    info.short_description = "Multiple errors" if several else findings[0].short
    info.description = " ".join(finding.description for finding in findings)
    for kind, short, description in findings:
        info.reason.add(type=kind, short_description=short, description=description)


def read_anomalies(path: str) -> anomalies_pb2.Anomalies:
    """The anomalies in a file."""
    return read_message(path, anomalies_pb2.Anomalies, "anomalies")


write_anomalies = write_message
