# SPDX-License-Identifier: Apache-2.0
"""Pipelines as components of other pipelines."""

import pytest

from stoker.dsl import Cond, ForEach, OutputDict, Pipeline, PipelineInputs, component
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner


@component
def number(value: int = 1) -> OutputDict(number=int):
    return {"number": value}


@component
def double(value: int) -> OutputDict(doubled=int):
    return {"doubled": value * 2}


def doubling_pipeline(channel, name="inner"):
    inputs = PipelineInputs({"number": channel})
    first = double(value=inputs.inputs["number"])
    second = double(value=first.outputs["doubled"]).with_id("again")
    return Pipeline(
        pipeline_name=name,
        components=[second, first],
        inputs=inputs,
        outputs={"doubled": second.outputs["doubled"]},
    )


def run(tmp_path, *components):
    pipeline = Pipeline("outer", str(tmp_path), components=components)
    return LocalDagRunner(InProcess()).run(pipeline).outputs


def read(artifacts):
    return [artifact.read() for artifact in artifacts]


def test_the_steps_of_an_inner_pipeline_run_with_the_others(tmp_path):
    start = number()
    inner = doubling_pipeline(start.outputs["number"])
    end = double(value=inner.outputs["doubled"]).with_id("end")

    outputs = run(tmp_path, end, inner, start)

    assert list(outputs) == ["number", "inner.double", "inner.again", "end"]
    assert read(outputs["end"]["doubled"]) == [8]
    assert (tmp_path / "inner.again" / "doubled").is_dir()


def test_one_pipeline_may_be_inside_another_twice_under_two_names(tmp_path):
    start = number()
    inputs = PipelineInputs({"number": start.outputs["number"]})
    left = doubling_pipeline(inputs["number"], "left")
    right = doubling_pipeline(left.outputs["doubled"], "right")
    both = Pipeline("both", components=[left, right], inputs=inputs)

    outputs = run(tmp_path, start, both)

    assert read(outputs["both.right.again"]["doubled"]) == [16]


def test_an_inner_pipeline_has_the_conditions_and_loops_around_it(tmp_path):
    start = number(value=5)
    with Cond(start.outputs["number"].future()[0].value > 9):
        never = doubling_pipeline(start.outputs["number"], "never")
    with ForEach(start.outputs["number"]) as each:
        looped = doubling_pipeline(each, "looped")

    outputs = run(tmp_path, start, never, looped)

    assert outputs["never.double"] == outputs["never.again"] == {}
    assert read(outputs["looped.again"]["doubled"]) == [20]


def test_a_step_waits_for_a_whole_pipeline_and_a_pipeline_for_a_step(tmp_path):
    start, before, after = number(), number().with_id("before"), number().with_id("after")
    inner = doubling_pipeline(start.outputs["number"])
    inner.add_upstream_node(before)
    after.add_upstream_node(inner)

    outputs = run(tmp_path, after, inner, start, before)

    assert list(outputs) == ["number", "before", "inner.double", "inner.again", "after"]
    assert {node.id for node in before.downstream_nodes} == {"inner.double", "inner.again"}


def test_an_inner_pipeline_by_itself_is_told_what_it_needs(tmp_path):
    inner = doubling_pipeline(number().outputs["number"])

    with pytest.raises(ValueError, match="double needs number, which is not in the pipeline"):
        LocalDagRunner(InProcess()).run(inner)
    with pytest.raises(ValueError, match="not in the pipeline"):
        Pipeline("outer", str(tmp_path), components=[inner])
    with pytest.raises(KeyError, match="there is no 'model' here; there is 'number'"):
        inner.inputs["model"]
