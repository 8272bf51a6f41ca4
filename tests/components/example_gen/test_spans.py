# SPDX-License-Identifier: Apache-2.0
"""Spans: which portion of the data an ExampleGen reads, and what it says if there is none."""

import pytest

from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.example_gen.spans import below, choose
from stoker.data.input_files import matching_files
from stoker.dsl.proto.example_gen_pb2 import Input
from stoker.dsl.proto.range_config_pb2 import RangeConfig
from stoker.errors import BadData


def splits(**patterns):
    return Input(splits=[Input.Split(name=n, pattern=p) for n, p in patterns.items()]).splits


def static(first, last=None):
    end = first if last is None else last
    return RangeConfig(static_range={"start_span_number": first, "end_span_number": end})


def rolling(num_spans, first=0):
    return RangeConfig(rolling_range={"num_spans": num_spans, "start_span_number": first})


@pytest.fixture
def base(tmp_path):
    """A folder with empty files."""

    def make(*names):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
        return str(tmp_path)

    return make


@pytest.mark.parametrize(
    ("pattern", "files", "span", "version", "chosen"),
    [
        ("day-{SPAN}/*", ["day-9/a", "day-10/a"], 10, None, "day-10/*"),
        ("day-{SPAN}/*", ["day-009/a", "day-010/a"], 10, None, "day-010/*"),
        ("day-{SPAN:2}/*", ["day-03/a", "day-100/a"], 3, None, "day-03/*"),
        ("{SPAN}/v{VERSION}/*", ["1/v9/a", "2/v1/a", "2/v10/a"], 2, 10, "2/v10/*"),
        ("{SPAN:2}{VERSION:2}-*", ["0102-a", "0201-a"], 2, 1, "0201-*"),
        ("{YYYY}-{MM}-{DD}/*", ["2024-12-31/a", "2025-01-01/a"], 20089, None, "2025-01-01/*"),
        ("{YYYY}{MM}{DD}/v{VERSION}/*", ["19700102/v3/a"], 1, 3, "19700102/v3/*"),
        ("[ab]?-{SPAN}.*", ["ax-1.csv", "cx-7.csv"], 1, None, "[ab]?-1.*"),
        ("[!a]-{SPAN}", ["a-9", "b-1"], 1, None, "[!a]-1"),
        ("*", ["anything"], 0, None, "*"),
    ],
)
def test_the_newest_version_of_the_newest_span_is_chosen(
    base, pattern, files, span, version, chosen
):
    folder = base(*files)
    found = choose(folder, splits(all=pattern), None)
    assert (found.span, found.version) == (span, version)
    assert found.patterns == {"all": chosen}


def test_a_static_range_names_the_span_and_a_rolling_range_means_the_newest(base):
    folder = base("1/v1/a", "1/v2/a", "2/v1/a")
    given = splits(all="{SPAN}/v{VERSION}/*")
    first = choose(folder, given, static(1))
    assert (first.span, first.version) == (1, 2)
    assert choose(folder, given, rolling(1)).span == 2


def test_every_split_has_its_own_pattern(base):
    folder = base("train/01/a", "eval-1")
    found = choose(folder, splits(train="train/{SPAN}/*", eval="eval-{SPAN}"), None)
    assert found.patterns == {"train": "train/01/*", "eval": "eval-1"}


@pytest.mark.parametrize(
    ("patterns", "span_range", "says"),
    [
        ({"all": "{SPAN}/none-*"}, None, "No file of a span matches .*none.*nothing matches"),
        ({"all": "{SPAN}/*"}, static(7), r"No file of span 7 .*there are the spans \[1, 2\]"),
        ({"a": "{SPAN}/x", "b": "{SPAN}/y"}, None, "same span and version.* a: span 1.* b: span 2"),
        ({"all": "twice-{SPAN}"}, None, "has span 3 twice, as .*twice-003 and as .*twice-3"),
        ({"all": "{YYYY}{MM}{DD}"}, None, "20249901 has no date of the calendar"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(base, patterns, span_range, says):
    folder = base("1/x", "2/y", "twice-3", "twice-003", "20249901")
    with pytest.raises(BadData, match=says):
        choose(folder, splits(**patterns), span_range)


@pytest.mark.parametrize(
    ("patterns", "span_range", "says"),
    [
        ({"all": "{SPAN}-{SPAN}"}, None, "has a word twice"),
        ({"all": "{YYYY}/{MM}"}, None, "needs all of {YYYY}, {MM} and {DD}"),
        ({"all": "{SPAN}/{YYYY}{MM}{DD}"}, None, "both {SPAN} and a date"),
        ({"all": "v{VERSION}"}, None, "needs a {SPAN} or a date"),
        ({"a": "{SPAN}", "b": "b*"}, None, "all splits need the same"),
        ({"all": "*"}, static(1), "range_config chooses a span, but a pattern has neither"),
        ({"all": "{SPAN}"}, static(1, 2), "the static range 1 to 2.*SpanRangeStrategy"),
        ({"all": "{SPAN}"}, rolling(3), "a rolling range of 3 spans"),
        ({"all": "{SPAN}"}, rolling(1, 5), "from 5 on"),
        ({"all": "{SPAN}"}, RangeConfig(), "neither a static range nor a rolling range"),
    ],
)
def test_spans_that_cannot_be_are_refused_when_declared(patterns, span_range, says):
    given = Input(splits=list(splits(**patterns)))
    with pytest.raises(ValueError, match=says):
        CsvExampleGen("data", input_config=given, range_config=span_range)


def test_the_span_is_recorded_and_its_files_alone_count(base, run, records):
    folder = base("1/a.csv", "2/a.csv")
    for name in ("1", "2"):
        with open(f"{folder}/{name}/a.csv", "w") as file:
            file.write(f"n\n{name}\n")
    given = {"splits": [{"name": "all", "pattern": "{SPAN}/*"}]}
    step = CsvExampleGen(
        folder, given, {}, {"static_range": {"start_span_number": 1, "end_span_number": 1}}
    )
    examples = run(step)
    assert (examples.span, examples.version) == (1, 0)
    assert len(records(examples, "all")) == 1
    assert step.external_files(step.spec.values({})) == [f"{folder}/1/a.csv"]


def test_a_span_that_is_missing_leaves_the_error_to_the_step(base):
    step = CsvExampleGen(base("x"), {"splits": [{"name": "all", "pattern": "{SPAN}/*"}]}, {})
    assert step.external_files(step.spec.values({})) == []


@pytest.mark.parametrize("name", ["a[1]", "a*b", "what?", "[!x]", "a]b["])
def test_a_folder_whose_name_looks_like_a_pattern_is_itself(tmp_path, name):
    for folder in (name, "a1", "a-b", "whats", "y"):
        (tmp_path / folder / "day-3").mkdir(parents=True)
        (tmp_path / folder / "day-3" / "rows[1].csv").touch()
    base = str(tmp_path / name)
    file = f"{base}/day-3/rows[1].csv"
    for pattern in ("*/*", "day-3/*.csv", "day-{SPAN}/*", "day-3/rows[1].csv", "day-3"):
        chosen = choose(base, splits(all=pattern), None)
        assert matching_files(below(base, chosen.patterns["all"])) == [file]
    chosen = choose(file, splits(all="*"), None)
    assert matching_files(below(file, chosen.patterns["all"])) == [file]
