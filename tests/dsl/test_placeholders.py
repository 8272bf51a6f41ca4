# SPDX-License-Identifier: Apache-2.0
"""Placeholders: what a parameter may be made of, and what it is when the step runs."""

import base64
import json
from typing import Any

import pytest

from stoker.artifacts import Examples
from stoker.dsl import (
    BaseComponent,
    BaseExecutor,
    Channel,
    ChannelParameter,
    ComponentSpec,
    Cond,
    ExecutionParameter,
    ExecutorClassSpec,
    OutputArtifact,
    OutputDict,
    Parameter,
    Pipeline,
    component,
)
from stoker.dsl import placeholders as ph
from stoker.dsl.proto.pusher_pb2 import PushDestination
from stoker.dsl.proto.trainer_pb2 import EvalArgs, TrainArgs
from stoker.errors import StepFailed
from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner


@component
def measure(examples: OutputArtifact[Examples]) -> OutputDict(rows=int, names=list, scores=dict):
    examples.span = 3
    examples.split_names = '["train"]'
    return {"rows": 7, "names": ["a", "b"], "scores": {"auc": 0.5}}


class SeenExecutor(BaseExecutor):
    seen: Any = None

    def Do(self, input_dict, output_dict, exec_properties):
        SeenExecutor.seen = exec_properties


class SeenSpec(ComponentSpec):
    PARAMETERS = {
        "given": ExecutionParameter(type=Any),
        "name": ExecutionParameter(type=str, optional=True),
        "train_args": ExecutionParameter(type=TrainArgs, optional=True),
        "eval_args": ExecutionParameter(type=EvalArgs, optional=True, use_proto=True),
    }
    INPUTS = {"examples": ChannelParameter(type=Examples, optional=True)}
    OUTPUTS = {"report": ChannelParameter(type=Examples)}


class See(BaseComponent):
    SPEC_CLASS = SeenSpec
    EXECUTOR_SPEC = ExecutorClassSpec(SeenExecutor)

    def __init__(self, **given):
        super().__init__(SeenSpec(**given))


def see(tmp_path, given, **others):
    """What a step is given for its parameter."""
    measuring = measure()
    value = given(measuring.outputs) if callable(given) else given
    step = See(given=value, examples=measuring.outputs["examples"], **others)
    pipeline = Pipeline(
        "seen",
        str(tmp_path),
        components=[measuring, step.with_platform_config(TrainArgs(num_steps=4))],
        enable_cache=True,
    )
    LocalDagRunner(InProcess()).run(pipeline)
    return SeenExecutor.seen["given"]


def list_cases(out):
    """Placeholders, and what each is when the step runs."""
    rows, names = out["rows"].future()[0].value, out["names"].future()[0].value
    return [
        (rows, 7),
        (names[1], "b"),
        (out["scores"].future().value["auc"], 0.5),
        (out["examples"].future()[0].property("span"), 3),
        ("n=" + rows, "n=7"),
        (rows + "/" + ph.exec_property("name"), "7/me"),
        (ph.join(["a", rows, "c"], "-"), "a-7-c"),
        (ph.join(["a", "b"]), "ab"),
        (ph.join([]), ""),
        (ph.join_path("/data", names[0], "x"), "/data/a/x"),
        (ph.make_list([1, rows]), [1, 7]),
        (ph.make_list([1]) + ph.make_list(["x"]), [1, "x"]),
        (ph.make_dict({"rows": rows, "no": None}), {"rows": 7}),
        (ph.make_dict([(names[0], 1)]), {"a": 1}),
        ({"deep": [rows]}, {"deep": [7]}),
        (ph.exec_property("train_args").num_steps, 5),
        (ph.exec_property("train_args").splits, ["train"]),
        (ph.exec_property("train_args").splits[0], "train"),
        (ph.exec_property("name").b64encode(), base64.b64encode(b"me").decode()),
        (ph.input("examples")[0].property("span"), 3),
        (ph.environment_variable("STOKER_TEST_COLOUR") + "!", "red!"),
        (ph.runtime_info("platform_config").num_steps, 4),
        (ph.execution_invocation().pipeline_info.id, "seen"),
        (ph.execution_invocation().pipeline_node.node_info.id, "See"),
        (ph.make_list(["a", 2]).serialize_list(ph.ListSerializationFormat.JSON), '["a", 2]'),
        (
            ph.make_list(["a", 2]).serialize_list(ph.ListSerializationFormat.COMMA_SEPARATED_STR),
            '"a",2',
        ),
        (rows > 6, True),
    ]


def test_parameters_get_the_values_of_their_placeholders(tmp_path, monkeypatch):
    monkeypatch.setenv("STOKER_TEST_COLOUR", "red")
    expected = [value for _, value in list_cases(measure().outputs)]

    def given(outputs):
        return [placeholder for placeholder, _ in list_cases(outputs)]

    assert see(tmp_path, given, name="me", train_args=TrainArgs(splits=["train"], num_steps=5)) == (
        expected
    )


def test_paths_of_inputs_and_outputs_are_those_of_the_execution(tmp_path):
    examples, split, report = see(
        tmp_path,
        [
            ph.input("examples").uri,
            ph.input("examples")[0].split_uri("train"),
            ph.output("report")[0].uri + "/log",
        ],
    )

    assert examples == str(tmp_path / "measure" / "examples" / "1")
    assert split == examples + "/Split-train"
    assert report == str(tmp_path / "See" / "report" / "2" / "log")


def test_where_an_output_goes_does_not_keep_a_step_from_being_reused(tmp_path, capfd):
    for _ in range(2):
        see(tmp_path, ph.output("report").uri)

    assert "See cached" in capfd.readouterr().err


def test_the_number_of_the_run_is_known_and_that_of_the_execution_when_it_begins(tmp_path):
    run_id, execution_id = see(
        tmp_path,
        [ph.execution_invocation().pipeline_run_id, ph.execution_invocation().execution_id],
    )

    assert run_id
    assert execution_id == 2


def test_a_message_is_made_of_values_that_are_known_later(tmp_path):
    made = ph.make_proto(
        PushDestination(),
        filesystem=ph.make_proto(
            PushDestination.Filesystem(versioning=1),
            base_directory=ph.join_path("/models", ph.exec_property("name")),
        ),
    )

    as_json, as_text, directory = see(
        tmp_path,
        [
            made.serialize(ph.ProtoSerializationFormat.JSON),
            made.serialize(ph.ProtoSerializationFormat.TEXT_FORMAT),
            made.filesystem.base_directory,
        ],
        name="me",
    )

    assert json.loads(as_json)["filesystem"]["base_directory"] == "/models/me"
    assert 'base_directory: "/models/me"' in as_text
    assert directory == "/models/me"
    with pytest.raises(ValueError, match="has no field 'folder'; it has filesystem"):
        ph.make_proto(PushDestination(), folder="x")


def test_a_parameter_that_is_a_message_takes_one_that_is_made_later(tmp_path):
    steps = ph.make_proto(TrainArgs(), num_steps=ph.exec_property("given"))

    see(tmp_path, 3, train_args=steps, eval_args=EvalArgs(num_steps=4))

    assert json.loads(SeenExecutor.seen["train_args"]) == {"num_steps": 3}
    assert SeenExecutor.seen["eval_args"] == EvalArgs(num_steps=4)  # its table says use_proto


@component
def count(limit: int, word: Parameter[str] = "") -> OutputDict(over=int):
    return {"over": limit + len(word)}


def test_a_function_takes_placeholders_for_values_and_parameters(tmp_path):
    measuring = measure()
    rows = measuring.outputs["rows"].future()[0].value
    counting = count(limit=rows, word=measuring.outputs["names"].future()[0].value[0])

    pipeline = Pipeline("seen", str(tmp_path), components=[counting, measuring])
    (over,) = LocalDagRunner(InProcess()).run(pipeline).outputs["count"]["over"]

    assert over.read() == 8


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (ph.environment_variable("STOKER_TEST_NONE"), "STOKER_TEST_NONE is not set"),
        (ph.exec_property("nome"), r"no such parameter; there is name"),
        (ph.input("model").uri, r"the step has no such input; it has examples"),
        (ph.input("examples"), r"is a list of artifacts: ask for one's .uri"),
        (ph.input("examples")[0], r"is an artifact: ask for its .uri, .value or .property"),
        (ph.input("examples")[0].value, "is a Examples, without a value"),
        (ph.exec_property("name").num_steps, "has no field 'num_steps'; it is 'me'"),
        (ph.exec_property("name").serialize(ph.ProtoSerializationFormat.JSON), "takes a message"),
        (ph.exec_property("name")[5], "has no item 5"),
    ],
)
def test_what_has_no_value_says_so(given, message):
    facts = ph.Facts(inputs={"examples": [Examples()]}, parameters={"name": "me"})

    with pytest.raises(ValueError, match=message):
        ph.fill_in(given, facts)


def test_a_step_whose_parameter_has_no_value_fails(tmp_path):
    with pytest.raises(StepFailed, match=r"See: a parameter cannot be filled in: .*'nome'"):
        see(tmp_path, ph.exec_property("nome"))


def test_what_is_asked_for_wrongly_is_refused_when_it_is_declared():
    with pytest.raises(ValueError, match="runtime_info takes executor_spec"):
        ph.runtime_info("nothing")
    with pytest.raises(TypeError, match="known only when the pipeline runs"):
        bool(ph.exec_property("name"))
    with pytest.raises(TypeError, match="not iterable"):
        list(ph.exec_property("name"))


def test_a_condition_may_ask_about_more_than_channels(tmp_path, monkeypatch):
    monkeypatch.setenv("STOKER_TEST_COLOUR", "red")
    with Cond(ph.environment_variable("STOKER_TEST_COLOUR") == "blue"):
        step = count(limit=1)

    run = LocalDagRunner(InProcess()).run(Pipeline("seen", str(tmp_path), components=[step]))

    assert run.outputs["count"] == {}


def test_the_pipeline_root_and_flags_of_beam_may_be_known_later(tmp_path, monkeypatch):
    monkeypatch.setenv("STOKER_TEST_ROOT", str(tmp_path))
    root = ph.join_path(ph.environment_variable("STOKER_TEST_ROOT"), "root")
    step = See(given=1).with_beam_pipeline_args([ph.exec_property("given") + ""])

    run = LocalDagRunner(InProcess()).run(Pipeline("seen", root, components=[step]))

    assert run.pipeline_root == str(tmp_path / "root")


def test_an_optional_channel_may_be_empty_where_a_step_needs_one():
    channel = Channel(Examples)

    assert channel.as_optional().is_optional
    assert not channel.is_optional
    assert channel.no_trigger() is channel.trigger_by_property("span") is channel
