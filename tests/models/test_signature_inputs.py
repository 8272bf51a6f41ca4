# SPDX-License-Identifier: Apache-2.0
"""tf.Examples become what a signature takes, whoever calls it."""

import numpy as np
import pytest

from stoker.dsl.proto.example_pb2 import Example
from stoker.models.inputs import Misfit, find_fitting, make_inputs

pytestmark = pytest.mark.tf


def example(**features):
    made = Example()
    for name, values in features.items():
        kind = "float_list" if isinstance(values[0], float) else "int64_list"
        getattr(made.features.feature[name], kind).value.extend(values)
    return made


def records(*examples):
    return [one.SerializeToString() for one in examples]


def plain(**inputs):
    """A signature on plain tensors, of types and shapes by name."""
    from stoker.models.saved_model import Signature, TensorInfo

    infos = {name: TensorInfo(dtype=kind, shape=shape) for name, (kind, shape) in inputs.items()}
    return Signature(inputs=infos, outputs={}, parses=None)


def on_examples(shape):
    from stoker.models.saved_model import ParsedFeature, Signature, TensorInfo

    x = ParsedFeature(dtype="float32", size=1, required=True)
    inputs = {"examples": TensorInfo(dtype="string", shape=shape)}
    return Signature(inputs=inputs, outputs={}, parses={"x": x})


def test_features_become_arrays_of_the_types_and_shapes_that_are_taken():
    found = make_inputs(
        plain(x=("float64", [-1, 2, 1]), n=("int32", [-1])),
        records(example(x=[1.0, 2.0], n=[3]), example(x=[4.0, 5.0], n=[6])),
    )

    assert found["x"].tolist() == [[[1.0], [2.0]], [[4.0], [5.0]]]
    assert (found["x"].dtype, found["n"].dtype) == (np.float64, np.int32)
    assert found["n"].tolist() == [3, 6]


def test_an_input_that_keras_named_after_its_layer_is_fed_the_feature_of_that_name():
    found = make_inputs(plain(x_input=("float32", [-1, 1])), records(example(x=[1.0])))
    assert found["x_input"].tolist() == [[1.0]]
    with pytest.raises(Misfit, match="no feature 'y_input'"):
        make_inputs(plain(y_input=("float32", [-1, 1])), records(example(x=[1.0])))


def test_rows_of_different_lengths_are_refused_even_if_they_add_up():
    with pytest.raises(Misfit, match="'x' differs in length"):
        make_inputs(plain(x=("float32", [-1, 2])), records(example(x=[1.0]), example(x=[1.0] * 3)))


def test_a_signature_on_one_example_takes_no_two():
    one = records(example(x=[1.0]))

    assert make_inputs(on_examples([]), one) == {"examples": one[0]}
    with pytest.raises(Misfit, match="one example at a time, and there are 2"):
        make_inputs(on_examples([]), one * 2)


def test_examples_that_lack_a_value_or_hold_nan_are_left_out():
    good = example(x=[1.0])

    for signature in (plain(x=("float32", [-1, 1])), on_examples([-1])):
        found = find_fitting(signature, [example(y=[1.0]), example(x=[float("nan")]), good])
        assert found == [good]


def test_only_what_is_exact_is_taken_where_that_is_asked_for():
    half = records(example(x=[0.5]))

    assert make_inputs(plain(x=("int64", [-1])), half)["x"].tolist() == [0]
    with pytest.raises(Misfit, match="cannot hold what the feature has"):
        make_inputs(plain(x=("int64", [-1])), half, exact=True)
