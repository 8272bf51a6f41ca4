# SPDX-License-Identifier: Apache-2.0
"""Partial runs, steps that wait for a person, and retries."""

import pytest

from stoker.components.manual_node import ManualNode
from stoker.dsl import OutputDict, Parameter, Pipeline, component
from stoker.dsl.partial_run import PartialRun
from stoker.errors import StepFailed, StokerError
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner

pytestmark = pytest.mark.slow


@component
def first(value: Parameter[int]) -> OutputDict(out=int):
    return {"out": value}


@component
def second(value: int) -> OutputDict(out=int):
    return {"out": value + 1}


@component
def third(value: int) -> OutputDict(out=int):
    return {"out": value + 1}


def create_pipeline(tmp_path, value=1, **options):
    one = first(value=value)
    two = second(value=one.outputs["out"])
    three = third(value=two.outputs["out"])
    return Pipeline("partial", str(tmp_path), components=[one, two, three], **options)


def run(pipeline, *arguments, **options):
    run = LocalDagRunner(InProcess()).run(pipeline, *arguments, **options)
    return run, {
        node_id: artifact.read()
        for node_id, outputs in run.outputs.items()
        for artifact in outputs["out"]
    }


def test_a_partial_run_reads_what_an_earlier_run_has_published(tmp_path, capfd):
    run(create_pipeline(tmp_path))

    _, values = run(create_pipeline(tmp_path, value=100), PartialRun(from_nodes=["second"]))

    assert values == {"first": 1, "second": 2, "third": 3}
    assert "[1/3] first taken from an earlier run in" in capfd.readouterr().err


def test_a_partial_run_ends_where_it_is_told_to(tmp_path):
    options = PartialRun(to_nodes=["second"])

    _, values = run(create_pipeline(tmp_path), run_options=options)

    assert values == {"first": 1, "second": 2}


def test_the_pipeline_itself_may_say_which_steps_are_run(tmp_path):
    run(create_pipeline(tmp_path))

    only = PartialRun(from_nodes={"second"}, to_nodes={"second"})
    _, values = run(create_pipeline(tmp_path, value=100, run_options=only))

    assert values == {"first": 1, "second": 2}


def test_a_partial_run_may_name_the_run_that_it_reads_from(tmp_path):
    base, _ = run(create_pipeline(tmp_path, value=1))
    run(create_pipeline(tmp_path, value=50))

    options = PartialRun(from_nodes=["second"], base_pipeline_run_id=base.id)
    _, values = run(create_pipeline(tmp_path, value=100), options)

    assert values["third"] == 3


def test_a_partial_run_without_what_it_needs_is_refused_before_it_starts(tmp_path):
    pipeline = create_pipeline(tmp_path)

    with pytest.raises(StokerError, match="first is not part of this run, and an earlier run has"):
        run(pipeline, PartialRun(from_nodes=["second"]))
    with pytest.raises(ValueError, match="the pipeline has no step 'fourth'; it has first, second"):
        run(pipeline, PartialRun(from_nodes=["fourth"]))
    with pytest.raises(ValueError, match="both are empty"):
        PartialRun()


def create_watched_pipeline(tmp_path):
    one = first(value=1)
    look = ManualNode(description="Look at the number.")
    last = second(value=one.outputs["out"])
    look.add_upstream_node(one)
    look.add_downstream_node(last)
    return Pipeline("watched", str(tmp_path), components=[one, look, last], enable_cache=True)


def test_a_run_ends_at_a_manual_node_that_nobody_has_done(tmp_path):
    with pytest.raises(StepFailed) as raised:
        run(create_watched_pipeline(tmp_path))

    assert str(raised.value) == (
        "ManualNode is not done: Look at the number. Then run the pipeline with "
        "LocalDagRunner().run(pipeline, done=['ManualNode']) or stoker run --done ManualNode; with "
        "enable_cache=True, the steps before it are not run again."
    )


def test_a_run_goes_on_after_a_manual_node_that_is_done(tmp_path):
    pipeline = create_watched_pipeline(tmp_path)

    run = LocalDagRunner(InProcess()).run(pipeline, done=["ManualNode"])

    assert run.outputs["second"]["out"][0].read() == 2
    with pytest.raises(ValueError, match="has no step 'Look' to be done"):
        LocalDagRunner(InProcess()).run(pipeline, done=["Look"])


@pytest.mark.parametrize(("answer", "goes_on"), [("yes\n", True), ("no\n", False), ("", False)])
def test_in_a_terminal_a_manual_node_asks(tmp_path, monkeypatch, capfd, answer, goes_on):
    class Terminal:
        def isatty(self):
            return True

        def readline(self):
            return answer

    monkeypatch.setattr("sys.stdin", Terminal())
    pipeline = create_watched_pipeline(tmp_path)

    if goes_on:
        LocalDagRunner(InProcess()).run(pipeline)
    else:
        with pytest.raises(StepFailed, match="is not done"):
            LocalDagRunner(InProcess()).run(pipeline)

    assert "ManualNode waits for you: Look at the number." in capfd.readouterr().err
