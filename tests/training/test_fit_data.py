# SPDX-License-Identifier: Apache-2.0
"""What is known of the data of a `fit`, without TensorFlow."""

import numpy as np
import pytest

from stoker.data.row_order import RowOrder, find_rows, mark_as_from_accessor
from stoker.training.fit_data import describe_batch, load_rows, save_rows, take_rows


class Dataset:
    """What a tf.data.Dataset looks like to those who follow where its elements come from."""

    def __init__(self, *inputs):
        self._parts = list(inputs)

    def _inputs(self):
        return self._parts


class _MapDataset(Dataset):
    pass


class _ShuffleDataset(Dataset):
    pass


@pytest.fixture
def batches():
    """Batches of four rows, in an order that follows from a seed."""
    order = RowOrder(12, seed=3)

    def rows(number, batch):
        return order.rows(number * 12 + batch * 4, number * 12 + batch * 4 + 4)

    return mark_as_from_accessor(Dataset(), rows=rows), order


def test_the_rows_of_a_batch_are_found_through_what_maps_it(batches):
    data, order = batches
    mapped = _MapDataset(_MapDataset(data))
    np.testing.assert_array_equal(find_rows(mapped, 1, 2), order.rows(20, 24))
    assert find_rows(_ShuffleDataset(data), 0, 0) is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"shuffle": False}, "epoch 2, batch 3; rows 64 to 95 of x, counted from 0"),
        ({"shuffle": False, "batch_size": 49}, "epoch 2, batch 3; rows 98, 99 of x, counted"),
        ({}, "epoch 2, batch 3; which rows it had is not known, since Keras shuffles arrays"),
    ],
)
def test_the_rows_of_arrays_are_told_where_keras_does_not_shuffle(given, words):
    given = {"x": np.zeros((100, 2)), **given}
    place = describe_batch(given, epoch=1, batch=3, steps_before=4, knows_pass=False)
    assert place.startswith(words)


def test_a_generator_of_the_users_own_has_no_rows():
    given = {"x": iter([])}
    place = describe_batch(given, epoch=0, batch=3, steps_before=0, knows_pass=False)
    assert place == "epoch 1, batch 3"
    assert take_rows(given["x"]) == {}


def test_a_few_rows_come_back_as_they_were(tmp_path):
    texts = np.array([[b"a\x00"], ["ä"]], object)
    given = {"words": np.concatenate([texts, texts]), "numbers": np.arange(8.0)}
    path = str(tmp_path / "rows.npz")
    save_rows(path, take_rows(given))
    found = load_rows(path)
    np.testing.assert_array_equal(found["numbers"], [0.0, 1.0])
    assert found["words"].tolist() == [[b"a\x00"], ["ä".encode()]]
    assert load_rows(str(tmp_path / "none.npz")) == {}


def test_inputs_without_names_go_by_their_places():
    assert list(take_rows((np.zeros((5, 3)), np.ones(5)))) == ["0", "1"]
    assert take_rows(np.zeros((5, 3)))["0"].shape == (2, 3)
