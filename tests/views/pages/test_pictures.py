# SPDX-License-Identifier: Apache-2.0
"""Graphs, timelines and charts as SVG."""

import math
import re
import xml.etree.ElementTree as ET

import pytest

from stoker.views.line_charts import draw_lines, find_ticks, smooth, thin_out
from stoker.views.pages.pictures import (
    Arrow,
    Bar,
    Box,
    draw_graph,
    draw_timeline,
    make_time_marks,
)


def draw(names, pairs):
    boxes = [Box(id=name, title=name) for name in names]
    return draw_graph(boxes, [Arrow(source=a, target=b) for a, b in pairs], "a graph")


def places(svg):
    """Where each box is, by its title."""
    root = ET.fromstring(svg)
    found = {}
    for group in root.findall("g"):
        box, text = group.find("rect"), group.find("text")
        found[text.text] = (float(box.get("x")), float(box.get("y")))
    return found


def test_a_step_stands_behind_all_that_it_reads_from():
    found = places(draw("abcd", [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]))
    assert [found[name][0] for name in "abcd"] == sorted({x for x, _ in found.values()})


def test_steps_side_by_side_do_not_cover_each_other():
    found = places(draw("abcde", [("a", "c"), ("b", "d"), ("a", "e")]))
    assert len(set(found.values())) == 5


@pytest.mark.parametrize(
    "pairs", [[("a", "b"), ("b", "a")], [("a", "a")], [("a", "x")], [("x", "y")]]
)
def test_a_circle_or_an_unknown_end_is_no_trouble(pairs):
    assert set(places(draw("ab", pairs))) == {"a", "b"}


def test_nothing_is_drawn_of_nothing():
    assert draw("", []) == ""
    assert draw_timeline([], {}) == ""


def test_a_timeline_has_a_bar_for_each_step_where_it_ran():
    bars = [
        Bar(title="a", text="1 s", kind="complete", start_ms=1000, end_ms=2000),
        Bar(title="b", text="3 s", kind="failed", start_ms=2000, end_ms=5000),
    ]
    spans = re.findall(
        r'<rect class="span \w+" x="([\d.]+)" y="\d+" width="([\d.]+)"', draw_timeline(bars, {})
    )
    (x1, w1), (x2, w2) = [tuple(map(float, one)) for one in spans]
    assert x1 + w1 == pytest.approx(x2, abs=0.2)
    assert w2 == pytest.approx(3 * w1, abs=0.5)


def test_time_marks_are_few_and_round():
    for span in (3, 950, 61_000, 7_000_000, 400_000_000):
        marks = make_time_marks(span)
        assert 1 <= len(marks) <= 10
        assert all(0 <= share <= 1.001 for share in marks)


def test_a_chart_is_whole_xml_whatever_the_numbers():
    for values in ([1, 2], [5], [math.nan], [math.inf, 1], [-1, 0], [1e308, -1e308], []):
        points = list(enumerate(values))
        for is_log in (False, True):
            ET.fromstring(draw_lines({"a": points}, {"a": 0}, is_log=is_log, smoothing=0.6))


def test_smoothing_begins_at_the_first_value_and_stays_between_the_others():
    smoothed = smooth([(0, 1.0), (1, 3.0), (2, 1.0)], 0.6)
    assert smoothed[0] == (0, 1.0)
    assert all(1 <= value <= 3 for _, value in smoothed)


def test_a_long_line_keeps_its_ends_and_its_peaks():
    points = [(step, float(step == 7777)) for step in range(100_000)]
    thin = thin_out(points)
    assert len(thin) <= 410
    assert (7777, 1.0) in thin
    assert thin[-1] == points[-1]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 1e6), (0.1, 0.1001), (1e-9, 2e-9)])
def test_ticks_are_few_and_within_the_limits(low, high):
    ticks = find_ticks(low, high)
    assert 2 <= len(ticks) <= 8
    assert all(low <= one <= high for one in ticks)
