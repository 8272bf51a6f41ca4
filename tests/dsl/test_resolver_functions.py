# SPDX-License-Identifier: Apache-2.0
"""Resolver functions: which artifacts of a channel a step reads."""

import pytest

from stoker.artifacts import Examples, Model
from stoker.dsl import (
    Channel,
    ForEach,
    InputArtifact,
    OutputArtifact,
    OutputDict,
    Parameter,
    Pipeline,
    component,
    union,
)
from stoker.dsl.channel import ExternalPipelineChannel
from stoker.dsl.placeholders import Absent
from stoker.dsl.resolution import DataType, Property, ResolverOp, resolver_function
from stoker.dsl.resolver_functions import (
    all_spans,
    filter_custom_property_equal,
    filter_property_equal,
    latest_created,
    latest_version,
    paired_spans,
    pick,
    rolling_range,
    sequential_rolling_range,
    shuffle,
    slice,
    sliding_window,
    static_range,
)
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner


def examples(*places):
    """A channel of Examples with these spans and versions, which are their names as well."""
    made = []
    for number, place in enumerate(places, start=1):
        one = Examples()
        one.span, one.version = map(int, place.split("."))
        one.uri, one.id = place, number
        one.set_string_custom_property("name", place)
        made.append(one)
    return Channel(Examples).set_artifacts(made)


def names(artifacts):
    return [artifact.uri for artifact in artifacts]


def chosen(channel):
    return names(channel.read(lambda part: part.get()))


def windows(loopable):
    items = loopable.list_items(lambda part: part.get())
    return [{key: names(many) for key, many in item.items()} for item in items]


SPANS = ("1.0", "3.1", "2.0", "3.0", "7.0")


@pytest.mark.parametrize(
    ("choose", "expected"),
    [
        (lambda found: latest_created(found), ["7.0"]),
        (lambda found: latest_created(found, n=2), ["3.0", "7.0"]),
        (lambda found: latest_version(found, n=2), ["3.1", "7.0"]),
        (lambda found: all_spans(found), ["1.0", "2.0", "3.1", "7.0"]),
        (lambda found: static_range(found, end_span_number=3), ["1.0", "2.0", "3.1"]),
        (
            lambda found: static_range(found, start_span_number=2, keep_all_versions=True),
            ["2.0", "3.0", "3.1", "7.0"],
        ),
        (
            lambda found: static_range(
                found, start_span_number=1, end_span_number=3, exclude_span_numbers=[2]
            ),
            ["1.0", "3.1"],
        ),
        (lambda found: rolling_range(found, num_spans=2), ["3.1", "7.0"]),
        (
            lambda found: rolling_range(found, num_spans=2, skip_num_recent_spans=1),
            ["2.0", "3.1"],
        ),
        (
            lambda found: rolling_range(found, num_spans=9, start_span_number=3, min_spans=1),
            ["3.1", "7.0"],
        ),
        (lambda found: pick(found, 0), ["1.0"]),
        (lambda found: pick(found, -1), ["7.0"]),
        (lambda found: slice(found, start=-2), ["3.0", "7.0"]),
        (lambda found: slice(found, stop=1), ["1.0"]),
        (lambda found: filter_property_equal(found, key="span", value=3), ["3.1", "3.0"]),
        (lambda found: filter_custom_property_equal(found, key="name", value="2.0"), ["2.0"]),
        (lambda found: pick(all_spans(found), -1), ["7.0"]),
    ],
)
def test_artifacts_are_chosen(choose, expected):
    channel = choose(examples(*SPANS))

    assert channel.type is Examples
    assert chosen(channel) == expected


def test_a_shuffle_keeps_all():
    assert sorted(chosen(shuffle(examples(*SPANS)))) == sorted(SPANS)


@pytest.mark.parametrize(
    ("loopable", "expected"),
    [
        (sliding_window(examples("1.0", "2.0", "3.0"), window_size=2), ["1.0 2.0", "2.0 3.0"]),
        (sequential_rolling_range(examples(*SPANS), num_spans=2), ["1.0 2.0", "2.0 3.1"]),
        (
            sequential_rolling_range(examples(*SPANS), start_span_number=2, num_spans=2),
            ["2.0 3.1"],
        ),
        (
            sequential_rolling_range(examples(*SPANS), exclude_span_numbers=[1]),
            ["2.0", "3.1"],
        ),
        (sequential_rolling_range(examples(*SPANS), num_spans=5), []),
    ],
)
def test_windows_are_gone_through(loopable, expected):
    assert [" ".join(item["window"]) for item in windows(loopable)] == expected


def test_spans_of_two_channels_are_paired():
    left, right = examples("0.0", "0.1", "1.0", "2.0"), examples("0.1", "1.0", "3.0")

    assert windows(paired_spans({"x": left, "y": right})) == [
        {"x": ["0.1"], "y": ["0.1"]},
        {"x": ["1.0"], "y": ["1.0"]},
    ]


def test_too_few_spans_keep_a_step_from_running():
    with pytest.raises(Absent, match="there are 4 of the 9 spans that it needs"):
        chosen(rolling_range(examples(*SPANS), num_spans=9))


def test_what_cannot_be_chosen_says_so():
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        chosen(latest_created(examples(*SPANS), n=0))
    with pytest.raises(ValueError, match="there are 5 in all"):
        chosen(pick(examples(*SPANS), 5))
    with pytest.raises(KeyError, match="has no property 'm'"):
        resolver_function(lambda artifacts: Newest(artifacts, m=1))(examples("1.0"))
    with pytest.raises(TypeError, match="Newest takes ARTIFACT_LIST, got ARTIFACT_MULTIMAP"):
        resolver_function(lambda artifacts: Newest(artifacts))({"x": examples("1.0")})
    with pytest.raises(TypeError, match="with ForEach"):
        sliding_window(examples("1.0"), window_size=1)["window"]


class Newest(
    ResolverOp,
    canonical_name="mine.Newest",
    arg_data_types=(DataType.ARTIFACT_LIST,),
    return_data_type=DataType.ARTIFACT_LIST,
):
    n = Property(type=int, default=1)

    def apply(self, artifacts):
        return sorted(artifacts, key=lambda one: one.id)[-self.n :]


class Both(ResolverOp):
    """Dict in, dict out, which is what an operator does that says nothing else."""

    n = Property(type=int)

    def apply(self, found):
        return {key: many[-self.n :] for key, many in found.items()}


@resolver_function
def two_newest(artifacts):
    return Newest(artifacts, n=2)


@resolver_function
def ends(inputs, *, n):
    return Both(inputs, n=n)


@resolver_function(output_type={"first": Examples, "last": Examples})
def both_ends(artifacts):
    return {"first": Newest(artifacts, n=9), "last": Newest(artifacts)}


def test_functions_and_operators_of_ones_own_choose():
    ended = ends({"x": examples(*SPANS), "y": Channel(Model)}, n=1)
    split = both_ends(examples(*SPANS))

    assert chosen(two_newest(examples(*SPANS))) == ["3.0", "7.0"]
    assert chosen(ended["x"]) == ["7.0"]
    assert ended["y"].type is Model
    assert [len(chosen(split[key])) for key in ("first", "last")] == [5, 1]


@component
def ingest(examples: OutputArtifact[Examples], span: Parameter[int]):
    examples.span, examples.version = span, 0


@component
def read_all(examples: InputArtifact[list[Examples]]) -> OutputDict(spans=list):
    return {"spans": [one.span for one in examples]}


def ingest_spans(*spans):
    steps = [ingest(span=span).with_id(f"ingest{span}") for span in spans]
    return steps, union([step.outputs["examples"] for step in steps])


def run(tmp_path, *steps):
    pipeline = Pipeline("spans", str(tmp_path), components=steps)
    return LocalDagRunner(InProcess()).run(pipeline).outputs


def test_a_step_reads_what_was_chosen(tmp_path):
    steps, channel = ingest_spans(1, 2, 3)
    recent = read_all(examples=rolling_range(channel, num_spans=2))
    many = read_all(examples=rolling_range(channel, num_spans=9)).with_id("many")
    with ForEach(sliding_window(channel, window_size=2)) as window:
        pairs = read_all(examples=window).with_id("pairs")

    outputs = run(tmp_path, *steps, recent, many, pairs)

    assert [one.read() for one in outputs["read_all"]["spans"]] == [[2, 3]]
    assert [one.read() for one in outputs["pairs"]["spans"]] == [[1, 2], [2, 3]]
    assert outputs["many"] == {}


def test_a_channel_without_a_step_is_what_earlier_runs_have_published(tmp_path):
    steps, _ = ingest_spans(1, 2)
    run(tmp_path, *steps)
    past = Channel(Examples, producer_component_id="ingest2", output_key="examples")
    reading = read_all(examples=latest_created(Channel(Examples)))
    asking = read_all(examples=past).with_id("past")

    outputs = run(tmp_path, reading, asking)

    assert outputs["read_all"]["spans"][0].read() == [2]
    assert outputs["past"]["spans"][0].read() == [2]
    assert steps[1].outputs["examples"].producer_component_id == "ingest2"


def test_a_channel_may_be_of_another_pipeline_in_the_store(tmp_path):
    steps, _ = ingest_spans(1, 2)
    run(tmp_path, *steps)
    theirs = ExternalPipelineChannel(
        Examples, pipeline_name="spans", producer_component_id="ingest1", output_key="examples"
    )
    pipeline = Pipeline("other", str(tmp_path), components=[read_all(examples=theirs)])

    outputs = LocalDagRunner(InProcess()).run(pipeline).outputs

    assert outputs["read_all"]["spans"][0].read() == [1]
