# SPDX-License-Identifier: Apache-2.0
import json
import math

import pytest

from stoker.training.tuning.trials import (
    Search,
    Trial,
    describe,
    failures_in_a_row,
    rows,
    table,
)

GOOD = Trial(id="0", values={"rate": 0.01, "kind": "a"}, score=0.9)
BETTER = Trial(id="1", values={"rate": 0.001}, score=0.95)
FAILED = Trial(id="2", values={"rate": 1.0}, error="Traceback …\nZeroDivisionError: no luck\n")


def search(*trials, direction="max"):
    return Search(objective="val_accuracy", direction=direction, trials=trials)


@pytest.mark.parametrize(("direction", "first"), [("max", BETTER), ("min", GOOD)])
def test_the_best_trial_comes_first_and_failed_ones_last(direction, first):
    found = search(FAILED, GOOD, BETTER, direction=direction)
    assert found.best is found.ranked[0] is first
    assert found.ranked[-1] is FAILED
    assert found.failed == [FAILED]


def test_of_equal_trials_the_first_is_the_best():
    again = Trial(id="3", values={}, score=GOOD.score)
    assert search(GOOD, again).best is GOOD


def test_a_search_of_failures_has_no_best_trial():
    assert search(FAILED).best is None


def test_a_row_has_the_trial_its_score_and_the_hyperparameters():
    first, second = rows(search(GOOD, FAILED))
    assert first == {"trial_id": "0", "score": 0.9, "rate": 0.01, "kind": "a"}
    assert second == {
        "trial_id": "2",
        "score": None,
        "rate": 1.0,
        "error": "ZeroDivisionError: no luck",
    }


def test_rows_are_strict_json_even_for_an_infinite_score():
    endless = Trial(id="0", values={}, score=math.inf)
    assert (
        json.dumps(rows(search(endless)), allow_nan=False) == '[{"trial_id": "0", "score": null}]'
    )


def test_a_line_tells_the_score_the_best_so_far_and_the_hyperparameters():
    assert describe(search(GOOD), GOOD) == (
        "trial 0: val_accuracy 0.9, the best so far, rate=0.01 kind=a"
    )
    assert describe(search(BETTER, GOOD), GOOD) == (
        "trial 0: val_accuracy 0.9, best 0.95 (trial 1), rate=0.01 kind=a"
    )
    assert describe(search(FAILED), FAILED) == (
        "trial 2 failed: ZeroDivisionError: no luck, rate=1"
    )


def test_the_table_marks_the_best_trial():
    assert table(search(GOOD, BETTER, FAILED)).splitlines() == [
        "   trial  val_accuracy  rate   kind",
        "   0      0.9           0.01   a",
        "*  1      0.95          0.001",
        "   2      failed        1",
    ]


@pytest.mark.parametrize(
    ("ended_well", "count"),
    [([], 0), ([True], 0), ([False], 1), ([False, True, False, False], 2), ([False, True], 0)],
)
def test_failures_are_counted_back_from_the_last_trial(ended_well, count):
    assert failures_in_a_row(ended_well) == count


def test_the_last_words_of_a_graph_are_what_was_wrong():
    error = "DataLossError: Graph execution error:\n\ncorrupted record at 0\n\t [[{{node Next}}]]\n"
    assert Trial(id="3", values={}, error=error).last_words == "corrupted record at 0"
