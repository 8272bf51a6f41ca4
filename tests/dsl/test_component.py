import json

import pytest

from stoker.artifacts import Examples, Model, Schema
from stoker.dsl import (
    BaseComponent,
    BaseExecutor,
    Channel,
    ChannelParameter,
    ComponentSpec,
    ExecutionParameter,
    ExecutorClassSpec,
    RuntimeParameter,
    as_channel,
    union,
)
from stoker.dsl.executor import BaseDriver
from stoker.dsl.proto.trainer_pb2 import EvalArgs, TrainArgs
from stoker.errors import MissingPart
from stoker.stand_ins.tfx.pipeline_options import NodeExecutionOptions


class FitSpec(ComponentSpec):
    INPUTS = {
        "examples": ChannelParameter(type=Examples),
        "schema": ChannelParameter(type=Schema, optional=True),
    }
    OUTPUTS = {"model": ChannelParameter(type=Model)}
    PARAMETERS = {
        "args": ExecutionParameter(type=TrainArgs),
        "rate": ExecutionParameter(type=float, optional=True),
        "run_fn": ExecutionParameter(type=str, optional=True),
    }


class FitExecutor(BaseExecutor):
    def Do(self, input_dict, output_dict, exec_properties): ...


class Fit(BaseComponent):
    SPEC_CLASS = FitSpec
    EXECUTOR_SPEC = ExecutorClassSpec(FitExecutor)

    def __init__(self, **given):
        super().__init__(FitSpec(**given))


@pytest.fixture
def examples():
    return as_channel([Examples()])


def test_a_component_has_the_outputs_of_its_table(examples):
    fit = Fit(examples=examples, args=TrainArgs(num_steps=3))
    assert fit.outputs["model"].type is Model
    assert fit.outputs.model is fit.outputs["model"]


def test_a_message_travels_as_json_text(examples):
    fit = Fit(examples=examples, args=TrainArgs(num_steps=3, splits=["train"]))
    assert json.loads(fit.exec_properties["args"]) == {"num_steps": 3, "splits": ["train"]}


def test_a_dict_stands_for_a_message_and_may_hold_runtime_parameters(examples):
    steps = RuntimeParameter(name="steps", ptype=int)
    fit = Fit(examples=examples, args={"num_steps": steps, "splits": "train"})
    args = json.loads(fit.spec.values({"steps": 5})["args"])
    assert args == {"num_steps": 5, "splits": ["train"]}


def test_a_message_is_encoded_once_when_it_is_declared(examples):
    fit = Fit(examples=examples, args={"num_steps": 3})
    assert fit.spec.values({})["args"] is fit.exec_properties["args"]


def test_a_table_takes_the_arguments_of_a_constructor_by_name(examples):
    arguments = {"self": None, "examples": examples, "args": {"num_steps": 3}, "rate": 0.5}
    spec = FitSpec.from_arguments(arguments, rate=1.5)
    assert spec.inputs["examples"] is examples
    assert spec.exec_properties["rate"] == 1.5
    assert json.loads(spec.exec_properties["args"]) == {"num_steps": 3}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "needs an input channel for 'examples'"),
        ({"examples": "data/"}, "'examples' takes a channel"),
        ({"examples": Channel(Model)}, "'examples' takes Examples"),
        ({"exampels": 1}, r"no argument 'exampels'\. Did you mean 'examples'\? It takes args"),
        ({"rate": "fast"}, "'rate' takes float, got 'fast'"),
        ({"run_fn": len}, "'run_fn' takes a function's name.*'package.module.run_fn'.*module_file"),
        ({"args": EvalArgs()}, "takes TrainArgs, got EvalArgs"),
        ({"args": {"steps": 1}}, "is not a TrainArgs"),
    ],
)
def test_wrong_arguments_are_named(examples, given, message):
    arguments = {"examples": examples, "args": TrainArgs(), **given}
    if not given:
        del arguments["examples"]
    with pytest.raises((TypeError, ValueError), match=message):
        Fit(**arguments)


def test_a_wrong_output_key_is_told_the_right_ones(examples):
    fit = Fit(examples=examples, args=TrainArgs())
    with pytest.raises(KeyError, match="there is no 'models' here; there is 'model'"):
        fit.outputs["models"]


def test_a_component_in_a_function_cannot_be_found_by_a_worker(examples):
    class Hidden(FitExecutor): ...

    with pytest.raises(ValueError, match="Move it to the top level"):
        ExecutorClassSpec(Hidden).class_path  # noqa: B018


def test_channels_of_one_type_can_be_read_as_one(examples):
    assert len(union([examples, Channel(Examples)]).parts) == 2
    with pytest.raises(ValueError, match="one type"):
        union([examples, Channel(Model)])


def test_a_channel_takes_what_tfx_took_in_its_first_years():
    assert Channel(type=Model, matching_channel_name="examples").type is Model


def test_a_name_is_used_once_in_a_table():
    with pytest.raises(ValueError, match="Twice has 'examples' twice"):
        type("TwiceSpec", (FitSpec,), {"OUTPUTS": FitSpec.INPUTS})


def test_a_component_with_a_driver_of_its_own_says_what_to_do():
    class Driver(BaseDriver): ...

    class Driven(Fit):
        DRIVER_CLASS = Driver

    with pytest.raises(MissingPart) as raised:
        Driven(examples=Channel(Examples), args=TrainArgs())

    assert str(raised.value) == (
        "Driven has the driver Driver, and there are no drivers here. Put what it does into the "
        "executor's Do(), or into a step before."
    )


def test_what_orchestrators_are_told_is_kept_and_retries_count():
    fit = Fit(examples=Channel(Examples), args=TrainArgs())

    step = fit.with_platform_config("gpu").with_node_execution_options(
        NodeExecutionOptions(max_execution_retries=2)
    )

    assert (step.platform_config, step.retries) == ("gpu", 2)


def test_nodes_know_those_before_and_after_them_at_once():
    first, second = (
        Fit(examples=Channel(Examples), args=TrainArgs()).with_id(name)
        for name in ("first", "second")
    )

    first.add_downstream_node(second)
    assert (second.upstream_nodes, first.downstream_nodes) == ([first], [second])

    second.remove_upstream_node(first)
    assert (second.upstream_nodes, first.downstream_nodes) == ([], [])
