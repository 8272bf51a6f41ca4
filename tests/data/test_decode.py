# SPDX-License-Identifier: Apache-2.0
"""Serialized tf.Examples to columns, as tfx_bsl's decoder makes them, in any layout."""

import random

import pyarrow as pa
import pytest
from google.protobuf import text_format
from hypothesis import event, given
from hypothesis import strategies as st
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.data.decode import arrow_schema, decode, decode_batch
from stoker.data.native_decoder import prefers_native
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import BadData

INTS = pa.large_list(pa.int64())


def example(text):
    return text_format.Parse(f"features {{ {text} }}", Example()).SerializeToString()


def feature(name, kind):
    return example(f"feature {{ key: '{name}' value {{ {kind} }} }}")


def sized(tag, content):
    return bytes([tag, len(content)]) + content


def entry(key, value):
    return sized(0x0A, sized(0x0A, key) + sized(0x12, value))


def features(*entries):
    return sized(0x0A, b"".join(entries))


def ints(content):
    return sized(0x1A, content)


def by_tfx_bsl(records, schema=None):
    coders = pytest.importorskip("tfx_bsl.coders.example_coder")
    decoder = coders.ExamplesToRecordBatchDecoder(schema and schema.SerializeToString())
    return decoder.DecodeBatch(records)


def assert_same(records, schema=None, *, natively=False):
    expected = by_tfx_bsl(records, schema)
    found = decode_batch(records, schema, natively=natively)
    found.validate(full=True)
    assert found.schema == expected.schema
    assert found.num_rows == expected.num_rows
    assert repr(found.to_pydict()) == repr(expected.to_pydict())  # in which NaN is NaN


def test_a_column_per_feature_by_name_and_null_where_a_record_lacks_it():
    batch = decode_batch([feature("b", "int64_list { value: [1, -2] }"), feature("a", ""), b""])
    assert batch.to_pydict() == {"a": [None, None, None], "b": [[1, -2], None, None]}
    assert batch.schema == pa.schema([("a", pa.null()), ("b", INTS)])


def test_a_schema_says_which_columns_there_are_and_of_what_type():
    schema = text_format.Parse(
        "feature { name: 'n' type: INT } feature { name: 'a' type: FLOAT }", schema_pb2.Schema()
    )
    records = [feature("n", "int64_list { value: 3 }"), feature("other", "bytes_list {}")]
    batch = decode_batch(records, schema)
    assert batch.to_pydict() == {"n": [[3], None], "a": [None, None]}
    assert batch.schema == arrow_schema(schema)
    assert_same(records, schema)


LAYOUTS = {
    "not packed": features(entry(b"a", ints(b"\x08\x01\x08\x02"))),
    "packed twice": features(entry(b"a", ints(b"\x0a\x01\x01\x0a\x02\x81\x01"))),
    "floats not packed": features(entry(b"a", sized(0x12, b"\x0d\x00\x00\x80\x3f"))),
    "a key twice": features(entry(b"a", ints(b"\x0a\x01\x01")), entry(b"a", ints(b"\x0a\x01\x02"))),
    "a key twice, of two kinds": features(
        entry(b"a", ints(b"\x0a\x01\x01")), entry(b"a", b"\x0a\x00")
    ),
    "the value first": features(
        sized(0x0A, sized(0x12, ints(b"\x0a\x01\x01")) + sized(0x0A, b"a"))
    ),
    "no key": features(sized(0x0A, sized(0x12, ints(b"\x0a\x01\x01")))),
    "no value": features(sized(0x0A, sized(0x0A, b"a"))),
    "two kinds": features(entry(b"a", ints(b"\x0a\x01\x01") + b"\x0a\x03\x0a\x01x")),
    "one kind twice": features(entry(b"a", ints(b"\x0a\x01\x01") + ints(b"\x0a\x01\x02"))),
    "two maps": features(entry(b"a", ints(b""))) + features(entry(b"b", ints(b""))),
    "a field of the future": features(entry(b"a", b"\x22\x01x" + ints(b"\x0a\x01\x01\x10\x01"))),
    "a group": b"\x13\x08\x01\x14" + features(entry(b"a", ints(b""))),
    "long zeros": features(entry(b"a", ints(b"\x0a\x03\x80\x80\x00"))),
    "negative": features(entry(b"a", ints(b"\x0a\x0b" + b"\xff" * 9 + b"\x01\x05"))),
    "no features": b"\x0a\x00",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_that_protobuf_allows_is_read(layout):
    usual = feature("a", "int64_list { value: 7 }")
    if layout not in ("floats not packed", "a key twice, of two kinds", "two kinds"):
        assert_same([usual, LAYOUTS[layout], usual])
    assert_same([LAYOUTS[layout]])


BROKEN = {
    "text": b"hello",
    "cut short": feature("a", "int64_list { value: 7 }")[:-1],
    "a number that does not end": features(entry(b"a", ints(b"\x0a\x01\x80"))),
    "a number that is too long": features(entry(b"a", ints(b"\x0a\x0c" + b"\xff" * 11 + b"\x01"))),
    "half a float": features(entry(b"a", sized(0x12, b"\x0a\x02\x00\x00"))),
    "a name that is not text": features(entry(b"\xff", b"")),
}


@pytest.mark.parametrize("record", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_example_is_refused_with_the_file(record):
    with pytest.raises(BadData, match=r"data/x: A record is not the tf\.Example"):
        list(decode([b"", record], path="data/x"))
    with pytest.raises(RuntimeError):
        by_tfx_bsl([record])


def test_a_feature_of_two_types_is_refused_by_name():
    records = [feature("a", "int64_list {}"), feature("a", "bytes_list {}")]
    with pytest.raises(BadData, match="'a' should be a bytes_list, and is a int64_list"):
        decode_batch(records)


def test_random_examples_are_read_as_tfx_bsl_reads_them():
    draw = random.Random(20)
    for _ in range(40):
        kinds = {name: draw.choice("ifb") for name in draw.sample(["a", "", "ü", "n" * 200], 3)}
        assert_same([random_example(draw, kinds) for _ in range(draw.choice([1, 9, 60]))])


def random_example(draw, kinds):
    example = Example()
    for name, kind in kinds.items():
        if draw.random() < 0.2:
            continue
        value, count = example.features.feature[name], draw.choice([0, 1, 1, 1, 3, 200])
        if kind == "i":
            drawn = [draw.choice([0, 127, -1, 2**63 - 1, -(2**63)]) for _ in range(count)]
            value.int64_list.value.extend(drawn)
        elif kind == "f":
            value.float_list.value.extend(
                draw.choice([0, -1.5, float("nan")]) for _ in range(count)
            )
        else:
            value.bytes_list.value.extend(
                draw.randbytes(draw.choice([0, 5, 300])) for _ in range(count)
            )
    return example.SerializeToString()


INTEGERS = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, 200), st.sampled_from([0, -1, 1 << 40])
)
VALUES = {
    "int64_list": st.lists(INTEGERS, max_size=90),
    "float_list": st.lists(st.floats(width=32), max_size=40),
    "bytes_list": st.lists(st.binary(max_size=20), max_size=10),
}
NAMES = {"a": "int64_list", "ids": "int64_list", "x": "float_list", "word": "bytes_list"}
ROWS = st.fixed_dictionaries({}, optional={name: VALUES[kind] for name, kind in NAMES.items()})


@given(rows=st.lists(ROWS, min_size=1, max_size=12), scale=st.sampled_from([1, 40]))
def test_ours_and_tfx_bsls_decoder_give_the_same_columns(rows, scale):
    records = []
    for row in rows:
        example = Example()
        for name, values in row.items():
            many = values * scale if NAMES[name] == "int64_list" else values
            getattr(example.features.feature[name], NAMES[name]).value.extend(many)
        records.append(example.SerializeToString())
    event(f"tfx-bsl's is chosen: {prefers_native(records)}")
    assert_same(records)
    assert_same(records, natively=True)


@pytest.mark.parametrize(
    ("row", "is_native"),
    [
        ({"ids": [1 << 40] * 128}, True),
        ({"ids": [-1] * 16}, True),
        ({"ids": [1 << 40]}, False),
        ({"ids": [99] * 128}, False),
        ({"ids": [1 << 40] * 16, "text": [b"x" * 400]}, False),
        ({"x": [0.5] * 128}, False),
        ({}, False),
    ],
)
def test_only_long_lists_of_large_integers_go_to_tfx_bsl(row, is_native):
    example = Example()
    lists = {int: "int64_list", float: "float_list", bytes: "bytes_list"}
    for name, values in row.items():
        getattr(example.features.feature[name], lists[type(values[0])]).value.extend(values)
    assert prefers_native([example.SerializeToString()] * 3) is is_native


@pytest.mark.parametrize("broken", [b"hello", feature("ids", "bytes_list { value: 'x' }")])
def test_what_tfx_bsl_refuses_is_told_as_ever(broken):
    numbers = " ".join(f"value: {1 << 40}" for _ in range(99))
    fine = feature("ids", f"int64_list {{ {numbers} }}")
    assert prefers_native([broken, fine, fine])
    with pytest.raises(BadData, match=r"A record is not the tf\.Example that it should be"):
        decode_batch([broken, fine, fine])
