# SPDX-License-Identifier: Apache-2.0
"""The Tuner as a pipeline sees it: its table, and the rules on its arguments."""

from typing import Any, ClassVar

from stoker import dsl
from stoker.artifacts import (
    Examples,
    HyperParameters,
    Model,
    Schema,
    TransformGraph,
    TunerResults,
)
from stoker.dsl.proto.trainer_pb2 import EvalArgs, TrainArgs
from stoker.dsl.proto.tuner_pb2 import TuneArgs
from stoker.training.tuning import TunerFnResult as TunerFnResult


class TunerSpec(dsl.ComponentSpec):
    """The Tuner's table."""

    INPUTS: ClassVar = {
        "examples": dsl.ChannelParameter(type=Examples),
        "schema": dsl.ChannelParameter(type=Schema, optional=True),
        "transform_graph": dsl.ChannelParameter(type=TransformGraph, optional=True),
        "base_model": dsl.ChannelParameter(type=Model, optional=True),
    }
    OUTPUTS: ClassVar = {
        "best_hyperparameters": dsl.ChannelParameter(type=HyperParameters),
        "tuner_results": dsl.ChannelParameter(type=TunerResults),
    }
    PARAMETERS: ClassVar = {
        "module_file": dsl.ExecutionParameter(type=str, optional=True, names_file=True),
        "tuner_fn": dsl.ExecutionParameter(type=str, optional=True),
        "train_args": dsl.ExecutionParameter(type=TrainArgs, optional=True),
        "eval_args": dsl.ExecutionParameter(type=EvalArgs, optional=True),
        "tune_args": dsl.ExecutionParameter(type=TuneArgs, optional=True),
        "custom_config": dsl.ExecutionParameter(type=str, optional=True),
    }


class Tuner(dsl.UserCodeComponent):
    """Searches for the best hyperparameters with KerasTuner.

    The code is a `tuner_fn(fn_args)` in `module_file`, or the function that `tuner_fn` names
    ("package.module.function"). It returns `TunerFnResult(tuner, fit_kwargs)`, where the tuner's
    directory should be `fn_args.working_dir`: a search that was killed then goes on where it was.

    The output `best_hyperparameters` is for `Trainer(hyperparameters=…)`; `tuner_results` holds
    every trial.
    """

    SPEC_CLASS: ClassVar = TunerSpec
    FUNCTIONS: ClassVar = ("tuner_fn",)
    USES_TENSORFLOW: ClassVar = True
    RESUMABLE: ClassVar = True
    PACE_PARAMETERS: ClassVar = ("tune_args",)
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec("stoker.components.tuner.executor:Executor")
    TYPE_NAME: ClassVar = "tfx.components.tuner.component.Tuner"

    @dsl.take_older_names
    def __init__(
        self,
        examples: dsl.Channel | None = None,
        schema: dsl.Channel | None = None,
        transform_graph: dsl.Channel | None = None,
        base_model: dsl.Channel | None = None,
        module_file: str | dsl.RuntimeParameter | None = None,
        tuner_fn: str | dsl.RuntimeParameter | None = None,
        train_args: TrainArgs | dict[str, Any] | dsl.RuntimeParameter | None = None,
        eval_args: EvalArgs | dict[str, Any] | dsl.RuntimeParameter | None = None,
        tune_args: TuneArgs | dict[str, Any] | dsl.RuntimeParameter | None = None,
        custom_config: dict[str, Any] | dsl.RuntimeParameter | None = None,
        *,
        instance_name: str | None = None,
        keras: int | None = None,
    ) -> None:
        """Declare the step.

        Args:
            examples: The examples to train and evaluate on.
            schema: The schema of the examples, for `fn_args.schema_path`.
            transform_graph: What Transform has learned, for `fn_args.transform_graph_path`.
            base_model: A model to start from, for `fn_args.base_model`.
            module_file: The path of the file that defines `tuner_fn`. Give exactly one of
                `module_file` and `tuner_fn`.
            tuner_fn: The dotted path of the function, where it is in an installed package.
            train_args: The splits to train on, "train" by default, and the number of steps.
            eval_args: The same for evaluation, with the split "eval" by default.
            tune_args: How to search. `TuneArgs(num_parallel_trials=N)` runs N trials at once, each
                in a process of its own on this machine; the default is one after the other.
            custom_config: Anything that JSON can say, for `fn_args.custom_config`.
            instance_name: An older way to name the step; `with_id` is today's.
            keras: 2 or 3, where the imports of the module should not decide.
        """
        dsl.check_one_of("Tuner", module_file=module_file, tuner_fn=tuner_fn)
        _check_tune_args(tune_args)
        self.ask_for_keras(keras)
        spec = TunerSpec.from_arguments(
            locals(), custom_config=dsl.config_as_json("Tuner", custom_config)
        )
        super().__init__(spec, instance_name=instance_name)


def _check_tune_args(tune_args: Any) -> None:
    if isinstance(tune_args, TuneArgs) and tune_args.num_parallel_trials < 0:
        raise ValueError(
            f"TuneArgs.num_parallel_trials must be at least 1, got {tune_args.num_parallel_trials}."
        )
