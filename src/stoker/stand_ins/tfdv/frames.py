# SPDX-License-Identifier: Apache-2.0
"""Schemas, anomalies and drift as pandas.DataFrames, with TFDV's columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2

from stoker.stand_ins.tfdv.feature_path import FeaturePath
from stoker.stand_ins.tfdv.files import check_message

if TYPE_CHECKING:
    import pandas as pd


def get_schema_dataframe(schema: schema_pb2.Schema) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """The features of a schema, and its domains of words."""
    check_message(schema, schema_pb2.Schema)
    domains = [(domain.name, domain.value) for domain in schema.string_domain]
    for feature in schema.feature:
        if feature.HasField("string_domain"):
            domains.append((_own_domain(feature), feature.string_domain.value))
    features = [
        (
            _quote(feature.name),
            _type(feature),
            _presence(feature),
            _valency(feature),
            _domain(feature),
        )
        for feature in schema.feature
    ]
    values = [(_quote(name), ", ".join(map(_quote, words))) for name, words in domains]
    return (
        _frame(features, ["Feature name", "Type", "Presence", "Valency", "Domain"]),
        _frame(values, ["Domain", "Values"]),
    )


def get_anomalies_dataframe(anomalies: anomalies_pb2.Anomalies) -> "pd.DataFrame":
    """A row for each feature that is not as the schema says; empty if all are."""
    check_message(anomalies, anomalies_pb2.Anomalies)
    rows = [(_quote(name), *_describe(info)) for name, info in anomalies.anomaly_info.items()]
    if anomalies.HasField("dataset_anomaly_info"):
        rows.append(("[dataset anomaly]", *_describe(anomalies.dataset_anomaly_info)))
    return _frame(rows, ["Feature name", "Anomaly short description", "Anomaly long description"])


def get_drift_skew_dataframe(anomalies: anomalies_pb2.Anomalies) -> "pd.DataFrame":
    """A row for each drift that was measured."""
    rows = [
        (
            str(FeaturePath.from_proto(info.path)),
            anomalies_pb2.DriftSkewInfo.Measurement.Type.Name(one.type),
            one.value,
            one.threshold,
        )
        for info in anomalies.drift_skew_info
        for one in info.drift_measurements
    ]
    return _frame(rows, ["path", "type", "value", "threshold"])


def _frame(rows: Sequence[Sequence[object]], columns: list[str]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(rows, columns=columns).set_index(columns[0])


def _quote(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


def _describe(info: anomalies_pb2.AnomalyInfo) -> tuple[str, str]:
    short = info.short_description or "; ".join(one.short_description for one in info.reason)
    return short, info.description or "; ".join(one.description for one in info.reason)


def _type(feature: schema_pb2.Feature) -> str:
    if feature.type == schema_pb2.BYTES and feature.WhichOneof("domain_info") in _WORDS:
        return "STRING"
    return str(schema_pb2.FeatureType.Name(feature.type))


_WORDS = ("domain", "string_domain")


def _presence(feature: schema_pb2.Feature) -> str:
    if not feature.HasField("presence"):
        return ""
    return "required" if feature.presence.min_fraction == 1 else "optional"


def _valency(feature: schema_pb2.Feature) -> str:
    if not feature.HasField("value_count"):
        return ""
    count = feature.value_count
    if count.min == count.max == 1:
        return "single"
    return f"[{count.min},{f'{count.max}]' if count.HasField('max') else 'inf)'}"


def _domain(feature: schema_pb2.Feature) -> str:
    match feature.WhichOneof("domain_info"):
        case "domain":
            return _quote(feature.domain)
        case "string_domain":
            return _quote(_own_domain(feature))
        case "int_domain":
            domain = feature.int_domain
            limits = [
                f"{side}: {getattr(domain, side)}" for side in _SIDES if domain.HasField(side)
            ]
            return "; ".join(limits) or "-"
        case "float_domain":
            return "; ".join(_float_limits(feature.float_domain)) or "-"
    return "-"


_SIDES = {"min": "-inf", "max": "inf"}


def _float_limits(domain: schema_pb2.FloatDomain) -> list[str]:
    return [
        f"{side}: {getattr(domain, side):f}" if domain.HasField(side) else f"{side}: {unlimited}"
        for side, unlimited in _SIDES.items()
        if domain.HasField(side) or not domain.disallow_inf
    ]


def _own_domain(feature: schema_pb2.Feature) -> str:
    return feature.string_domain.name or f"{feature.name}_domain"
