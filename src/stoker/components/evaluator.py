# SPDX-License-Identifier: Apache-2.0
"""Evaluator: the metrics of a model, slice by slice, and whether it is good enough.

evaluation: <uri>/metrics-00000-of-00001.tfrecord, validations.tfrecord, eval_config.json, …
            the files of TFMA, whose load_eval_result reads them
blessing:   <uri>/BLESSED or <uri>/NOT_BLESSED    an empty file, if there are thresholds
"""

import importlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from google.protobuf import json_format

from stoker import dsl
from stoker.any_python.layout import eval_model_dir, eval_model_path, serving_model_path
from stoker.artifacts import (
    Artifact,
    Examples,
    Model,
    ModelBlessing,
    ModelEvaluation,
    Schema,
    get_split_uris,
)
from stoker.dsl.proto.eval_config_pb2 import EvalConfig, ModelSpec
from stoker.dsl.proto.evaluator_pb2 import FeatureSlicingSpec
from stoker.errors import MissingPart
from stoker.evaluation.config import (
    EVAL,
    as_eval_config,
    has_change_thresholds,
    has_thresholds,
    wants_compiled_metrics,
    with_defaults,
)
from stoker.evaluation.tfma import tfma_is_installed
from stoker.models.blessing import give_verdict

if TYPE_CHECKING:
    from stoker.evaluation.compiled import Compiled

__all__ = ["Evaluator", "EvaluatorSpec", "Executor"]

_ENGINES = ("stoker", "tfma")
_CUSTOM = ("custom_eval_shared_model", "custom_extractors")
"""The functions that a module may define for TFMA."""


class EvaluatorSpec(dsl.ComponentSpec):
    """The Evaluator's table."""

    INPUTS: ClassVar = {
        "examples": dsl.ChannelParameter(type=Examples),
        "model": dsl.ChannelParameter(type=Model, optional=True),
        "baseline_model": dsl.ChannelParameter(type=Model, optional=True),
        "schema": dsl.ChannelParameter(type=Schema, optional=True),
    }
    OUTPUTS: ClassVar = {
        "evaluation": dsl.ChannelParameter(type=ModelEvaluation),
        "blessing": dsl.ChannelParameter(type=ModelBlessing, optional=True),
    }
    PARAMETERS: ClassVar = {
        "eval_config": dsl.ExecutionParameter(type=EvalConfig, optional=True),
        "example_splits": dsl.ExecutionParameter(type=str, optional=True),
        "module_file": dsl.ExecutionParameter(type=str, optional=True),
        "module_path": dsl.ExecutionParameter(type=str, optional=True),
        "engine": dsl.ExecutionParameter(type=str, optional=True),
    }


class Evaluator(dsl.BaseComponent):
    """Measures a model on examples, the split `eval` by default, and judges it by thresholds.

    Plain configurations are computed by Stoker itself; others need TFMA, which comes with
    `pip install 'stoker[evaluator]'`.
    """

    SPEC_CLASS: ClassVar = EvaluatorSpec
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec("stoker.components.evaluator:Executor")
    TYPE_NAME: ClassVar = "tfx.components.evaluator.component.Evaluator"
    BASE_TYPE: ClassVar = "EVALUATE"
    USES_TENSORFLOW: ClassVar = True

    def __init__(
        self,
        examples: dsl.Channel,
        model: dsl.Channel | None = None,
        baseline_model: dsl.Channel | None = None,
        feature_slicing_spec: FeatureSlicingSpec | dict[str, Any] | None = None,
        fairness_indicator_thresholds: Sequence[float] | None = None,
        example_splits: Sequence[str] | None = None,
        eval_config: Any = None,
        schema: dsl.Channel | None = None,
        module_file: str | None = None,
        module_path: str | None = None,
        *,
        engine: str | None = None,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            examples: The examples to measure on.
            model: The model to measure.
            baseline_model: A model to compare with, such as the latest blessed one.
            feature_slicing_spec: An older way to name slices. It evaluates an Estimator by its own
                metrics, as `ModelSpec(signature_name="eval")` does.
            fairness_indicator_thresholds: Thresholds for which to add fairness indicators.
            example_splits: The splits to read; "eval" by default.
            eval_config: The metrics, slices and thresholds: an EvalConfig, TFMA's or Stoker's, or a
                dict.
            schema: The schema of the examples, for TFMA.
            module_file: The path of a file that defines `custom_eval_shared_model` or
                `custom_extractors`, which TFMA calls.
            module_path: The same as the dotted name of a module.
            engine: "stoker" or "tfma", instead of the one that fits the configuration.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        if engine not in (None, *_ENGINES):
            raise ValueError(f"Evaluator(engine=…) takes 'stoker' or 'tfma', got {engine!r}.")
        if module_file or module_path:
            _check_module(module_file, module_path, engine)
        config = _config(eval_config, feature_slicing_spec, fairness_indicator_thresholds)
        if baseline_model is None and has_change_thresholds(config):
            raise ValueError(
                "The eval_config has a change threshold, and the Evaluator no baseline model to "
                "compare with. Give it baseline_model=resolver.outputs['model'] of a Resolver with "
                "LatestBlessedModelStrategy, or drop the change threshold."
            )
        if not (module_file or module_path):
            _check_config(config, engine, has_baseline=baseline_model is not None)
        spec = EvaluatorSpec.from_arguments(
            locals(),
            eval_config=config,
            example_splits=json.dumps(list(example_splits)) if example_splits else None,
        )
        super().__init__(spec, instance_name=instance_name)

    def user_code(self, parameters: dict[str, Any]) -> dsl.UserCode | None:
        """The module, if there is one."""
        module_file, module = parameters.get("module_file"), parameters.get("module_path")
        if module_file or module:
            return dsl.UserCode(module_file=module_file, module=module)
        return super().user_code(parameters)


def _check_module(module_file: str | None, module_path: str | None, engine: str | None) -> None:
    if module_file and module_path:
        raise ValueError("Evaluator takes module_file or module_path, not both.")
    if engine == "stoker":
        raise ValueError(
            "Evaluator(engine='stoker') calls no functions of a module: leave out engine, and TFMA "
            "calls them, or leave out the module."
        )
    if not tfma_is_installed():
        raise MissingPart(
            "Evaluator(module_file=…) needs TFMA, which is not installed: custom_eval_shared_model "
            "and custom_extractors make objects of TFMA. Install it: "
            "pip install 'stoker[evaluator]'.",
            name="tensorflow_model_analysis",
        )


def _check_config(config: EvalConfig, engine: str | None, *, has_baseline: bool) -> None:
    from stoker.evaluation.route import check_config

    check_config(with_defaults(config, has_baseline=has_baseline), engine)


def _config(
    eval_config: Any,
    slicing: FeatureSlicingSpec | dict[str, Any] | None,
    fairness_thresholds: Sequence[float] | None,
) -> EvalConfig:
    """One configuration of what is given in old ways and in the new one."""
    if eval_config is not None and slicing is not None:
        raise ValueError("Evaluator takes eval_config or feature_slicing_spec, not both.")
    config = as_eval_config(eval_config) if eval_config is not None else EvalConfig()
    if isinstance(slicing, dict):
        slicing = json_format.ParseDict(slicing, FeatureSlicingSpec())
    if slicing is not None:  # of the time when Estimators were evaluated
        config.model_specs.add(signature_name=EVAL)
        for one in slicing.specs:
            config.slicing_specs.add(feature_keys=one.column_for_slicing)
    if fairness_thresholds:
        settings = json.dumps({"thresholds": list(fairness_thresholds)})
        config.metrics_specs.add().metrics.add(class_name="FairnessIndicators", config=settings)
    return config


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What to evaluate: the models' folders by name, and the files of examples."""

    config: EvalConfig
    models: Mapping[str, str]
    files: Sequence[str]
    schema_path: str | None
    output: str
    rubber_stamp: bool
    """Whether this is a first run, without the baseline that change thresholds are about."""


class Executor(dsl.BaseExecutor):
    """Evaluates, writes what was found, and gives the verdict."""

    def Do(  # noqa: D102
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        from stoker.evaluation.results import read_metrics, read_validation
        from stoker.evaluation.summary import summary

        (evaluation,) = output_dict["evaluation"]
        models = _models(input_dict)
        given = json_format.Parse(exec_properties.get("eval_config") or "{}", EvalConfig())
        config = with_defaults(given, has_baseline=len(models) > 1)
        folders = {
            spec.name: _folder(spec, model)
            for spec, model in zip(config.model_specs, models, strict=True)
        }
        splits = json.loads(exec_properties.get("example_splits") or '["eval"]')
        job = _Job(
            config=config,
            models=folders,
            files=_files(input_dict["examples"], splits),
            schema_path=_schema_path(input_dict),
            output=evaluation.uri,
            rubber_stamp=has_change_thresholds(given) and len(models) == 1,
        )
        _evaluate(job, exec_properties)
        validation = read_validation(evaluation.uri)
        for line in summary(read_metrics(evaluation.uri), validation):
            print(line, flush=True)
        if has_thresholds(given) and output_dict.get("blessing"):
            _bless(
                output_dict["blessing"][0], models, ok=bool(validation and validation.validation_ok)
            )


def _models(input_dict: Mapping[str, list[Artifact]]) -> list[Artifact]:
    """The model, and the baseline if there is one."""
    if not input_dict.get("model"):
        raise ValueError("Evaluator has no model. Give it model=trainer.outputs['model'].")
    return [*input_dict["model"][:1], *input_dict.get("baseline_model", [])[:1]]


def _folder(spec: ModelSpec, model: Artifact) -> str:
    """The model to ask: the one for serving, or an Estimator's for evaluation if it has one."""
    if spec.signature_name == EVAL and os.path.isdir(eval_model_dir(model.uri)):
        return eval_model_path(model.uri)
    return serving_model_path(model.uri)


def _files(examples: Sequence[Artifact], splits: Sequence[str]) -> list[str]:
    from stoker.data.input_files import matching_files

    return [
        path
        for split in splits
        for uri in get_split_uris(examples, split)
        for path in matching_files(os.path.join(uri, "*"))
    ]


def _schema_path(input_dict: Mapping[str, list[Artifact]]) -> str | None:
    from stoker.statistics.data_schema import SCHEMA_FILE

    schemas = input_dict.get("schema")
    return os.path.join(schemas[0].uri, SCHEMA_FILE) if schemas else None


def _evaluate(job: _Job, exec_properties: Mapping[str, Any]) -> None:
    from stoker.evaluation.checks import check_examples, check_threshold_names
    from stoker.evaluation.engine import measure
    from stoker.evaluation.results import write_evaluation
    from stoker.evaluation.route import choose_engine
    from stoker.evaluation.thresholds import validate
    from stoker.evaluation.with_tfma import evaluate_with_tfma
    from stoker.models.scoring import missing_function, scored_batches

    custom = _custom_functions(exec_properties)
    hidden = None if custom else missing_function(job.config, job.models)
    compiled = {}
    if wants_compiled_metrics(job.config):
        compiled = {name: _brought_by(folder) for name, folder in job.models.items()}
    route = choose_engine(
        job.config,
        exec_properties.get("engine"),
        only_tfma=f"a use for {' and '.join(custom)}" if custom else hidden,
        compiled=compiled,
    )
    print(f"Evaluator {route}.", flush=True)
    if route.plan is None:
        _refuse_eval_saved_models(job.models)
        if not custom:
            check_threshold_names(job.config, compiled)
            batches = scored_batches(job.config, job.models, job.files)
            check_examples(job.config, batches, all_known=not hidden)
        evaluate_with_tfma(
            job.config,
            job.models,
            job.files,
            job.output,
            rubber_stamp=job.rubber_stamp,
            schema_path=job.schema_path,
            **custom,
        )
        return
    if route.left_out:
        print(
            f"Left out, because only TFMA has them: {', '.join(route.left_out)}, which the model "
            "was compiled with. To have them: pip install 'stoker[evaluator]'.",
            flush=True,
        )
    measured = measure(route.plan, scored_batches(job.config, job.models, job.files))
    validation = validate(route.plan, measured, rubber_stamp=job.rubber_stamp)
    location = ",".join(dict.fromkeys(map(os.path.dirname, job.files)))
    write_evaluation(
        job.output, job.config, measured, validation, data_location=location, models=job.models
    )


def _brought_by(folder: str) -> "Compiled":
    """The metrics that come with a model."""
    from stoker.evaluation.compiled import compiled_with
    from stoker.models.eval_saved_model import eval_saved_model

    model = eval_saved_model(folder)
    return model.compiled if model else compiled_with(folder)


def _refuse_eval_saved_models(models: Mapping[str, str]) -> None:
    from stoker.models.eval_saved_model import eval_saved_model

    for folder in models.values():
        if eval_saved_model(folder):
            raise ValueError(
                f"{folder} is an EvalSavedModel, which TFMA does not evaluate since 0.47. Leave "
                "out what only TFMA has, or ask the model for serving: another signature_name."
            )


def _custom_functions(exec_properties: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Those of TFMA's two functions that the user's module defines, by name."""
    from stoker.user_code.loader import load_module_file

    file, dotted = exec_properties.get("module_file"), exec_properties.get("module_path")
    if not (file or dotted):
        return {}
    module = load_module_file(file) if file else importlib.import_module(str(dotted))
    found = {name: getattr(module, name) for name in _CUSTOM if hasattr(module, name)}
    if not found:
        print(f"{file or dotted} defines neither {' nor '.join(_CUSTOM)}, and is not used.")
    return found


def _bless(blessing: Artifact, models: Sequence[Artifact], *, ok: bool) -> None:
    give_verdict(blessing, "BLESSED", blessed=ok)
    for role, model in zip(("current_model", "baseline_model"), models, strict=False):
        blessing.set_string_custom_property(role, model.uri)
        blessing.set_int_custom_property(f"{role}_id", model.id)
