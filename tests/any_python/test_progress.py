# SPDX-License-Identifier: Apache-2.0
import pytest

from stoker.any_python.launcher_link import set_sink
from stoker.any_python.progress import ADVANCE, Progress, advance, advance_after, follow


@pytest.fixture
def reports():
    seen = []
    set_sink(seen.append)
    yield seen
    set_sink(None)


def test_what_a_step_does_is_told_at_once(reports):
    Progress("reading", unit="rows")
    assert reports == [{"kind": "progress", "doing": "reading"}]


def test_many_rows_make_few_reports_with_a_rate_and_the_time_left(reports):
    seconds = iter(range(10_000))
    progress = Progress("reading", unit="rows", total=4000, clock=lambda: next(seconds) / 1000)
    for _ in range(1000):
        progress.advance(2)
    assert 4 <= len(reports) <= 6
    last = reports[-1]
    assert last["per_second"] == pytest.approx(2000)
    assert last["seconds_left"] == pytest.approx((4000 - last["count"]) / 2000)


def test_more_than_was_estimated_leaves_no_time(reports):
    seconds = iter(range(10))
    progress = Progress("reading", unit="rows", total=5, is_about=True, clock=lambda: next(seconds))
    progress.advance(8)
    assert reports[-1]["seconds_left"] == 0


def test_batches_pass_as_they_are_and_are_counted_of_what_is_followed(reports, monkeypatch):
    monkeypatch.setattr("stoker.any_python.progress.REPORT_SECONDS", 0)
    with follow("counting", total=3):
        assert list(advance_after([[1, 2], [3]])) == [[1, 2], [3]]
    assert [one.get("count") for one in reports] == [None, 2, 3]


def test_where_nothing_is_followed_whoever_follows_is_told(reports):
    advance(2)
    assert reports == [{"kind": ADVANCE, "count": 2}]


def test_outside_of_a_step_it_tells_nobody():
    Progress("reading", unit="rows").advance(1)
