# SPDX-License-Identifier: Apache-2.0
"""The schema that statistics imply, and its file."""

import pyarrow as pa
import pytest
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from stoker.errors import BadData
from stoker.statistics.compute import compute_statistics
from stoker.statistics.data_schema import infer_schema, read_schema, write_schema

INTS = pa.large_list(pa.int64())
FLOATS = pa.large_list(pa.float32())
BYTES = pa.large_list(pa.large_binary())


def inferred(*splits, kind=INTS, shape=True):
    statistics = statistics_pb2.DatasetFeatureStatisticsList()
    for values in splits:
        statistics.MergeFrom(compute_statistics([pa.record_batch({"f": pa.array(values, kind)})]))
    return infer_schema(statistics, infer_feature_shape=shape)


def feature(text):
    return text_format.Parse(f"name: 'f' {text}", schema_pb2.Feature())


ALWAYS = "presence { min_fraction: 1 min_count: 1 }"


@pytest.mark.parametrize(
    ("values", "kind", "says"),
    [
        ([[5], [7]], INTS, f"type: INT {ALWAYS} shape {{ dim {{ size: 1 }} }}"),
        ([[1.5, 2], [3, 4]], FLOATS, f"type: FLOAT {ALWAYS} shape {{ dim {{ size: 2 }} }}"),
        ([[5], None], INTS, "type: INT presence { min_count: 1 } value_count { min: 1 max: 1 }"),
        ([[5], [6, 7]], INTS, f"type: INT {ALWAYS} value_count {{ min: 1 }}"),
        ([[5], []], INTS, f"type: INT {ALWAYS}"),
        ([None, None], pa.null(), "type: BYTES presence { min_count: 0 }"),
        ([[0], [1]], INTS, f"type: INT {ALWAYS} shape {{ dim {{ size: 1 }} }} bool_domain {{}}"),
        (
            [[b"true"], [b"false"]],
            BYTES,
            f"type: BYTES {ALWAYS} shape {{ dim {{ size: 1 }} }} "
            "bool_domain { true_value: 'true' false_value: 'false' }",
        ),
        (
            [[b"5"], [b" -7"]],
            BYTES,
            f"type: BYTES {ALWAYS} shape {{ dim {{ size: 1 }} }} int_domain {{}}",
        ),
        ([[b"\xff"]], BYTES, f"type: BYTES {ALWAYS} shape {{ dim {{ size: 1 }} }}"),
    ],
)
def test_a_feature_is_described_by_what_always_holds(values, kind, says):
    assert list(inferred(values, kind=kind).feature) == [feature(says)]


def test_without_shapes_a_constant_number_of_values_is_a_value_count():
    (found,) = inferred([[5], [7]], shape=False).feature
    assert found == feature(f"type: INT {ALWAYS} value_count {{ min: 1 max: 1 }}")


def test_a_small_vocabulary_is_a_domain_of_sorted_words():
    schema = inferred([[b"x"], [b"b"]], [[b"a"]], kind=BYTES)
    assert schema.feature[0].domain == "f"
    assert [list(domain.value) for domain in schema.string_domain] == [["a", "b", "x"]]


def test_more_than_a_hundred_words_are_no_domain():
    schema = inferred([[f"w{word}".encode()] for word in range(101)], kind=BYTES)
    assert not schema.feature[0].HasField("domain")
    assert not schema.string_domain


@pytest.mark.parametrize("word", ["1.5", "99999999999999999999", "1_000", "0x1f", "\u0665", ""])
def test_words_that_are_not_integers_of_64_bits_are_words(word):
    assert inferred([[b"7"], [word.encode()]], kind=BYTES).feature[0].domain == "f"


def test_all_splits_count():
    (found,) = inferred([[5], [7]], [None, [1]]).feature
    assert found == feature("type: INT presence { min_count: 1 } value_count { min: 1 max: 1 }")


def test_a_split_without_values_does_not_decide_the_type():
    statistics = compute_statistics([pa.record_batch({"f": pa.nulls(2)})])
    statistics.MergeFrom(compute_statistics([pa.record_batch({"f": pa.array([[5]], INTS)})]))
    assert infer_schema(statistics).feature[0].type == schema_pb2.INT


def test_two_types_in_two_splits_are_refused_by_name():
    statistics = compute_statistics([pa.record_batch({"f": pa.array([[5]], INTS)})])
    statistics.MergeFrom(compute_statistics([pa.record_batch({"f": pa.array([[b"5"]], BYTES)})]))
    with pytest.raises(BadData, match="'f' has two types"):
        infer_schema(statistics)


def test_a_schema_comes_back_from_its_file(tmp_path):
    schema = inferred([["ü".encode()]], kind=BYTES)
    write_schema(schema, str(tmp_path / "new" / "schema.pbtxt"))
    assert read_schema(str(tmp_path / "new" / "schema.pbtxt")) == schema


def test_a_file_that_is_no_schema_is_named_with_the_line(tmp_path):
    path = tmp_path / "schema.pbtxt"
    path.write_text('feature {\n  name: "f"\n  tipe: INT\n}\n')
    with pytest.raises(BadData, match=r"schema\.pbtxt, line 3: .*tipe"):
        read_schema(str(path))
