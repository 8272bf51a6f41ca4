# SPDX-License-Identifier: Apache-2.0
"""The Trainer as a pipeline sees it: its table, and the rules on its arguments."""

import json
import os
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from stoker import dsl
from stoker.artifacts import (
    Examples,
    ExampleStatistics,
    HyperParameters,
    Model,
    ModelRun,
    Schema,
    TransformGraph,
)
from stoker.components.rewriter import raw_examples
from stoker.dsl.proto.trainer_pb2 import EvalArgs, TrainArgs
from stoker.models.rewriting.targets import check_targets
from stoker.task import Workers

_EXECUTORS = "stoker.components.trainer.executor:"
_CHECK = "stoker.components.trainer.before_publishing:ModelCheck"
_REWRITE = "stoker.components.trainer.before_publishing:Rewrite"


class TrainerSpec(dsl.ComponentSpec):
    """The Trainer's table."""

    INPUTS: ClassVar = {
        "examples": dsl.ChannelParameter(type=Examples),
        "transform_graph": dsl.ChannelParameter(type=TransformGraph, optional=True),
        "schema": dsl.ChannelParameter(type=Schema, optional=True),
        "base_model": dsl.ChannelParameter(type=Model, optional=True),
        "hyperparameters": dsl.ChannelParameter(type=HyperParameters, optional=True),
        "statistics": dsl.ChannelParameter(type=ExampleStatistics, optional=True),
        "raw_examples": dsl.ChannelParameter(type=Examples, optional=True),
    }
    OUTPUTS: ClassVar = {
        "model": dsl.ChannelParameter(type=Model),
        "model_run": dsl.ChannelParameter(type=ModelRun),
    }
    OLDER_NAMES: ClassVar = {"transform_output": "transform_graph", "output": "model"}
    PARAMETERS: ClassVar = {
        "module_file": dsl.ExecutionParameter(type=str, optional=True, names_file=True),
        "run_fn": dsl.ExecutionParameter(type=str, optional=True),
        "trainer_fn": dsl.ExecutionParameter(type=str, optional=True),
        "train_args": dsl.ExecutionParameter(type=TrainArgs, optional=True),
        "eval_args": dsl.ExecutionParameter(type=EvalArgs, optional=True),
        "custom_config": dsl.ExecutionParameter(type=str, optional=True),
        "check": dsl.ExecutionParameter(type=str, optional=True),
        "watch": dsl.ExecutionParameter(type=bool, optional=True),
        "stop_on_nan": dsl.ExecutionParameter(type=bool, optional=True),
        "steps_per_execution": dsl.ExecutionParameter(type=int, optional=True),
        "rewrite": dsl.ExecutionParameter(type=str, optional=True),
        "workers": dsl.ExecutionParameter(type=str, optional=True),
    }


class Trainer(dsl.UserCodeComponent):
    """Trains a model with the user's own code.

    The code is a `run_fn(fn_args)` in `module_file`, or the function that `run_fn` names
    ("package.module.function"). It reads the examples and writes a model to
    `fn_args.serving_model_dir`; that becomes the output `model`, and what it leaves in
    `fn_args.model_run_dir` the output `model_run`. Or it is a `trainer_fn(fn_args, schema)`, which
    returns an Estimator and how to train it.

    Unless `check` is False, the model is loaded and called in a fresh process before it is
    published. With "required" it is published only if that proved that it works.
    """

    SPEC_CLASS: ClassVar = TrainerSpec
    FUNCTIONS: ClassVar = ("run_fn", "trainer_fn")
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec(f"{_EXECUTORS}GenericExecutor")
    TYPE_NAME: ClassVar = "tfx.components.trainer.component.Trainer"
    BASE_TYPE: ClassVar = "TRAIN"
    RESUMABLE: ClassVar = True
    LOG_OUTPUT: ClassVar = "model_run"

    @dsl.take_older_names
    def __init__(
        self,
        statistics: dsl.Channel | None = None,
        examples: dsl.Channel | None = None,
        transformed_examples: dsl.Channel | None = None,
        transform_graph: dsl.Channel | None = None,
        schema: dsl.Channel | None = None,
        base_model: dsl.Channel | None = None,
        hyperparameters: dsl.Channel | None = None,
        module_file: str | dsl.RuntimeParameter | None = None,
        run_fn: str | dsl.RuntimeParameter | None = None,
        train_args: TrainArgs | dict[str, Any] | dsl.RuntimeParameter | None = None,
        eval_args: EvalArgs | dict[str, Any] | dsl.RuntimeParameter | None = None,
        custom_config: dict[str, Any] | dsl.RuntimeParameter | None = None,
        custom_executor_spec: dsl.ExecutorClassSpec | None = None,
        *,
        trainer_fn: str | dsl.RuntimeParameter | None = None,
        base_models: dsl.Channel | None = None,
        instance_name: str | None = None,
        keras: int | None = None,
        check: bool | Literal["required"] = True,
        watch: bool = True,
        stop_on_nan: bool = False,
        steps_per_execution: int | None = None,
        rewrite: Sequence[str] = (),
        python: str | os.PathLike[str] | None = None,
        workers: Workers | int | None = None,
        retries: int | None = None,
    ) -> None:
        """Declare the step.

        Args:
            statistics: Statistics of the examples: `fn_args.num_examples` is counted from them.
            examples: The examples to train and evaluate on.
            transformed_examples: The same, by an older name: those of a Transform.
            transform_graph: What Transform has learned, for `fn_args.transform_graph_path`.
            schema: The schema of the examples, for `fn_args.schema_path`.
            base_model: A model to start from, for `fn_args.base_model`, such as a Resolver finds.
            hyperparameters: Those of a Tuner or an Importer, for `fn_args.hyperparameters`.
            module_file: The path of the file that defines `run_fn` or `trainer_fn`. Give exactly
                one of `module_file`, `run_fn` and `trainer_fn`.
            run_fn: The dotted path of the function, where it is in an installed package.
            train_args: The splits to train on, "train" by default, and the number of steps.
            eval_args: The same for evaluation, with the split "eval" by default.
            custom_config: Anything that JSON can say, for `fn_args.custom_config`.
            custom_executor_spec: An executor of your own, instead of the Trainer's.
            trainer_fn: The dotted path of a `trainer_fn`, for Estimators.
            base_models: An older name of `base_model`.
            instance_name: An older way to name the step; `with_id` is today's.
            keras: 2 or 3, where the imports of the module should not decide.
            check: Whether to load the model and call it before it is published; "required" fails
                the step where it could not be called, or the answers could not be judged.
            watch: Whether Keras's `fit` reports its progress, writes metrics to `model_run`, and
                keeps checkpoints from which a stopped training resumes.
            stop_on_nan: Whether the step fails at the first loss that is NaN or infinite. Without
                it, that is told, and the training goes on.
            steps_per_execution: How many steps Keras's `fit` and `evaluate` do per call into
                TensorFlow. By default that is found while training; 1 does one at a time.
            rewrite: Other formats in which the model is wanted, such as ["tflite", "onnx"]. They
                are compared with the model, and stand beside `Format-Serving`.
            python: Another interpreter to run the code in: its path, or the name of an environment
                that `stoker env create` has made.
            workers: How many processes train together, through a strategy that the module makes; a
                number, or Workers with what each may use.
            retries: How often to start again after a failure. By default workers start again once,
                and only if a process was lost.
        """
        dsl.check_one_of("Trainer", module_file=module_file, run_fn=run_fn, trainer_fn=trainer_fn)
        if base_model and base_models:
            raise ValueError("Trainer takes base_model or base_models, not both.")
        self.ask_for_keras(keras)
        if isinstance(workers, int):
            workers = Workers(workers)
        if not isinstance(workers, Workers | None):
            raise ValueError(f"Trainer(workers=…) takes Workers or a number, got {workers!r}.")
        if python:
            _check_for_another_python(keras, custom_executor_spec, workers)
            self.python = os.fspath(python)
        if check not in (True, False, "required"):
            raise ValueError(f'Trainer(check=…) takes True, False or "required", got {check!r}.')
        if stop_on_nan and (python or not watch):
            what = "python=…" if python else "watch=False"
            raise ValueError(
                f"Trainer takes stop_on_nan or {what}, not both: nobody looks at the loss there."
            )
        if steps_per_execution is not None:
            _check_steps(steps_per_execution, python=bool(python), watch=watch)
        wanted = ((_CHECK, check), (_REWRITE, rewrite))
        self.checks = tuple(executor for executor, is_wanted in wanted if is_wanted)
        chosen = _choose_examples(examples, transformed_examples, transform_graph)
        raw = raw_examples(chosen) if rewrite else None
        if retries is not None and retries < 0:
            raise ValueError(f"Trainer(retries=…) takes a number from 0 on, got {retries}.")
        self.workers, self.retries = workers, retries
        spec = TrainerSpec.from_arguments(
            locals(),
            examples=chosen,
            base_model=base_model or base_models,
            custom_config=dsl.config_as_json("Trainer", custom_config),
            raw_examples=None if raw is chosen else raw,
            check="required" if check == "required" else None,
            watch=None if watch else False,
            stop_on_nan=stop_on_nan or None,
            rewrite=json.dumps(check_targets(rewrite)) if rewrite else None,
            workers=_describe(workers) if workers and workers.is_group else None,
        )
        super().__init__(spec, custom_executor_spec, instance_name)


def _check_steps(steps_per_execution: int, *, python: bool, watch: bool) -> None:
    if steps_per_execution < 1:
        raise ValueError(
            f"Trainer(steps_per_execution=…) takes a number from 1 on, got {steps_per_execution}."
        )
    if python or not watch:
        what = "python=…" if python else "watch=False"
        raise ValueError(
            f"Trainer takes steps_per_execution or {what}, not both: fit is left as it is there. "
            "compile(steps_per_execution=…) in the module sets it everywhere."
        )


def _check_for_another_python(
    keras: int | None, executor: dsl.ExecutorClassSpec | None, workers: Workers | None
) -> None:
    if workers and workers.is_group:
        raise ValueError(
            "Trainer takes workers= or python=, not both: in another interpreter a module trains "
            "in one process."
        )
    if keras:
        raise ValueError(
            "Trainer takes keras= or python=, not both: another interpreter has the Keras that is "
            "installed there."
        )
    if executor and not executor.class_path.startswith(_EXECUTORS):
        raise ValueError(
            f"Trainer(python=…) cannot run the executor {executor.class_path}, which needs Stoker "
            "where it runs. Leave out custom_executor_spec, or python."
        )


def _describe(workers: Workers) -> str:
    """What of `workers` the model depends on."""
    named = {"count": workers.count, "ps": workers.ps, "evaluator": workers.evaluator}
    return json.dumps(named)


def _choose_examples(
    examples: dsl.Channel | None,
    transformed_examples: dsl.Channel | None,
    transform_graph: dsl.Channel | None,
) -> dsl.Channel:
    if bool(examples) == bool(transformed_examples):
        raise ValueError(
            "Trainer needs exactly one of examples and transformed_examples, got "
            f"{'both' if examples else 'neither'}."
        )
    if transformed_examples and not transform_graph:
        raise ValueError("Trainer(transformed_examples=…) needs transform_graph too.")
    chosen = examples or transformed_examples
    assert chosen
    return chosen
