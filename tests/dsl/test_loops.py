# SPDX-License-Identifier: Apache-2.0
"""Loops: steps that run once for each artifact."""

import pytest

from stoker.artifacts import Examples, Integer
from stoker.dsl import (
    Channel,
    Cond,
    ForEach,
    InputArtifact,
    OutputArtifact,
    OutputDict,
    Pipeline,
    component,
    union,
)
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner
from stoker.stand_ins.tfx.artifacts import Metrics

pytestmark = pytest.mark.slow


@component
def number(value: int) -> OutputDict(number=int):
    return {"number": value}


@component
def double(value: int) -> OutputDict(doubled=int):
    return {"doubled": value * 2}


@component
def add(left: int, right: int) -> OutputDict(sum=int):
    return {"sum": left + right}


@component
def gather(numbers: InputArtifact[list[Integer]]) -> OutputDict(all=list):
    return {"all": [one.read() for one in numbers]}


def numbers(*values):
    """Steps that make numbers, and one channel with all of them."""
    steps = [number(value=value).with_id(f"n{value}") for value in values]
    return steps, union([step.outputs["number"] for step in steps])


def run(tmp_path, *steps, **options):
    pipeline = Pipeline("loop", str(tmp_path), components=steps, **options)
    return LocalDagRunner(InProcess()).run(pipeline)


def read(artifacts):
    return [artifact.read() for artifact in artifacts]


def test_a_step_runs_once_for_each_artifact(tmp_path, capfd):
    makers, channel = numbers(1, 2, 3)
    with ForEach(channel) as each:
        doubling = double(value=each)
    gathering = gather(numbers=doubling.outputs["doubled"])

    outputs = run(tmp_path, *makers, doubling, gathering).outputs

    assert read(outputs["double"]["doubled"]) == [2, 4, 6]
    assert read(outputs["gather"]["all"]) == [[2, 4, 6]]
    assert "[4/5] double (2 of 3) done in" in capfd.readouterr().err


def test_steps_in_one_loop_read_what_the_others_made_in_the_same_round(tmp_path):
    makers, channel = numbers(1, 2)
    with ForEach(channel) as each:
        doubling = double(value=each)
        adding = add(left=each, right=doubling.outputs["doubled"])

    assert read(run(tmp_path, *makers, adding, doubling).outputs["add"]["sum"]) == [3, 6]


def test_a_loop_inside_another_runs_for_each_of_each(tmp_path):
    makers, channel = numbers(1, 2)
    others, inner = numbers(10, 20)
    with ForEach(channel) as outer_each:
        doubling = double(value=outer_each)
        with ForEach(inner) as inner_each:
            adding = add(left=doubling.outputs["doubled"], right=inner_each)

    outputs = run(tmp_path, *makers, *others, doubling, adding).outputs

    assert read(outputs["add"]["sum"]) == [12, 22, 14, 24]


def test_a_condition_in_a_loop_is_judged_in_each_round(tmp_path, capfd):
    makers, channel = numbers(1, 2)
    with ForEach(channel) as each, Cond(each.future()[0].value > 1):
        doubling = double(value=each)
        again = double(value=doubling.outputs["doubled"]).with_id("again")

    outputs = run(tmp_path, *makers, doubling, again).outputs

    assert read(outputs["double"]["doubled"]) == [4]
    assert read(outputs["again"]["doubled"]) == [8]
    assert "again (1 of 2) skipped: condition " in capfd.readouterr().err


def test_a_parameter_may_be_what_each_round_reads(tmp_path):
    makers, channel = numbers(1, 2)
    with ForEach(channel) as each:
        doubling = double(value=each.future()[0].value)

    assert read(run(tmp_path, *makers, doubling).outputs["double"]["doubled"]) == [2, 4]


def test_a_loop_over_nothing_runs_nothing(tmp_path, capfd):
    makers, channel = numbers(1)
    with Cond(channel.channels[0].future()[0].value > 5):
        skipped = double(value=channel)
    with ForEach(skipped.outputs["doubled"]) as each:
        again = double(value=each).with_id("again")
    with ForEach(Channel(Integer, output_key="none")) as each:
        never = double(value=each).with_id("never")

    outputs = run(tmp_path, *makers, skipped, again, never).outputs

    assert outputs["again"] == outputs["never"] == {}
    said = capfd.readouterr().err
    assert "again skipped: double was skipped" in said
    assert "never skipped: there is nothing in Channel(Integer)" in said


def test_each_round_is_reused_by_itself(tmp_path):
    def steps(*values):
        makers, channel = numbers(*values)
        with ForEach(channel) as each:
            return [*makers, double(value=each)]

    run(tmp_path, *steps(1, 2), enable_cache=True)
    later = run(tmp_path, *steps(2, 3), enable_cache=True)

    with Store(Pipeline("loop", str(tmp_path)).store_config(str(tmp_path))) as store:
        doubled = store.executions(pipeline_name="loop", run_id=later.id, node_id="double")
    states = [one.state.name for one in doubled]
    assert states == ["CACHED", "COMPLETE"]
    assert read(later.outputs["double"]["doubled"]) == [4, 6]


def test_what_a_round_reads_is_not_to_be_read_outside_of_the_loop():
    with ForEach(Channel(Integer)) as each:
        pass

    with pytest.raises(ValueError, match=r"double reads each Integer of .* inside `with ForEach"):
        double(value=each)
    with pytest.raises(ValueError, match="ForEach takes a channel"):
        ForEach([1, 2])


@component
def rate(score: OutputArtifact[Integer.annotate_as(Metrics)]):
    score.value = 5


def test_a_value_with_a_base_type_is_read_as_a_value(tmp_path):
    rating = rate()
    with ForEach(rating.outputs["score"]) as each:
        doubling = double(value=each)

    outputs = run(tmp_path, rating, doubling).outputs

    assert rating.outputs["score"].type_name == "Integer_Metrics"
    assert read(outputs["double"]["doubled"]) == [10]


@component
def read_one(examples: InputArtifact[Examples]) -> OutputDict(uri=str):
    return {"uri": examples.uri}


@component
def make(examples: OutputArtifact[Examples]):
    examples.span = 1


def test_several_artifacts_for_one_argument_are_told_of_loops(tmp_path):
    makers = [make().with_id(f"make{i}") for i in range(2)]
    reading = read_one(examples=union([one.outputs["examples"] for one in makers]))

    with pytest.raises(StepFailed, match=r"got 2 artifacts. .* `with ForEach\(…\) as each:`"):
        run(tmp_path, *makers, reading)
