"""Weights of an earlier model in a new one: by name and shape, and by vocabulary entry."""

import numpy as np

from stoker.user_code.fn_args import FnArgs
from stoker.user_code.warm_start import _find, _map_rows, warm_start


def test_rows_follow_their_entries_not_their_positions():
    old = np.array([[1.0], [2.0], [3.0], [9.0]])  # a, b, c and one bucket
    new = np.zeros((6, 1))
    value, known = _map_rows(old, new, [b"a", b"b", b"c"], [b"c", b"d", b"a", b"b", b"e"])
    assert value.ravel().tolist() == [3, 0, 1, 2, 0, 9]
    assert known == 3


def test_a_vocabulary_that_shrank_is_mapped_too():
    old = np.array([[1.0], [2.0], [3.0]])
    value, known = _map_rows(old, np.zeros((1, 1)), [b"a", b"b", b"c"], [b"b"])
    assert (value.ravel().tolist(), known) == ([2], 1)


def test_a_weight_is_found_by_layer_and_name_below_another_model():
    old = {"model/hidden/kernel": np.ones(1), "model/out/kernel": np.zeros(1)}
    assert _find("hidden/kernel", old) is old["model/hidden/kernel"]
    assert _find("model_1/out/kernel", old) is old["model/out/kernel"]
    assert _find("other/kernel", old) is None


def test_nothing_happens_on_the_first_run(capsys):
    report = warm_start(object(), FnArgs(base_model=None))
    assert report.taken == []
    assert "cold start" in capsys.readouterr().out
