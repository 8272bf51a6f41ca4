# SPDX-License-Identifier: Apache-2.0
"""Conditions: what a pipeline may ask, and what runs when the answer is no."""

from pathlib import Path

import pytest

from stoker.artifacts import Artifact, Examples
from stoker.cli.lookup import run_state
from stoker.dsl import (
    Channel,
    Cond,
    InputArtifact,
    OutputArtifact,
    OutputDict,
    Parameter,
    Pipeline,
    component,
    logical_and,
    logical_not,
    logical_or,
)
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.metadata.records import ExecutionState
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner


class Grade(Artifact):
    TYPE_NAME = "Grade"


@component
def judge(grade: OutputArtifact[Grade]) -> OutputDict(points=int, facts=dict[str, float]):
    Path(grade.uri, "grade").touch()
    grade.set_int_custom_property("blessed", 1)
    grade.set_string_custom_property("name", "good")
    return {"points": 7, "facts": {"accuracy": 0.75}}


@component
def push(grade: InputArtifact[Grade] = None) -> OutputDict(pushed=bool):
    return {"pushed": grade is not None}


@component
def tell(pushed: bool) -> OutputDict(told=bool):
    return {"told": pushed}


@component
def mark(limit: Parameter[int]) -> OutputDict(over=int):
    return {"over": limit + 1}


def run(tmp_path, *steps):
    pipeline = Pipeline("school", str(tmp_path), components=steps)
    return LocalDagRunner(InProcess()).run(pipeline)


@pytest.mark.parametrize(
    ("question", "runs"),
    [
        (lambda out: out["grade"].future()[0].custom_property("blessed") == 1, True),
        (lambda out: out["grade"].future()[0].custom_property("blessed") != 1, False),
        (lambda out: out["grade"].future().custom_property("name") == "good", True),
        (lambda out: out["points"].future()[0].value > 6, True),
        (lambda out: out["points"].future()[0].value >= 8, False),
        (lambda out: out["points"].future().value < 7, False),
        (lambda out: out["points"].future().value <= 7, True),
        (lambda out: out["facts"].future()[0].value["accuracy"] > 0.7, True),
        (lambda out: out["points"].future()[0].value == out["points"].future()[0].value, True),
        (lambda out: out["grade"].future()[0].uri == "/elsewhere", False),
    ],
)
def test_a_step_runs_only_if_its_condition_holds(tmp_path, question, runs):
    judging = judge()
    with Cond(question(judging.outputs)):
        pushing = push()

    outputs = run(tmp_path, judging, pushing).outputs["push"]

    assert bool(outputs) == runs


def test_conditions_are_combined_by_and_or_and_not(tmp_path):
    judging = judge()
    points = judging.outputs["points"].future()[0].value
    yes, no = points > 0, points > 100
    truths = {
        logical_and(yes, no): False,
        logical_and(yes, yes): True,
        logical_or(no, yes): True,
        logical_or(no, no): False,
        logical_not(no): True,
        logical_not(logical_or(yes, no)): False,
    }
    steps = []
    for number, condition in enumerate(truths):
        with Cond(condition):
            steps.append(push().with_id(f"push_{number}"))

    outputs = run(tmp_path, judging, *steps).outputs

    assert [bool(outputs[step.id]) for step in steps] == list(truths.values())


def test_a_condition_inside_another_needs_both(tmp_path):
    judging = judge()
    points = judging.outputs["points"].future()[0].value
    with Cond(points > 0):
        first = push().with_id("first")
        with Cond(points > 100):
            second = push().with_id("second")
    last = push().with_id("last")

    outputs = run(tmp_path, judging, first, second, last).outputs

    assert [bool(outputs[name]) for name in ("first", "second", "last")] == [True, False, True]


def test_a_step_waits_for_what_its_condition_asks_about(tmp_path):
    judging = judge()
    with Cond(judging.outputs["points"].future()[0].value > 0):
        pushing = push()

    assert Pipeline("school", str(tmp_path), components=[pushing, judging]).components == [
        judging,
        pushing,
    ]


def test_a_parameter_may_wait_for_what_another_step_publishes(tmp_path):
    judging = judge()
    marking = mark(limit=judging.outputs["points"].future()[0].value)
    misled = mark(limit=judging.outputs["facts"].future()[0].value).with_id("misled")

    (over,) = run(tmp_path, marking, judging).outputs["mark"]["over"]

    assert over.read() == 8
    with pytest.raises(StepFailed, match=r"misled: .* 'limit' takes int, got \{'accuracy': 0.75\}"):
        run(tmp_path, judging, misled)


def test_what_needs_a_step_that_was_not_run_is_not_run_either(tmp_path, capfd):
    judging = judge()
    with Cond(judging.outputs["points"].future()[0].value > 100):
        pushing = push()
    telling = tell(pushed=pushing.outputs["pushed"])
    with Cond(pushing.outputs["pushed"].future()[0].value == True):  # noqa: E712
        celebrating = push().with_id("celebrate")

    run(tmp_path, judging, pushing, telling, celebrating)

    said = capfd.readouterr()
    lines = said.out + said.err
    assert "push skipped: condition judge.outputs['points'][0].value > 100 is false" in lines
    assert "tell skipped: its input 'pushed' comes from push, which was skipped" in lines
    assert "celebrate skipped: push was skipped" in lines


def test_an_optional_input_from_a_step_that_was_not_run_is_just_empty(tmp_path):
    first = judge().with_id("first")
    with Cond(first.outputs["points"].future()[0].value > 100):
        second = judge().with_id("second")
    pushing = push(grade=second.outputs["grade"])

    (pushed,) = run(tmp_path, first, second, pushing).outputs["push"]["pushed"]

    assert pushed.read() is False


def test_a_step_that_was_not_run_is_recorded_with_the_reason(tmp_path):
    judging = judge()
    with Cond(judging.outputs["points"].future()[0].value > 100):
        pushing = push()

    run(tmp_path, judging, pushing)

    with Store(Pipeline("school", str(tmp_path)).store_config(str(tmp_path))) as store:
        (execution,) = store.executions(pipeline_name="school", node_id="push")
        assert run_state(store.runs()[0]) == "complete"
    assert execution.state == ExecutionState.CANCELED
    assert execution.standing == "skipped"
    assert execution.error == (
        "Skipped: condition judge.outputs['points'][0].value > 100 is false."
    )


def test_a_condition_on_an_empty_channel_does_not_hold(tmp_path, capfd):
    nothing = Channel(Grade)
    with Cond(nothing.future()[0].custom_property("blessed") == 1):
        pushing = push()

    assert run(tmp_path, pushing).outputs["push"] == {}
    said = capfd.readouterr()
    assert "push skipped: there is no Grade in Channel(Grade)" in said.out + said.err


def test_a_property_that_is_not_there_is_an_error_that_lists_those_that_are(tmp_path):
    judging = judge()
    with Cond(judging.outputs["grade"].future()[0].custom_property("blest") == 1):
        pushing = push()

    with pytest.raises(StepFailed, match=r"has no property 'blest'; it has blessed, .*name"):
        run(tmp_path, judging, pushing)


def test_a_value_of_what_has_none_is_an_error(tmp_path):
    judging = judge()
    with Cond(judging.outputs["grade"].future()[0].value == 1):
        pushing = push()

    with pytest.raises(StepFailed, match=r"\[0\] is a Grade, without a value"):
        run(tmp_path, judging, pushing)


def test_python_words_for_conditions_are_told_what_to_use():
    predicate = Channel(Examples).future()[0].property("span") > 1

    with pytest.raises(TypeError, match="logical_and, logical_or and logical_not"):
        bool(predicate)
    with pytest.raises(TypeError, match="with Cond"):
        assert not predicate
    with pytest.raises(TypeError, match="Cond takes a comparison"):
        Cond(True)
    with pytest.raises(TypeError, match="not iterable"):
        list(Channel(Examples).future())


def test_a_step_outside_the_block_has_no_condition():
    with pytest.raises(ZeroDivisionError), Cond(Channel(Examples).future()[0].uri == ""):
        raise ZeroDivisionError

    assert push().conditions == ()
