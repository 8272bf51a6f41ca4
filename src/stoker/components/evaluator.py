# SPDX-License-Identifier: Apache-2.0
"""Evaluator: the metrics of a model, slice by slice, and whether it is good enough.

evaluation: <uri>/metrics-00000-of-00001.tfrecord, validations.tfrecord, eval_config.json, …
            the files of TFMA, whose load_eval_result reads them
blessing:   <uri>/BLESSED or <uri>/NOT_BLESSED    an empty file, if there are thresholds
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from google.protobuf import json_format

from stoker.artifacts import (
    Artifact,
    Examples,
    Model,
    ModelBlessing,
    ModelEvaluation,
    Schema,
    get_split_uris,
)
from stoker.components.blessing import give_verdict
from stoker.dsl import (
    BaseComponent,
    BaseExecutor,
    Channel,
    ChannelParameter,
    ComponentSpec,
    ExecutionParameter,
    ExecutorClassSpec,
)
from stoker.evaluation.config import (
    as_eval_config,
    has_change_thresholds,
    has_thresholds,
    with_defaults,
)
from stoker.layout import serving_model_path
from stoker.proto.eval_config_pb2 import EvalConfig
from stoker.proto.evaluator_pb2 import FeatureSlicingSpec

__all__ = ["Evaluator", "EvaluatorSpec", "Executor"]

_ENGINES = ("stoker", "tfma")

Artifacts = dict[str, list[Artifact]]


class EvaluatorSpec(ComponentSpec):
    """The Evaluator's table."""

    INPUTS: ClassVar = {
        "examples": ChannelParameter(type=Examples),
        "model": ChannelParameter(type=Model, optional=True),
        "baseline_model": ChannelParameter(type=Model, optional=True),
        "schema": ChannelParameter(type=Schema, optional=True),
    }
    OUTPUTS: ClassVar = {
        "evaluation": ChannelParameter(type=ModelEvaluation),
        "blessing": ChannelParameter(type=ModelBlessing, optional=True),
    }
    PARAMETERS: ClassVar = {
        "eval_config": ExecutionParameter(type=EvalConfig, optional=True),
        "example_splits": ExecutionParameter(type=str, optional=True),
        "engine": ExecutionParameter(type=str, optional=True),
    }


class Evaluator(BaseComponent):
    """Measures a model on examples, the split `eval` by default, and judges it by thresholds.

    `eval_config` is an EvalConfig, TFMA's or Stoker's, or a dict. Plain configurations are
    computed by Stoker itself; others need TFMA: pip install 'stoker[evaluator]'.
    `engine="stoker"` or `"tfma"` chooses. `feature_slicing_spec` is of older editions.
    """

    SPEC_CLASS: ClassVar = EvaluatorSpec
    EXECUTOR_SPEC: ClassVar = ExecutorClassSpec("stoker.components.evaluator:Executor")
    TYPE_NAME: ClassVar = "tfx.components.evaluator.component.Evaluator"
    BASE_TYPE: ClassVar = "EVALUATE"
    USES_TENSORFLOW: ClassVar = True

    def __init__(
        self,
        examples: Channel,
        model: Channel | None = None,
        baseline_model: Channel | None = None,
        feature_slicing_spec: FeatureSlicingSpec | dict[str, Any] | None = None,
        fairness_indicator_thresholds: Sequence[float] | None = None,
        example_splits: Sequence[str] | None = None,
        eval_config: Any = None,
        schema: Channel | None = None,
        module_file: str | None = None,
        module_path: str | None = None,
        *,
        engine: str | None = None,
        instance_name: str | None = None,
    ) -> None:
        if module_file or module_path:
            raise ValueError(
                "Evaluator(module_file=…) is not here: Stoker calls no custom_eval_shared_model "
                "and no custom_extractors. Export what they do as a signature of the model."
            )
        if engine not in (None, *_ENGINES):
            raise ValueError(f"Evaluator(engine=…) takes 'stoker' or 'tfma', got {engine!r}.")
        config = _config(eval_config, feature_slicing_spec, fairness_indicator_thresholds)
        if baseline_model is None and has_change_thresholds(config):
            raise ValueError(
                "The eval_config has a change threshold, and the Evaluator no baseline model to "
                "compare with. Give it baseline_model=resolver.outputs['model'] of a Resolver with "
                "LatestBlessedModelStrategy, or drop the change threshold."
            )
        spec = EvaluatorSpec(
            examples=examples,
            model=model,
            baseline_model=baseline_model,
            schema=schema,
            eval_config=config,
            example_splits=json.dumps(list(example_splits)) if example_splits else None,
            engine=engine,
        )
        super().__init__(spec, instance_name=instance_name)


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
    for one in slicing.specs if slicing else ():
        config.slicing_specs.add(feature_keys=one.column_for_slicing)
    if fairness_thresholds:
        settings = json.dumps({"thresholds": list(fairness_thresholds)})
        config.metrics_specs.add().metrics.add(class_name="FairnessIndicators", config=settings)
    return config


class Executor(BaseExecutor):
    """Evaluates, writes what was found, and gives the verdict."""

    def Do(  # noqa: D102
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        from stoker.evaluation.results import read_metrics, read_validation
        from stoker.evaluation.summary import summary

        (evaluation,) = output_dict["evaluation"]
        models = _models(input_dict)
        given = json_format.Parse(exec_properties.get("eval_config") or "{}", EvalConfig())
        config = with_defaults(given, has_baseline=len(models) > 1)
        folders = {
            spec.name: serving_model_path(model.uri)
            for spec, model in zip(config.model_specs, models, strict=True)
        }
        is_first_run = has_change_thresholds(given) and len(models) == 1
        splits = json.loads(exec_properties.get("example_splits") or '["eval"]')
        files = _files(input_dict["examples"], splits)
        _evaluate(config, folders, files, evaluation.uri, exec_properties, is_first_run)
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


def _files(examples: Sequence[Artifact], splits: Sequence[str]) -> list[str]:
    from stoker.examples.files import matching_files

    return [
        path
        for split in splits
        for uri in get_split_uris(examples, split)
        for path in matching_files(os.path.join(uri, "*"))
    ]


def _evaluate(
    config: EvalConfig,
    folders: Mapping[str, str],
    files: Sequence[str],
    output: str,
    exec_properties: Mapping[str, Any],
    is_first_run: bool,
) -> None:
    from stoker.components.scoring import missing_function, scored_batches
    from stoker.evaluation.engine import measure
    from stoker.evaluation.results import write_evaluation
    from stoker.evaluation.route import choose_engine
    from stoker.evaluation.thresholds import validate
    from stoker.evaluation.with_tfma import evaluate_with_tfma

    only_tfma = missing_function(config, folders)
    route = choose_engine(config, exec_properties.get("engine"), only_tfma=only_tfma)
    print(f"Evaluator {route}.", flush=True)
    if route.plan is None:
        evaluate_with_tfma(config, folders, files, output, rubber_stamp=is_first_run)
        return
    if _has_metrics_of_its_own(config, folders):
        print(
            "The metrics that the model was compiled with are left out: engine='tfma' has them, "
            "and include_default_metrics=False says that they are not wanted.",
            flush=True,
        )
    measured = measure(route.plan, scored_batches(config, folders, files))
    validation = validate(route.plan, measured, rubber_stamp=is_first_run)
    location = ",".join(dict.fromkeys(map(os.path.dirname, files)))
    write_evaluation(output, config, measured, validation, data_location=location, models=folders)


def _has_metrics_of_its_own(config: EvalConfig, folders: Mapping[str, str]) -> bool:
    """Whether a model comes with metrics of Keras 2, and nobody said to leave them out."""
    options = config.options
    wanted = (
        not options.HasField("include_default_metrics") or options.include_default_metrics.value
    )
    return wanted and any(
        os.path.exists(os.path.join(folder, "keras_metadata.pb")) for folder in folders.values()
    )


def _bless(blessing: Artifact, models: Sequence[Artifact], *, ok: bool) -> None:
    give_verdict(blessing, "BLESSED", blessed=ok)
    for role, model in zip(("current_model", "baseline_model"), models, strict=False):
        blessing.set_string_custom_property(role, model.uri)
        blessing.set_int_custom_property(f"{role}_id", model.id)
