# SPDX-License-Identifier: Apache-2.0
"""Columns to tf.Examples: our bytes are protobuf's."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from stoker.data.encode import as_lists, encode, encode_feature
from stoker.dsl.proto.example_pb2 import Example

INTS = pa.large_list(pa.int64())
FLOATS = pa.large_list(pa.float32())
BYTES = pa.large_list(pa.large_binary())

ints = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(width=32)
NAMES = st.lists(st.text(max_size=4), min_size=3, max_size=3, unique=True)
ROWS = st.lists(
    st.tuples(
        st.none() | st.lists(ints, max_size=3),
        st.none() | st.lists(floats, max_size=3),
        st.none() | st.lists(st.binary(max_size=300), max_size=3),
    ),
    min_size=1,
    max_size=4,
)


def by_protobuf(row, kinds, nulls="empty"):
    """A row by the names of its features, and their kinds in the same order."""
    example = Example()
    example.features.SetInParent()
    for (name, values), kind in zip(row.items(), kinds, strict=True):
        if values is not None or nulls == "empty":
            values_of_kind = getattr(example.features.feature[name], f"{kind}_list")
            values_of_kind.SetInParent()
            values_of_kind.value.extend(values or [])
        elif nulls == "unset":
            example.features.feature[name].SetInParent()
    return example.SerializeToString(deterministic=True)


@given(names=NAMES, rows=ROWS)
def test_the_bytes_are_those_of_deterministic_protobuf(names, rows):
    columns = [
        pa.array(column, kind)
        for column, kind in zip(zip(*rows, strict=True), (INTS, FLOATS, BYTES), strict=True)
    ]
    batch = pa.RecordBatch.from_arrays(columns, names)
    by_name = [dict(zip(names, row, strict=True)) for row in rows]
    kinds = ("int64", "float", "bytes")
    assert encode(batch).to_pylist() == [by_protobuf(row, kinds) for row in by_name]


@given(
    nulls=st.sampled_from(["empty", "unset", "absent"]),
    words=st.lists(st.none() | st.lists(st.binary(max_size=300), max_size=1), min_size=1),
)
def test_rows_of_at_most_one_word_are_those_of_protobuf_whatever_a_null_is(nulls, words):
    names = [f"feature {number:02}" for number in range(12)]  # more than are joined at a time
    batch = pa.record_batch(dict.fromkeys(names, pa.array(words, BYTES)))
    by_name = [dict.fromkeys(names, row) for row in words]
    kinds = ["bytes"] * len(names)
    expected = [by_protobuf(row, kinds, nulls) for row in by_name]
    assert encode(batch, nulls).to_pylist() == expected


def test_words_of_very_different_lengths_have_the_headers_of_their_own():
    words = [b"", b"x" * 200_000, b"yy"]
    batch = pa.record_batch({"word": pa.array([[word] for word in words], BYTES)})
    found = [Example.FromString(record) for record in encode(batch).to_pylist()]
    assert [one.features.feature["word"].bytes_list.value[0] for one in found] == words


def test_a_name_that_begins_another_comes_after_it_as_in_protobuf():
    names = ["a", "ab", "", "é", "B"]
    batch = pa.record_batch({name: pa.array([[1]], INTS) for name in names})
    example = Example()
    for name in names:
        example.features.feature[name].int64_list.value.append(1)
    assert encode(batch).to_pylist() == [example.SerializeToString(deterministic=True)]


def test_a_slice_of_a_batch_is_encoded_like_the_batch():
    batch = pa.record_batch(
        {"i": pa.array([[1, 2], [], [3]], INTS), "b": pa.array([[b"x"], [], [b"y"]], BYTES)}
    )
    assert encode(batch.slice(1)).to_pylist() == encode(batch).to_pylist()[1:]


def test_a_column_without_a_type_is_a_feature_without_a_kind():
    (record,) = encode(pa.record_batch({"empty": pa.nulls(1)})).to_pylist()
    assert Example.FromString(record).features.feature["empty"].WhichOneof("kind") is None


def test_a_missing_value_is_an_empty_list_of_its_type():
    column = as_lists(pa.array([5, None], pa.int64()))
    assert column.to_pylist() == [[5], []]
    assert encode_feature(column).to_pylist() == [b"\x1a\x03\x0a\x01\x05", b"\x1a\x00"]
