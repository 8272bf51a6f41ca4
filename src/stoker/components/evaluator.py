# SPDX-License-Identifier: Apache-2.0
"""Evaluator: the metrics of a model, slice by slice, and whether it is good enough.

evaluation: <uri>/metrics-00000-of-00001.tfrecord, validations.tfrecord, eval_config.json, …
            the files of TFMA, whose load_eval_result reads them
blessing:   <uri>/BLESSED or <uri>/NOT_BLESSED    an empty file, if there are thresholds
"""

import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import stoker.stand_ins.provide  # noqa: F401 - pipelines name what an installed TFMA lacks
from stoker import dsl
from stoker.any_python.layout import eval_model_path, only_file, serving_model_path
from stoker.any_python.lines import did_you_mean, say
from stoker.artifacts import (
    Artifact,
    Examples,
    Model,
    ModelBlessing,
    ModelEvaluation,
    Schema,
    get_split_uris,
)
from stoker.data.input_files import matching_files
from stoker.dsl.proto.eval_config_pb2 import EvalConfig, ModelSpec
from stoker.dsl.proto.evaluation_pb2 import ValidationResult
from stoker.dsl.proto.evaluator_pb2 import FeatureSlicingSpec
from stoker.evaluation.config import (
    has_change_thresholds,
    has_thresholds,
    merge_config,
    with_defaults,
)
from stoker.evaluation.model_types import check_model_types, is_eval_saved_model
from stoker.models.blessing import bless_model
from stoker.storage.needed import Needed

_ENGINES = ("stoker", "tfma")
_CUSTOM = ("custom_eval_shared_model", "custom_extractors")
"""The functions that a module may define, by TFMA's names."""


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
    OLDER_NAMES: ClassVar = {"model_exports": "model", "output": "evaluation"}
    PARAMETERS: ClassVar = {
        "eval_config": dsl.ExecutionParameter(type=EvalConfig, optional=True),
        "example_splits": dsl.ExecutionParameter(type=str, optional=True),
        "module_file": dsl.ExecutionParameter(type=str, optional=True, names_file=True),
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
    WORKS_ON_SHARDS: ClassVar = True

    @dsl.take_older_names
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
            model: The model to measure, of the kind that `ModelSpec.model_type` names. Without it,
                `ModelSpec.prediction_key` names the feature that has the predictions.
            baseline_model: A model to compare with, such as the latest blessed one.
            feature_slicing_spec: An older way to name slices. It evaluates an Estimator by its own
                metrics, as `ModelSpec(signature_name="eval")` does.
            fairness_indicator_thresholds: Thresholds for which to add fairness indicators.
            example_splits: The splits to read; "eval" by default.
            eval_config: The metrics, slices and thresholds: an EvalConfig, TFMA's or Stoker's, or a
                dict.
            schema: The schema of the examples, for TFMA.
            module_file: The path of a file that defines `custom_eval_shared_model` or
                `custom_extractors`, for models that are not TensorFlow's.
            module_path: The same as the dotted name of a module.
            engine: "stoker" or "tfma", instead of the one that fits the configuration.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        if engine not in (None, *_ENGINES):
            raise ValueError(f"Evaluator(engine=…) takes 'stoker' or 'tfma', got {engine!r}.")
        if module_file and module_path:
            raise ValueError("Evaluator takes module_file or module_path, not both.")
        config = merge_config(eval_config, feature_slicing_spec, fairness_indicator_thresholds)
        complete = with_defaults(config, has_baseline=baseline_model is not None)
        has_module = bool(module_file or module_path)
        check_model_types(complete.model_specs, has_model=model is not None, has_module=has_module)
        if not has_module:
            from stoker.evaluation.chosen_engine import check_config  # it needs NumPy

            check_config(complete, engine)
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

    def find_needed(self, parameters: dict[str, Any], splits: Sequence[str]) -> Needed:  # noqa: ARG002
        """The splits that are evaluated: records for the model, and columns for the metrics."""
        return Needed(splits=_list_splits(parameters))

    def check_features(
        self, parameters: dict[str, Any], known: Mapping[str, str]
    ) -> Iterator[dsl.Problem]:
        """That a label, a weight or a slice is no feature, or is text, and the model makes none."""
        config = dsl.parse_message(parameters.get("eval_config"), EvalConfig())
        if parameters.get("module_file") or parameters.get("module_path"):
            return  # its functions read what they want
        for spec in config.model_specs:
            if spec.preprocessing_function_names or is_eval_saved_model(spec):
                return  # the model makes features of its own
            for argument, name in _list_named_features(spec):
                if name not in known:
                    yield dsl.Problem(text=_describe_missing(f"{argument}={name!r}", name, known))
                elif known[name]:
                    text = _describe_text(f"{argument}={name!r}", known[name])
                    yield dsl.Problem(text=text, is_certain=False)
        for slicing in config.slicing_specs:
            for name in {*slicing.feature_keys, *slicing.feature_values} - known.keys():
                text = _describe_missing(f"the slicing_spec of {name!r}", name, known)
                yield dsl.Problem(text=f"{text} There are no slices by it.", is_certain=False)


def _list_named_features(spec: ModelSpec) -> Iterator[tuple[str, str]]:
    for argument in ("label_key", "example_weight_key"):
        if name := getattr(spec, argument):
            yield argument, name
        for name in getattr(spec, f"{argument}s").values():
            yield f"{argument}s", name


def _describe_text(what: str, word: str) -> str:
    return (
        f"{what} is text, such as {word!r:.40}, and metrics take numbers. Unless it is a class of "
        "the model, let its signature make numbers: ModelSpec(preprocessing_function_names=[…])."
    )


def _describe_missing(what: str, name: str, known: Iterable[str]) -> str:
    return (
        f"{what} is no feature of the examples.{did_you_mean(name, known)} They have "
        f"{', '.join(sorted(known))}."
    )


def _list_splits(parameters: dict[str, Any]) -> list[str]:
    splits: list[str] = json.loads(parameters.get("example_splits") or '["eval"]')
    return splits


class Executor(dsl.BaseExecutor):
    """Evaluates, writes what was found, and gives the verdict."""

    def Do(  # noqa: D102
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        from stoker.evaluation.results import read_metrics, read_validation
        from stoker.evaluation.summary import summarize
        from stoker.models.evaluate import Evaluation

        (evaluation,) = output_dict["evaluation"]
        models = _find_models(input_dict)
        given = dsl.parse_message(exec_properties.get("eval_config"), EvalConfig())
        config = with_defaults(given, has_baseline=len(models) > 1)
        folders = {
            spec.name: _find_folder(spec, model)
            for spec, model in zip(config.model_specs, models, strict=False)
        }
        splits = _list_splits(exec_properties)
        Evaluation(
            config=config,
            models=folders,
            files=[
                path
                for split in splits
                for path in matching_files(get_split_uris(input_dict["examples"], split))
            ],
            schema_path=_schema_path(input_dict),
            output_dir=evaluation.uri,
            rubber_stamp=has_change_thresholds(given) and len(models) == 1,
        ).run(
            exec_properties.get("engine"),
            _load_functions(exec_properties),
            self._context.open_pool,
        )
        validation = read_validation(evaluation.uri)
        for line in summarize(read_metrics(evaluation.uri), validation):
            say(line)
        if has_thresholds(config) and output_dict.get("blessing"):
            _give_blessing(output_dict["blessing"][0], models, validation)
        elif has_change_thresholds(given):
            say("There is no baseline model to compare with, and no value_threshold: no verdict.")


def _find_models(input_dict: Mapping[str, list[Artifact]]) -> list[Artifact]:
    """The model, and the baseline if there is one; none, if the examples have the predictions."""
    models = input_dict.get("model") or []
    return [*models[:1], *input_dict.get("baseline_model", [])[:1]] if models else []


def _find_folder(spec: ModelSpec, model: Artifact) -> str:
    """The model to ask: the one for serving, or an Estimator's for evaluation if it has one."""
    find = eval_model_path if is_eval_saved_model(spec) else serving_model_path
    return find(model.uri)


def _give_blessing(
    blessing: Artifact, models: Sequence[Artifact], validation: ValidationResult | None
) -> None:
    if not models:
        say("The predictions came with the examples: there is no model to bless.")
        return
    bless_model(blessing, models, blessed=bool(validation and validation.validation_ok))


def _schema_path(input_dict: Mapping[str, list[Artifact]]) -> str | None:
    schemas = input_dict.get("schema")
    return only_file(schemas[0].uri) if schemas else None


def _load_functions(exec_properties: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """The functions of an Evaluator that the user's module defines, by name."""
    from stoker.any_python.modules import load_module_file

    file, dotted = exec_properties.get("module_file"), exec_properties.get("module_path")
    if not (file or dotted):
        return {}
    module = load_module_file(file) if file else importlib.import_module(str(dotted))
    found = {name: getattr(module, name) for name in _CUSTOM if hasattr(module, name)}
    if not found:
        say(f"{file or dotted} defines neither {' nor '.join(_CUSTOM)}, and is not used.")
    return found
