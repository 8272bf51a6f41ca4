import pytest

from stoker.artifacts import Examples, Model
from stoker.dsl import (
    BaseExecutor,
    InputArtifact,
    OutputArtifact,
    Pipeline,
    component,
)


@component
def read(examples: OutputArtifact[Examples]): ...


@component
def fit(examples: InputArtifact[Examples], model: OutputArtifact[Model]): ...


@component
def push(model: InputArtifact[Model]): ...


@component
def find_before(model: OutputArtifact[Model]): ...


@component
def compare(model: InputArtifact[Model], baseline: InputArtifact[Model] = None): ...


class Executor(BaseExecutor):
    def Do(self, input_dict, output_dict, exec_properties): ...


def steps():
    reading = read()
    fitting = fit(examples=reading.outputs["examples"])
    return reading, fitting, push(model=fitting.outputs["model"])


def test_order_comes_from_the_data_flow():
    reading, fitting, pushing = steps()
    pipeline = Pipeline("p", "root", components=[pushing, fitting, reading])
    assert [node.id for node in pipeline.components] == ["read", "fit", "push"]


def test_steps_without_data_between_them_can_be_ordered():
    first, second = read(), read().with_id("second")
    first.add_upstream_node(second)
    assert Pipeline("p", "root", components=[first, second]).components == [second, first]


def test_otherwise_steps_keep_their_order():
    nodes = [read().with_id(name) for name in "cab"]
    assert Pipeline("p", "root", components=nodes).components == nodes


def test_a_cycle_is_shown():
    reading, fitting, pushing = steps()
    reading.add_upstream_node(pushing)
    with pytest.raises(ValueError, match=r"wait for each other: .*read.* -> .*"):
        Pipeline("p", "root", components=[reading, fitting, pushing])


def test_two_steps_of_one_name_are_refused():
    with pytest.raises(ValueError, match=r"with_id\('read_2'\)"):
        Pipeline("p", "root", components=[read(), read()])


def test_a_step_that_was_left_out_is_named():
    _, fitting, pushing = steps()
    with pytest.raises(ValueError, match="fit needs read, which is not in the pipeline"):
        Pipeline("p", "root", components=[fitting, pushing])


def test_a_step_goes_on_without_a_forgotten_one_whose_output_is_optional():
    """As in TFX: pipelines forget the Resolver that Evaluator's baseline_model comes from."""
    reading, fitting, _ = steps()
    comparing = compare(model=fitting.outputs["model"], baseline=find_before().outputs["model"])
    with pytest.warns(UserWarning, match="compare gets nothing from find_before, which is not in"):
        pipeline = Pipeline("p", "root", components=[comparing, fitting, reading])
    assert pipeline.components == [reading, fitting, comparing]


def test_a_forgotten_step_that_another_waits_for_is_named():
    reading, fitting, _ = steps()
    comparing = compare(model=fitting.outputs["model"])
    comparing.add_upstream_node(find_before())
    with pytest.raises(ValueError, match="compare needs find_before, which is not in"):
        Pipeline("p", "root", components=[reading, fitting, comparing])


def test_an_unknown_argument_is_told_and_those_of_other_orchestrators_are_not():
    Pipeline("p", "root", platform_config=None, execution_mode=1)
    with pytest.warns(UserWarning, match="'eam_pipeline_args', which is ignored"):
        Pipeline("p", "root", eam_pipeline_args=[])
