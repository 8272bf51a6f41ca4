# SPDX-License-Identifier: Apache-2.0
import numpy as np

from stoker.dsl.proto.eval_config_pb2 import SlicingSpec
from stoker.evaluation.features import Feature
from stoker.evaluation.slices import Slicer, fits, tell_of_missing_features

COLOR = Feature(np.array([b"red", b"blue", b"red"], object), np.array([1, 1, 1]))
SIZE = Feature.of_rows(np.array([[1], [2], [1]]))
TAGS = Feature(np.array([b"a", b"b", b"b"], object), np.array([2, 0, 1]))
FEATURES = {"color": COLOR, "size": SIZE, "tags": TAGS}


def members(*specs):
    slicing = [SlicingSpec(**spec) for spec in specs]
    slicer = Slicer(slicing)
    rows, slices = slicer.members(FEATURES, 3)
    tell_of_missing_features(slicing, slicer.known)
    found: dict = {}
    for row, number in zip(rows.tolist(), slices.tolist(), strict=True):
        found.setdefault(slicer.keys[number], []).append(row)
    return found


def test_a_spec_without_features_is_all_examples():
    assert members({}) == {(): [0, 1, 2]}


def test_each_value_of_a_feature_is_a_slice():
    assert members({"feature_keys": ["color"]}) == {
        (("color", "red"),): [0, 2],
        (("color", "blue"),): [1],
    }


def test_features_are_crossed():
    assert members({"feature_keys": ["size", "color"]}) == {
        (("color", "red"), ("size", 1)): [0, 2],
        (("color", "blue"), ("size", 2)): [1],
    }


def test_an_example_with_several_values_is_in_several_slices_and_one_without_in_none():
    assert members({"feature_keys": ["tags"], "feature_values": {"size": "1"}}) == {
        (("size", 1), ("tags", "a")): [0],
        (("size", 1), ("tags", "b")): [0, 2],
    }


def test_a_slice_that_two_specs_mean_counts_once():
    assert members({"feature_keys": ["size"]}, {"feature_values": {"size": "1"}}) == {
        (("size", 1),): [0, 2],
        (("size", 2),): [1],
    }


def test_text_that_looks_like_a_number_stays_text():
    code = {"code": Feature(np.array([b"1", b"2", b"1"], object), np.array([1, 1, 1]))}
    slicer = Slicer([SlicingSpec(feature_values={"code": "1"})])
    rows, _ = slicer.members(code, 3)
    assert (rows.tolist(), slicer.keys) == ([0, 2], [(("code", "1"),)])


def test_a_feature_that_no_example_has_is_told(capsys):
    assert list(members({}, {"feature_keys": ["colour"]})) == [()]
    assert "'colour', which a slicing_spec names. Did you mean 'color'?" in capsys.readouterr().out


def test_a_spec_fits_the_slices_that_it_makes():
    key = (("color", "red"), ("size", 1))
    assert fits(SlicingSpec(feature_keys=["color"], feature_values={"size": "1"}), key)
    assert not fits(SlicingSpec(feature_keys=["color"]), key)
    assert not fits(SlicingSpec(feature_keys=["color"], feature_values={"size": "2"}), key)
    assert fits(SlicingSpec(), ())
