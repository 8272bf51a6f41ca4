# SPDX-License-Identifier: Apache-2.0
"""A preprocessing_fn is called first: what it does wrong is told before any data is read."""

import traceback

import pytest
from engine_and_beam import make_schema

from stoker.transform.analysis import beam_only
from stoker.transform.tracing import trace

pytestmark = pytest.mark.tf


@pytest.fixture
def traced(tmp_path):
    return lambda function: trace(function, schema=make_schema(), tmp_dir=str(tmp_path))


def raises(inputs):
    raise RuntimeError(f"no use for {len(inputs)} features")


def reads_an_unknown_feature(inputs):
    return {"y": inputs["price"]}


def returns_nothing(inputs):
    del inputs


def returns_an_empty_dict(inputs):
    return {}


def returns_a_number(inputs):
    return {"x": inputs["x"], "y": 3.0}


def makes_a_variable(inputs):
    import tensorflow as tf

    return {"x": inputs["x"] * tf.compat.v1.Variable(1.0)}


def test_an_error_of_the_user_passes_through_and_begins_at_their_line(traced):
    with pytest.raises(RuntimeError, match="no use for 15 features") as raised:
        traced(raises)
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert [frame.name for frame in frames if frame.name in ("raises", "trace")][-1] == "raises"
    assert not any("tensorflow" in frame.filename for frame in frames)


def test_an_unknown_feature_is_answered_with_those_of_the_schema(traced):
    with pytest.raises(KeyError, match="price") as raised:
        traced(reads_an_unknown_feature)
    (note,) = raised.value.__notes__
    assert note.startswith("The schema has these features: id, key, label")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (returns_nothing, "returned None. Return a dict of tensors"),
        (returns_an_empty_dict, "returned an empty dict"),
        (returns_a_number, r"returned 3\.0 for 'y', which is not a tensor"),
    ],
)
def test_what_a_function_must_not_do_is_told_with_its_file_and_line(traced, function, message):
    line = function.__code__.co_firstlineno
    with pytest.raises(ValueError, match=rf"{__file__}, line {line}\) {message}"):
        traced(function)


def test_a_variable_that_training_would_change_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"makes_a_variable .* makes the variable 'Variable:0'"):
        trace(
            makes_a_variable,
            schema=make_schema(),
            tmp_dir=str(tmp_path),
            force_tf_compat_v1=True,
        )


def test_a_schema_without_features_is_refused(tmp_path):
    from tensorflow_metadata.proto.v0 import schema_pb2

    with pytest.raises(ValueError, match="The schema has no feature"):
        trace(returns_nothing, schema=schema_pb2.Schema(), tmp_dir=str(tmp_path))


def test_only_ptransforms_of_users_need_beam(traced):
    import apache_beam as beam
    import tensorflow as tf
    import tensorflow_transform as tft

    def local(inputs):
        return {"x": tft.scale_to_z_score(inputs["x"])}

    def own(inputs):
        largest = beam.ParDo(lambda x: x)
        (value,) = tft.experimental.ptransform_analyzer([inputs["x"]], largest, [tf.float32], [[]])
        return {"x": inputs["x"] - value, **local(inputs)}

    assert beam_only(traced(local)) == []
    assert len(beam_only(traced(own))) == 1
