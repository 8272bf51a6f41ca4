# SPDX-License-Identifier: Apache-2.0
import pytest

from stoker.artifacts import Examples, HyperParameters, Model, Schema, TransformGraph, TunerResults
from stoker.components.tuner.component import Tuner
from stoker.dsl import Channel, RuntimeParameter
from stoker.dsl.proto.trainer_pb2 import EvalArgs, TrainArgs
from stoker.dsl.proto.tuner_pb2 import TuneArgs

EXAMPLES = Channel(type=Examples)


def test_a_tuner_gives_the_best_hyperparameters_and_its_results():
    tuner = Tuner(examples=EXAMPLES, module_file="module.py")
    assert tuner.outputs["best_hyperparameters"].type is HyperParameters
    assert tuner.outputs["tuner_results"].type is TunerResults


def test_the_arguments_have_the_order_of_tfx():
    tuner = Tuner(
        EXAMPLES,
        Channel(type=Schema),
        Channel(type=TransformGraph),
        Channel(type=Model),
        None,
        "package.module.tuner_fn",
        TrainArgs(num_steps=10),
        EvalArgs(num_steps=5),
        TuneArgs(num_parallel_trials=3),
        {"key": "value"},
    )
    assert list(tuner.inputs) == ["examples", "schema", "transform_graph", "base_model"]
    assert tuner.exec_properties["tuner_fn"] == "package.module.tuner_fn"
    assert tuner.exec_properties["custom_config"] == '{"key": "value"}'
    assert '"num_parallel_trials": 3' in tuner.exec_properties["tune_args"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"module_file": "module.py", "tuner_fn": "module.tuner_fn"},
            "got module_file and tuner_fn",
        ),
        ({}, "got none of them"),
        ({"module_file": "m.py", "keras": 4}, "takes 2 or 3, got 4"),
        ({"module_file": "m.py", "custom_config": {"key": object()}}, "what JSON can say"),
        (
            {"module_file": "m.py", "tune_args": TuneArgs(num_parallel_trials=-1)},
            "num_parallel_trials must be at least 1, got -1",
        ),
    ],
    ids=["both", "neither", "keras", "config", "parallel"],
)
def test_bad_arguments_are_refused(given, told):
    with pytest.raises(ValueError, match=told):
        Tuner(examples=EXAMPLES, **given)


def test_the_number_of_parallel_trials_may_be_given_at_run_time():
    parameter = RuntimeParameter("parallel", int, default=2)
    tuner = Tuner(
        examples=EXAMPLES, module_file="m.py", tune_args={"num_parallel_trials": parameter}
    )
    assert '"num_parallel_trials": 4' in tuner.spec.values({"parallel": 4})["tune_args"]


@pytest.mark.parametrize(
    ("given", "module_file", "module"),
    [
        ({"module_file": "m.py"}, "m.py", None),
        ({"tuner_fn": "package.m.tuner_fn"}, None, "package.m"),
    ],
    ids=["file", "function"],
)
def test_the_users_code_is_known_before_the_step_runs(given, module_file, module):
    tuner = Tuner(examples=EXAMPLES, keras=3, **given)
    code = tuner.user_code(tuner.spec.values({}))
    assert (code.module_file, code.module, code.keras) == (module_file, module, 3)
