# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from stoker.errors import RewriteFailed
from stoker.models.rewriting.comparison import TOLERANCES, largest_difference, size_of

PRICES = np.array([[100.0], [20_000.0]], np.float32)


def test_the_difference_is_a_part_of_the_largest_value():
    found = largest_difference({"price": PRICES}, {"price": PRICES + 20})

    assert found.output == "price"
    assert found.value == pytest.approx(0.001)


def test_the_worst_of_several_outputs_is_named():
    zeros = np.zeros(4, np.float32)

    found = largest_difference({"a": zeros, "b": zeros}, {"a": zeros, "b": zeros + 0.5})

    assert (found.output, found.value) == ("b", 0.5)


def test_whole_numbers_differ_by_the_part_that_is_not_equal():
    classes = np.array([1, 2, 3, 4])

    assert largest_difference({"c": classes}, {"c": np.array([1, 2, 3, 9])}).value == 0.25


def test_a_number_that_became_nan_is_infinitely_far_away():
    broken = np.array([[np.nan], [20_000.0]], np.float32)

    assert not largest_difference({"p": PRICES}, {"p": broken}).value <= TOLERANCES["int8"]


def test_a_missing_output_and_another_shape_are_named():
    with pytest.raises(RewriteFailed, match="does not give the output 'price'"):
        largest_difference({"price": PRICES}, {"cost": PRICES})
    with pytest.raises(RewriteFailed, match=r"and should have the original's, \(2, 1"):
        largest_difference({"price": PRICES}, {"price": PRICES[:, 0]})


def test_coarser_numbers_may_differ_more():
    order = [TOLERANCES[name] for name in ("float32", "float16", "dynamic", "int8")]

    assert order == sorted(order)


def test_a_folder_is_as_large_as_its_files(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "b").write_bytes(bytes(30))
    (tmp_path / "a").write_bytes(bytes(12))

    assert size_of(str(tmp_path)) == 42
    assert size_of(str(tmp_path / "a")) == 12
