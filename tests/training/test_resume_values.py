# SPDX-License-Identifier: Apache-2.0
"""What callbacks remember, as JSON and arrays."""

import json
import math

import numpy as np
import pytest

from stoker.training.resume.callback_state import read_callbacks, set_callbacks
from stoker.training.resume.plain_values import NotPlain, as_plain, from_plain


def there_and_back(value):
    arrays = {}
    plain = json.loads(json.dumps(as_plain(value, arrays)))
    return from_plain(plain, arrays)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        0.1,
        -math.inf,
        "text",
        [1, [2.5, None]],
        (1, ("a",)),
        {"loss": [0.1, 0.2], 3: {"a": ()}},
        {"array": "not one"},
        [],
    ],
)
def test_plain_values_come_back_as_they_were(value):
    assert there_and_back(value) == value
    assert type(there_and_back(value)) is type(value)


def test_arrays_and_numpy_numbers_keep_their_types():
    weights = there_and_back([np.ones((2, 3), np.float16), np.float32(0.1), np.int64(7)])
    assert [one.dtype for one in weights] == [np.float16, np.float32, np.int64]
    assert isinstance(weights[1], np.float32)
    assert weights[0].shape == (2, 3)


@pytest.mark.parametrize("value", [len, object(), [print], {"f": open}, {1, 2}, np.array([None])])
def test_functions_files_and_objects_are_not_plain(value):
    with pytest.raises(NotPlain):
        as_plain(value, {})


class Callback:
    def __init__(self, folder):
        self.model = object()
        self.params = {"epochs": 3}
        self.folder = folder
        self.best = math.inf
        self.wait = 0
        self.best_weights = None
        self.better = min
        self.mixed = [np.zeros(2), len]


class Late:
    """As a callback of Keras 3: it chooses late, and turns a sign then."""

    def __init__(self):
        self.min_delta = 0.5
        self.monitor_op = None

    def _set_monitor_op(self):
        self.monitor_op = min
        self.min_delta *= -1


def test_what_a_callback_remembers_is_kept_and_where_it_writes_is_not():
    before, after, arrays = Callback("/then"), Callback("/now"), {}
    before.best, before.wait, before.best_weights = 0.25, 2, [np.arange(3)]
    states = json.loads(json.dumps(read_callbacks([before], arrays)))
    set_callbacks([after], states, arrays)
    assert (after.best, after.wait, after.folder) == (0.25, 2, "/now")
    assert after.best_weights[0].tolist() == [0, 1, 2]
    assert after.better is min
    assert set(arrays) == {"value 0"}  # half of `mixed` is not left behind


@pytest.mark.parametrize("has_chosen", [False, True])
def test_a_sign_is_not_turned_twice(has_chosen):
    before, after, arrays = Late(), Late(), {}
    if has_chosen:
        before._set_monitor_op()
    set_callbacks([after], read_callbacks([before], arrays), arrays)
    assert (after.min_delta, after.monitor_op) == (before.min_delta, before.monitor_op)
