# SPDX-License-Identifier: Apache-2.0
"""Values that a schema allows, in the shapes and types that a signature takes."""

import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from tensorflow_metadata.proto.v0 import schema_pb2

pytestmark = pytest.mark.tf

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


def draw(text, dtype, shape=(None, 1), name="x"):
    from stoker.models.saved_model import Signature, TensorInfo
    from stoker.models.schema_values import SchemaValues

    schema = text_format.Parse(text, schema_pb2.Schema())
    sizes = [-1 if size is None else size for size in shape]
    signature = Signature(
        inputs={name: TensorInfo(dtype=dtype, shape=sizes)}, outputs={}, parses=None
    )
    drawn = SchemaValues.of([schema]).draw_inputs(signature)
    return None if drawn is None else drawn[name]


@given(ends=st.tuples(INT64, INT64).map(sorted), dtype=st.sampled_from(["int64", "float64"]))
def test_integers_lie_between_the_ends_of_their_domain(ends, dtype):
    least, most = ends
    domain = f"int_domain {{ min: {least} max: {most} }}"
    drawn = draw(f'feature {{ name: "x" type: INT {domain} }}', dtype)
    assert drawn.dtype == dtype
    assert (drawn >= np.array(least, dtype)).all()
    assert (drawn <= np.array(most, dtype)).all()


@pytest.mark.parametrize(
    ("feature", "dtype", "allowed"),
    [
        ("type: BYTES bool_domain {}", "string", {b"true", b"false"}),
        ('type: BYTES bool_domain { true_value: "y" false_value: "n" }', "string", {b"y", b"n"}),
        ("type: INT bool_domain {}", "int64", {0, 1}),
        ("type: INT bool_domain {}", "bool", {True, False}),
        ('type: BYTES string_domain { value: "a" }', "string", {b"a"}),
        ("type: BYTES", "string", {b"1"}),
        ("type: INT int_domain { min: 7 }", "int32", {7, 8}),
        ("type: INT int_domain { max: 7 }", "int64", {6, 7}),
        ("type: INT int_domain { min: 300 max: 400 }", "int8", {127}),
        ("type: FLOAT float_domain { min: 5.0 max: 5.0 }", "float32", {5.0}),
    ],
)
def test_each_domain_gives_what_it_allows(feature, dtype, allowed):
    assert set(draw(f'feature {{ name: "x" {feature} }}', dtype).ravel().tolist()) <= allowed


@pytest.mark.parametrize(
    ("feature", "shape", "expected"),
    [
        ("", (None,), (8,)),
        ("", (None, None), (8, 1)),
        ("", (3, 2), (3, 2)),
        ("shape { dim { size: 5 } }", (None, None), (8, 5)),
        ("value_count { min: 2 max: 4 }", (None, None), (8, 4)),
        ("value_count { min: 2 }", (None, None), (8, 2)),
    ],
)
def test_the_schema_says_how_many_where_the_signature_does_not(feature, shape, expected):
    assert (
        draw(f'feature {{ name: "x" type: FLOAT {feature} }}', "float32", shape).shape == expected
    )


def test_a_keras_input_is_known_by_its_layers_name():
    domain = "int_domain { min: 9 max: 9 }"
    drawn = draw(f'feature {{ name: "x" type: INT {domain} }}', "int64", name="x_input")
    assert set(drawn.ravel().tolist()) == {9}


def test_a_signature_that_the_schema_knows_nothing_of_gets_nothing():
    assert draw('feature { name: "y" type: INT }', "int64") is None
