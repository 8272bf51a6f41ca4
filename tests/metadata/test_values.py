# SPDX-License-Identifier: Apache-2.0
import math
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.artifacts import PropertyType
from stoker.metadata.values import decode, encode

NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter("__value__".__ne__), inner),
    max_leaves=10,
)


def round_trip(value: Any, kind: PropertyType | None = None) -> Any:
    return decode(SimpleNamespace(**encode("p", value, kind)))


@given(st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text())
def test_a_plain_value_comes_back_with_its_type(value: Any) -> None:
    assert round_trip(value) == value
    assert isinstance(value, float) or type(round_trip(value)) is type(value)


@settings(max_examples=40)
@given(st.lists(JSON) | st.dictionaries(st.text().filter("__value__".__ne__), JSON))
def test_a_list_or_dict_comes_back_equal(value: Any) -> None:
    assert round_trip(value) == value


@given(JSON.filter(lambda value: value is not None))
def test_a_declared_json_value_may_be_anything(value: Any) -> None:
    assert round_trip(value, PropertyType.JSON_VALUE) == value


def test_a_struct_is_written_as_mlmd_writes_it() -> None:
    # The text that ml-metadata 1.17.1 left in its own store for this value.
    written = encode("p", {"a": [1, 2.5, None, True, "x", {"k": []}]})["string_value"]
    assert written == (
        "mlmd-struct::CjcKAWESMjIwCgkRAAAAAAAA8D8KCREAAAAAAAAEQAoCCAAKAiABCgMaAXgKCyoJCgcKAWsSAjIA"
    )


def test_numbers_that_sql_does_not_know_survive() -> None:
    assert round_trip(math.inf) == math.inf
    assert math.isnan(round_trip(math.nan))


def test_a_string_that_looks_like_a_struct_stays_a_string() -> None:
    assert round_trip("mlmd-struct::hello") == "mlmd-struct::hello"


def test_a_message_comes_back_as_its_type_and_bytes() -> None:
    read = round_trip(Struct(), PropertyType.PROTO)
    assert read == {"@type": "type.googleapis.com/google.protobuf.Struct", "value": ""}
    assert round_trip(read, PropertyType.PROTO) == read


@pytest.mark.parametrize("value", [2**63, {"seed": 2**60}, [object()], b"bytes"])
def test_what_cannot_be_kept_exactly_is_refused_with_the_name_of_the_property(value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="'seed'"):
        encode("seed", value)


def test_a_declared_type_is_kept() -> None:
    with pytest.raises(TypeError, match="'span' holds INT, got 'seven'"):
        encode("span", "seven", PropertyType.INT)
