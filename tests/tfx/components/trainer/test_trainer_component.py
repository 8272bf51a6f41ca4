# SPDX-License-Identifier: Apache-2.0
import pytest
from tfx.components import Trainer
from tfx.components.trainer.executor import GenericExecutor
from tfx.dsl.components.base import executor_spec
from tfx.orchestration.data_types import RuntimeParameter
from tfx.proto import trainer_pb2
from tfx.types import Channel, standard_artifacts

EXAMPLES = Channel(type=standard_artifacts.Examples)
TRANSFORM_GRAPH = Channel(type=standard_artifacts.TransformGraph)
SCHEMA = Channel(type=standard_artifacts.Schema)
TRAIN_ARGS = trainer_pb2.TrainArgs(splits=["train"], num_steps=100)
EVAL_ARGS = trainer_pb2.EvalArgs(splits=["eval"], num_steps=50)


def trainer_with(**arguments) -> Trainer:
    return Trainer(**{"examples": EXAMPLES, "module_file": "/no/such/module.py", **arguments})


def test_outputs_are_a_model_and_a_model_run():
    outputs = trainer_with(train_args=TRAIN_ARGS, eval_args=EVAL_ARGS).outputs

    assert outputs["model"].type_name == "Model"
    assert outputs["model_run"].type_name == "ModelRun"


def test_train_and_eval_args_may_be_left_out():
    assert "train_args" not in trainer_with().exec_properties


def test_the_module_file_is_kept_as_given_though_it_does_not_exist():
    assert trainer_with().exec_properties["module_file"] == "/no/such/module.py"


def test_the_custom_config_is_kept_as_json_text():
    assert trainer_with(custom_config={"test": 10}).exec_properties["custom_config"] == (
        '{"test": 10}'
    )


def test_no_custom_config_is_null_in_json():
    assert trainer_with().exec_properties["custom_config"] == "null"


@pytest.mark.parametrize("name", ["module_file", "train_args", "eval_args", "custom_config"])
def test_an_argument_may_be_a_runtime_parameter(name):
    parameter = RuntimeParameter(name="given-later", ptype=str)

    assert trainer_with(**{name: parameter}).exec_properties[name] is parameter


def test_args_may_be_dicts_that_hold_runtime_parameters():
    steps = RuntimeParameter(name="steps", ptype=int)
    split = RuntimeParameter(name="split", ptype=str)
    trainer = trainer_with(train_args={"splits": [split], "num_steps": steps})

    assert trainer.spec.values({"split": "all", "steps": 7})["train_args"] == (
        '{\n  "num_steps": 7,\n  "splits": [\n    "all"\n  ]\n}'
    )


def test_args_may_be_dicts_with_a_runtime_parameter_for_all_splits():
    splits = RuntimeParameter(name="splits", ptype=str)
    trainer = trainer_with(eval_args={"splits": splits, "num_steps": 5})

    assert '"holdout"' in trainer.spec.values({"splits": "holdout"})["eval_args"]


def test_the_custom_config_may_hold_runtime_parameters():
    trainer = trainer_with(custom_config={"rate": RuntimeParameter(name="rate", ptype=float)})

    assert trainer.spec.values({"rate": 0.5})["custom_config"] == '{"rate": 0.5}'


def test_run_fn_goes_with_a_custom_executor_spec():
    trainer = Trainer(
        examples=EXAMPLES,
        run_fn="my_package.my_module.my_run_fn",
        custom_executor_spec=executor_spec.ExecutorClassSpec(GenericExecutor),
    )

    assert trainer.exec_properties["run_fn"] == "my_package.my_module.my_run_fn"
    assert trainer.executor_spec.executor_class is GenericExecutor


def test_neither_a_transform_graph_nor_a_schema_is_required():
    assert set(trainer_with().inputs) == {"examples"}


def test_transformed_examples_go_with_a_transform_graph():
    trainer = Trainer(
        transformed_examples=EXAMPLES,
        transform_graph=TRANSFORM_GRAPH,
        schema=SCHEMA,
        module_file="module.py",
    )

    assert set(trainer.inputs) == {"examples", "transform_graph", "schema"}


def test_hyperparameters_may_be_given():
    channel = Channel(type=standard_artifacts.HyperParameters)

    assert trainer_with(hyperparameters=channel).inputs["hyperparameters"].type_name == (
        "HyperParameters"
    )


def test_statistics_may_be_given():
    channel = Channel(type=standard_artifacts.ExampleStatistics)

    assert trainer_with(statistics=channel).inputs["statistics"] is channel


def test_statistics_are_the_first_argument_by_position():
    statistics = Channel(type=standard_artifacts.ExampleStatistics)

    trainer = Trainer(statistics, EXAMPLES, None, None, SCHEMA, module_file="module.py")

    assert list(trainer.inputs.values()) == [EXAMPLES, SCHEMA, statistics]


def test_a_base_model_has_an_old_name():
    channel = Channel(type=standard_artifacts.Model)

    assert trainer_with(base_models=channel).inputs["base_model"] is channel


def test_an_instance_name_names_the_step():
    assert trainer_with(instance_name="second").id == "Trainer.second"


def test_examples_and_transformed_examples_together_are_refused():
    with pytest.raises(ValueError, match="exactly one of examples and transformed_examples"):
        trainer_with(transformed_examples=EXAMPLES, transform_graph=TRANSFORM_GRAPH)


def test_transformed_examples_without_a_transform_graph_are_refused():
    with pytest.raises(ValueError, match="needs transform_graph"):
        trainer_with(examples=None, transformed_examples=EXAMPLES)


def test_no_user_module_is_refused():
    with pytest.raises(ValueError, match="exactly one of module_file, run_fn"):
        trainer_with(module_file=None)


def test_two_user_modules_are_refused():
    with pytest.raises(ValueError, match="module_file and run_fn"):
        trainer_with(run_fn="package.module.run_fn")
