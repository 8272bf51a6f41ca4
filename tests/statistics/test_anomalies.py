# SPDX-License-Identifier: Apache-2.0
"""What is found where data is not as its schema says; the kinds are those that TFDV 1.16.1 gave."""

import math

import pyarrow as pa
import pytest
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2

from stoker.errors import BadData
from stoker.statistics.anomalies import (
    describe_anomalies,
    find_anomalies,
    has_anomalies,
    read_anomalies,
    write_anomalies,
)
from stoker.statistics.compute import compute_statistics

INTS = pa.large_list(pa.int64())
FLOATS = pa.large_list(pa.float32())
BYTES = pa.large_list(pa.large_binary())
REQUIRED = "presence { min_fraction: 1 min_count: 1 }"
DOMAIN = "string_domain { value: 'a' value: 'b' }"


def words(*many):
    return pa.array([[one.encode()] for one in many], BYTES)


def statistics(column, num_examples=2):
    """Those of a feature `f`, or of examples that lack it."""
    if column is None:
        return compute_statistics(
            [pa.record_batch({"other": pa.array([[1]] * num_examples, INTS)})]
        )
    return compute_statistics([pa.record_batch({"f": column})])


def schema_of(feature, more=""):
    text = f"feature {{ name: 'f' {feature} }} feature {{ name: 'other' type: INT }} {more}"
    return text_format.Parse(text, schema_pb2.Schema())


def anomalies(column, feature, more="", **others):
    return find_anomalies(statistics(column), schema_of(feature, more), **others)


def kinds(found):
    info = found.anomaly_info.get("f") or anomalies_pb2.AnomalyInfo()
    return sorted(anomalies_pb2.AnomalyInfo.Type.Name(one.type) for one in info.reason)


def ints(*rows):
    return pa.array(rows, INTS)


def floats(*rows):
    return pa.array(rows, FLOATS)


@pytest.mark.parametrize(
    ("column", "feature"),
    [
        (ints([5]), f"type: INT {REQUIRED}"),
        (None, "type: INT"),
        (None, "type: INT presence { min_count: 0 }"),
        (None, f"type: INT {REQUIRED} lifecycle_stage: DEPRECATED"),
        (None, f"type: INT {REQUIRED} lifecycle_stage: PLANNED"),
        (words("x"), f"type: INT {REQUIRED} lifecycle_stage: DEPRECATED"),
        (pa.nulls(2), "type: INT"),
        (words("a", "b"), f"type: BYTES {DOMAIN}"),
        (
            words("a", "b", "c", "a"),
            f"type: BYTES {DOMAIN} distribution_constraints {{ min_domain_mass: 0.75 }}",
        ),
        (ints([0], [5]), "type: INT int_domain { min: 0 max: 5 }"),
        (words("5"), "type: BYTES int_domain { min: 0 max: 5 }"),
        (floats([math.inf]), "type: FLOAT float_domain { min: 0 }"),
        (floats([math.nan], [1]), "type: FLOAT float_domain { min: 0 }"),
        (floats([math.nan]), "type: FLOAT float_domain { min: 1 }"),
        (words("0.5"), "type: BYTES float_domain { max: 1 }"),
        (ints([0], [1]), "type: INT bool_domain {}"),
        (floats([0], [1]), "type: FLOAT bool_domain {}"),
        (words("y"), "type: BYTES bool_domain { true_value: 'y' false_value: 'n' }"),
        (ints([1], None), "type: INT presence { min_fraction: 0.5 }"),
        (ints([1], [1, 2]), "type: INT value_count { min: 1 max: 2 }"),
        (ints([1], [1, 2]), "type: INT value_counts { value_count { min: 1 max: 2 } }"),
        (ints([1], [2]), "type: INT shape {}"),
        (ints([1, 2, 3, 4]), "type: INT shape { dim { size: 2 } dim { size: 2 } }"),
        (words("a"), "type: BYTES drift_comparator { infinity_norm { threshold: 0.1 } }"),
    ],
)
def test_data_as_the_schema_says_has_no_anomaly(column, feature):
    assert not has_anomalies(anomalies(column, feature))


@pytest.mark.parametrize(
    ("column", "feature", "found"),
    [
        (None, f"type: INT {REQUIRED}", "SCHEMA_MISSING_COLUMN"),
        (None, "type: INT presence { min_count: 1 }", "SCHEMA_MISSING_COLUMN"),
        (None, "type: INT presence { min_fraction: 0.5 }", "SCHEMA_MISSING_COLUMN"),
        (pa.nulls(2), f"type: INT {REQUIRED}", "FEATURE_TYPE_NOT_PRESENT"),
        (ints([5]), "type: FLOAT", "UNEXPECTED_DATA_TYPE"),
        (floats([5]), "type: INT", "UNEXPECTED_DATA_TYPE"),
        (words("5"), "type: INT", "UNEXPECTED_DATA_TYPE"),
        (ints([5]), "type: BYTES", "UNEXPECTED_DATA_TYPE"),
        (ints([5]), REQUIRED, "FEATURE_MISSING_TYPE"),
        (words("a", "c"), f"type: BYTES {DOMAIN}", "ENUM_TYPE_UNEXPECTED_STRING_VALUES"),
        (
            words("a", "b", "c", "a"),
            f"type: BYTES {DOMAIN} distribution_constraints {{ min_domain_mass: 0.8 }}",
            "ENUM_TYPE_UNEXPECTED_STRING_VALUES",
        ),
        (words("a"), "type: BYTES string_domain {}", "ENUM_TYPE_UNEXPECTED_STRING_VALUES"),
        (words("a"), "type: BYTES domain: 'none'", "INVALID_DOMAIN_SPECIFICATION"),
        (pa.array([[b"\xff"]], BYTES), f"type: BYTES {DOMAIN}", "ENUM_TYPE_INVALID_UTF8"),
        (ints([5]), f"type: INT {DOMAIN}", "DOMAIN_INVALID_FOR_TYPE"),
        (floats([5]), "type: FLOAT int_domain {}", "DOMAIN_INVALID_FOR_TYPE"),
        (ints([5]), "type: INT float_domain {}", "DOMAIN_INVALID_FOR_TYPE"),
        (ints([6]), "type: INT int_domain { min: 0 max: 5 }", "INT_TYPE_BIG_INT"),
        (ints([-1]), "type: INT int_domain { min: 0 max: 5 }", "INT_TYPE_SMALL_INT"),
        (words("7"), "type: BYTES int_domain { max: 5 }", "INT_TYPE_BIG_INT"),
        (words("x", "3"), "type: BYTES int_domain {}", "INT_TYPE_NOT_INT_STRING"),
        (floats([1.5]), "type: FLOAT float_domain { max: 1 }", "FLOAT_TYPE_BIG_FLOAT"),
        (floats([-0.5]), "type: FLOAT float_domain { min: 0 }", "FLOAT_TYPE_SMALL_FLOAT"),
        (
            floats([math.inf]),
            "type: FLOAT float_domain { disallow_inf: true }",
            "FLOAT_TYPE_HAS_INF",
        ),
        (
            floats([math.nan]),
            "type: FLOAT float_domain { disallow_nan: true }",
            "FLOAT_TYPE_HAS_NAN",
        ),
        (words("x"), "type: BYTES float_domain {}", "FLOAT_TYPE_STRING_NOT_FLOAT"),
        (words("1.5"), "type: BYTES float_domain { max: 1 }", "FLOAT_TYPE_BIG_FLOAT"),
        (ints([0], [2]), "type: INT bool_domain {}", "BOOL_TYPE_BIG_INT"),
        (ints([-1], [1]), "type: INT bool_domain {}", "BOOL_TYPE_SMALL_INT"),
        (floats([0.5]), "type: FLOAT bool_domain {}", "BOOL_TYPE_UNEXPECTED_FLOAT"),
        (words("true"), "type: BYTES bool_domain {}", "BOOL_TYPE_UNEXPECTED_STRING"),
        (
            ints([1], None, None),
            "type: INT presence { min_fraction: 0.5 }",
            "FEATURE_TYPE_LOW_FRACTION_PRESENT",
        ),
        (
            ints([1], None),
            "type: INT presence { min_count: 2 }",
            "FEATURE_TYPE_LOW_NUMBER_PRESENT",
        ),
        (ints([1], [1, 2]), "type: INT value_count { min: 2 }", "FEATURE_TYPE_LOW_NUMBER_VALUES"),
        (ints([1], [1, 2]), "type: INT value_count { max: 1 }", "FEATURE_TYPE_HIGH_NUMBER_VALUES"),
        (
            ints([1]),
            "type: INT value_counts { value_count {} value_count {} }",
            "VALUE_NESTEDNESS_MISMATCH",
        ),
        (ints([1, 2]), "type: INT shape { dim { size: 1 } }", "INVALID_FEATURE_SHAPE"),
        (ints([1], [2, 3]), "type: INT shape { dim { size: 1 } }", "INVALID_FEATURE_SHAPE"),
        (ints([1], None), "type: INT shape { dim { size: 1 } }", "INVALID_FEATURE_SHAPE"),
        (words("a"), "type: BYTES unique_constraints { min: 2 max: 5 }", "FEATURE_TYPE_LOW_UNIQUE"),
        (
            words("a", "b"),
            "type: BYTES unique_constraints { min: 1 max: 1 }",
            "FEATURE_TYPE_HIGH_UNIQUE",
        ),
        (ints([5]), "type: INT unique_constraints { min: 1 max: 2 }", "FEATURE_TYPE_NO_UNIQUE"),
    ],
)
def test_data_that_is_not_as_the_schema_says_is_an_anomaly(column, feature, found):
    assert kinds(anomalies(column, feature)) == [found]


def test_a_domain_is_found_by_its_name():
    domain = "string_domain { name: 'letters' value: 'a' }"
    found = anomalies(words("a", "z", "z"), "type: BYTES domain: 'letters'", domain)
    assert found.anomaly_info["f"].description == "2 of 3 values are not in the domain: 'z' (2)."


def test_many_unexpected_words_are_not_all_listed():
    found = anomalies(words(*map(str, range(30))), f"type: BYTES {DOMAIN}")
    assert "and 20 more" in found.anomaly_info["f"].description


def test_several_reasons_are_told_together():
    column = pa.array([[b"x", b"y"], None], BYTES)
    found = anomalies(column, f"type: BYTES {DOMAIN} value_count {{ max: 1 }} {REQUIRED}")
    info = found.anomaly_info["f"]
    assert info.short_description == "Multiple errors"
    assert len(info.reason) == 3
    assert "1 of 2 examples have this feature; all should." in info.description


def test_a_feature_that_the_schema_does_not_have_is_new():
    found = find_anomalies(statistics(ints([5])), schema_pb2.Schema())
    assert kinds(found) == ["SCHEMA_NEW_COLUMN"]
    assert list(found.anomaly_info["f"].path.step) == ["f"]


ENVIRONMENTS = "default_environment: 'TRAINING' default_environment: 'SERVING'"
LABEL = f"type: INT {REQUIRED} not_in_environment: 'SERVING'"


@pytest.mark.parametrize(
    ("column", "environment", "found"),
    [
        (None, "SERVING", []),
        (None, "TRAINING", ["SCHEMA_MISSING_COLUMN"]),
        (None, None, ["SCHEMA_MISSING_COLUMN"]),
        (ints([5]), "SERVING", ["SCHEMA_NEW_COLUMN"]),
    ],
)
def test_a_feature_is_expected_in_its_environments(column, environment, found):
    assert kinds(anomalies(column, LABEL, ENVIRONMENTS, environment=environment)) == found


def test_an_environment_that_the_schema_lacks_is_refused_with_those_it_has():
    with pytest.raises(ValueError, match=r"no environment .PROD.; .* lists TRAINING, SERVING"):
        anomalies(ints([5]), LABEL, ENVIRONMENTS, environment="PROD")


def compared(column, other, threshold, measure="infinity_norm", comparator="drift"):
    feature = f"{comparator}_comparator {{ {measure} {{ threshold: {threshold} }} }}"
    kind = {pa.int64(): "INT", pa.float32(): "FLOAT"}.get(column.type.value_type, "BYTES")
    control = {"drift": "previous", "skew": "serving"}[comparator]
    return anomalies(column, f"type: {kind} {feature}", **{control: statistics(other)})


@pytest.mark.parametrize(
    ("measure", "column", "other", "distance"),
    [
        ("infinity_norm", words("a", "a", "a", "b"), words("a", "b"), 0.25),
        ("normalized_abs_difference", words("a", "a", "a", "b"), words("a", "b"), 1 / 3),
        ("jensen_shannon_divergence", words("a", "a", "a", "b"), words("a", "b"), 0.0487949),
        ("jensen_shannon_divergence", words("a", "a", "c", "b"), words("a", "b"), 0.155639),
        ("jensen_shannon_divergence", floats([0], [1]), floats([5], [6]), 1.0),
        ("jensen_shannon_divergence", floats([1], [1]), floats([5]), 1.0),
        (
            "jensen_shannon_divergence",
            floats(*([x / 10] for x in range(100))),
            floats(*([x / 20] for x in range(100))),
            0.311278,
        ),
        (
            "jensen_shannon_divergence",
            floats(*([x] for x in range(10)), *([math.nan] for _ in range(10))),
            floats(*([x] for x in range(10))),
            0.311278,
        ),
    ],
)
def test_distances_are_measured_as_TFDV_measures_them(measure, column, other, distance):
    found = compared(column, other, 0.01, measure)
    (measurement,) = found.drift_skew_info[0].drift_measurements
    assert math.isclose(measurement.value, distance, rel_tol=1e-5)
    (kind,) = kinds(found)
    assert kind.startswith("COMPARATOR_")
    assert kind.endswith("_HIGH")


def test_a_small_drift_is_measured_and_not_an_anomaly():
    found = compared(words("a", "b"), words("a", "b"), 0.3)
    assert not has_anomalies(found)
    assert found.drift_skew_info[0].drift_measurements[0].threshold == 0.3


def test_skew_is_measured_against_the_serving_data():
    found = compared(words("a", "a", "a", "b"), words("a", "b"), 0.2, comparator="skew")
    assert kinds(found) == ["COMPARATOR_L_INFTY_HIGH"]
    assert found.drift_skew_info[0].skew_measurements[0].value == 0.25


def test_data_to_compare_with_that_lacks_the_feature_is_an_anomaly():
    assert kinds(compared(words("a"), None, 0.2)) == ["COMPARATOR_CONTROL_DATA_MISSING"]


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ("min_examples_count: 3", ["DATASET_LOW_NUM_EXAMPLES"]),
        ("max_examples_count: 1", ["DATASET_HIGH_NUM_EXAMPLES"]),
        (
            "num_examples_drift_comparator { min_fraction_threshold: 0.5 }",
            ["COMPARATOR_LOW_NUM_EXAMPLES"],
        ),
        (
            "num_examples_drift_comparator { max_fraction_threshold: 0.2 }",
            ["COMPARATOR_HIGH_NUM_EXAMPLES"],
        ),
        ("min_examples_count: 2", []),
    ],
)
def test_the_number_of_examples_has_limits(limits, found):
    schema = schema_of("type: INT", f"dataset_constraints {{ {limits} }}")
    previous = statistics(None, num_examples=8)
    info = find_anomalies(statistics(ints([1], [2])), schema, previous=previous)
    reasons = info.dataset_anomaly_info.reason
    assert [anomalies_pb2.AnomalyInfo.Type.Name(one.type) for one in reasons] == found


def test_a_split_without_examples_says_only_that():
    found = find_anomalies(compute_statistics([]), schema_of(f"type: INT {REQUIRED}"))
    assert found.data_missing
    assert not found.anomaly_info
    assert has_anomalies(found)
    assert describe_anomalies(found) == [
        ("(examples)", "No examples", "There is no example in this split.")
    ]


def test_anomalies_come_back_from_their_file(tmp_path):
    found = anomalies(None, f"type: INT {REQUIRED}")
    write_anomalies(found, str(tmp_path / "Split-train" / "SchemaDiff.pb"))
    assert read_anomalies(str(tmp_path / "Split-train" / "SchemaDiff.pb")) == found


def test_a_file_that_holds_no_anomalies_is_named(tmp_path):
    (tmp_path / "SchemaDiff.pb").write_bytes(b"\x0f no")
    with pytest.raises(BadData, match=r"SchemaDiff\.pb does not hold anomalies"):
        read_anomalies(str(tmp_path / "SchemaDiff.pb"))
