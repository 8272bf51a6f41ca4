# SPDX-License-Identifier: Apache-2.0
"""The Tuner as a pipeline sees it: its table, and the rules on its arguments."""

import json
from typing import Any, ClassVar, NamedTuple

from stoker.artifacts import (
    Examples,
    HyperParameters,
    Model,
    Schema,
    TransformGraph,
    TunerResults,
)
from stoker.dsl.channel import Channel
from stoker.dsl.component import (
    BaseComponent,
    ChannelParameter,
    ComponentSpec,
    ExecutionParameter,
    UserCode,
)
from stoker.dsl.executor import ExecutorClassSpec
from stoker.dsl.parameters import RuntimeParameter, names_in
from stoker.proto.trainer_pb2 import EvalArgs, TrainArgs
from stoker.proto.tuner_pb2 import TuneArgs

__all__ = ["Tuner", "TunerFnResult", "TunerSpec"]


class TunerFnResult(NamedTuple):
    """What `tuner_fn` returns: a tuner of KerasTuner, and what its `search` is called with."""

    tuner: Any
    fit_kwargs: dict[str, Any]


class TunerSpec(ComponentSpec):
    """The Tuner's table."""

    INPUTS: ClassVar = {
        "examples": ChannelParameter(type=Examples),
        "schema": ChannelParameter(type=Schema, optional=True),
        "transform_graph": ChannelParameter(type=TransformGraph, optional=True),
        "base_model": ChannelParameter(type=Model, optional=True),
    }
    OUTPUTS: ClassVar = {
        "best_hyperparameters": ChannelParameter(type=HyperParameters),
        "tuner_results": ChannelParameter(type=TunerResults),
    }
    PARAMETERS: ClassVar = {
        "module_file": ExecutionParameter(type=str, optional=True),
        "tuner_fn": ExecutionParameter(type=str, optional=True),
        "train_args": ExecutionParameter(type=TrainArgs, optional=True),
        "eval_args": ExecutionParameter(type=EvalArgs, optional=True),
        "tune_args": ExecutionParameter(type=TuneArgs, optional=True),
        "custom_config": ExecutionParameter(type=str, optional=True),
    }


class Tuner(BaseComponent):
    """Searches for the best hyperparameters with KerasTuner.

    The code is a `tuner_fn(fn_args)` in `module_file`, or the function that `tuner_fn` names
    ("package.module.function"). It returns `TunerFnResult(tuner, fit_kwargs)`, where the tuner's
    directory should be `fn_args.working_dir`: a search that was killed then goes on where it was.

    The output `best_hyperparameters` is for `Trainer(hyperparameters=…)`; `tuner_results` tells
    about every trial. `TuneArgs(num_parallel_trials=N)` runs N trials at once, each in a process of
    its own on this machine. `keras` is as for the Trainer.
    """

    SPEC_CLASS: ClassVar = TunerSpec
    EXECUTOR_SPEC: ClassVar = ExecutorClassSpec("stoker.components.tuner.executor:Executor")
    TYPE_NAME: ClassVar = "tfx.components.tuner.component.Tuner"

    def __init__(
        self,
        examples: Channel | None = None,
        schema: Channel | None = None,
        transform_graph: Channel | None = None,
        base_model: Channel | None = None,
        module_file: str | RuntimeParameter | None = None,
        tuner_fn: str | RuntimeParameter | None = None,
        train_args: TrainArgs | dict[str, Any] | RuntimeParameter | None = None,
        eval_args: EvalArgs | dict[str, Any] | RuntimeParameter | None = None,
        tune_args: TuneArgs | dict[str, Any] | RuntimeParameter | None = None,
        custom_config: dict[str, Any] | RuntimeParameter | None = None,
        *,
        instance_name: str | None = None,
        keras: int | None = None,
    ) -> None:
        if bool(module_file) == bool(tuner_fn):
            raise ValueError(
                "Tuner needs exactly one of module_file and tuner_fn, got "
                f"{'both' if module_file else 'neither'}."
            )
        if keras not in (None, 2, 3):
            raise ValueError(f"Tuner(keras=…) takes 2 or 3, got {keras!r}.")
        _check_tune_args(tune_args)
        self.keras = keras
        spec = TunerSpec(
            examples=examples,
            schema=schema,
            transform_graph=transform_graph,
            base_model=base_model,
            module_file=module_file,
            tuner_fn=tuner_fn,
            train_args=train_args,
            eval_args=eval_args,
            tune_args=tune_args,
            custom_config=_as_json(custom_config),
        )
        super().__init__(spec, instance_name=instance_name)

    def user_code(self, parameters: dict[str, Any]) -> UserCode:
        """The file or module with the user's function."""
        return UserCode(
            module_file=parameters.get("module_file"),
            module=(parameters.get("tuner_fn") or "").rpartition(".")[0] or None,
            keras=self.keras,
        )


def _check_tune_args(tune_args: Any) -> None:
    if isinstance(tune_args, TuneArgs) and tune_args.num_parallel_trials < 0:
        raise ValueError(
            f"TuneArgs.num_parallel_trials must be at least 1, got {tune_args.num_parallel_trials}."
        )


def _as_json(custom_config: dict[str, Any] | RuntimeParameter | None) -> Any:
    """The config as JSON text; with RuntimeParameters in it, as it is until they have values."""
    if names_in(custom_config):
        return custom_config
    try:
        return json.dumps(custom_config)
    except TypeError as error:
        raise ValueError(f"Tuner(custom_config=…) takes what JSON can say, and {error}.") from error
