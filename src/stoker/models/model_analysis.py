# SPDX-License-Identifier: Apache-2.0
"""`tfma.run_model_analysis` on Stoker's engine, in the process that calls it.

model = tfma.default_eval_shared_model(path, eval_config=eval_config)
result = tfma.run_model_analysis(model, eval_config, data_location="eval-*.gz")
"""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import Message

from stoker.data.input_files import matching_files
from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.errors import MissingPart
from stoker.evaluation.config import as_eval_config, has_change_thresholds, with_defaults
from stoker.models.evaluate import Evaluation
from stoker.stand_ins.tfma.results import EvalResult, load_eval_result

_BASELINE = "baseline"
_NEEDS_TFMA = "extractors", "evaluators", "writers"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSharedModel:
    """A model to evaluate."""

    model_path: str
    model_name: str = ""
    is_baseline: bool = False
    rubber_stamp: bool = False
    model_type: str | None = None


MaybeMultipleEvalSharedModels = (
    EvalSharedModel | Sequence[EvalSharedModel] | Mapping[str, EvalSharedModel] | None
)


def default_eval_shared_model(
    eval_saved_model_path: str,
    add_metrics_callbacks: Any = None,
    include_default_metrics: bool = True,
    example_weight_key: Any = None,
    additional_fetches: Any = None,
    blacklist_feature_fetches: Any = None,
    tags: Any = None,
    model_type: str | None = None,
    model_name: str = "",
    rubber_stamp: bool = False,
    eval_config: EvalConfig | None = None,
    is_baseline: bool = False,
    **_: Any,
) -> EvalSharedModel:
    """A model in a folder; the eval_config of `run_model_analysis` says how it is called."""
    del include_default_metrics, example_weight_key, additional_fetches, blacklist_feature_fetches
    del tags, eval_config
    if add_metrics_callbacks:
        raise MissingPart(
            "default_eval_shared_model(add_metrics_callbacks=…) needs TFMA 0.46 or older. Name the "
            "metrics in eval_config instead: MetricsSpec(metrics=[MetricConfig(class_name='AUC')])."
        )
    return EvalSharedModel(
        model_path=os.fspath(eval_saved_model_path),
        model_name=model_name,
        is_baseline=is_baseline or model_name == _BASELINE,
        rubber_stamp=rubber_stamp,
        model_type=model_type,
    )


def run_model_analysis(
    eval_shared_model: Any = None,
    eval_config: EvalConfig | Mapping[str, Any] | None = None,
    data_location: str = "",
    file_format: str = "tfrecords",
    output_path: str | None = None,
    extractors: Any = None,
    evaluators: Any = None,
    writers: Any = None,
    pipeline_options: Any = None,
    slice_spec: Sequence[Any] | None = None,
    schema: Message | None = None,
    **_: Any,
) -> EvalResult:
    """Evaluate a model, and a baseline if there is one, on files of tf.Examples."""
    del pipeline_options
    for name, value in zip(_NEEDS_TFMA, (extractors, evaluators, writers), strict=True):
        if value is not None:
            raise MissingPart(
                f"run_model_analysis({name}=…) needs TFMA: pip install 'stoker[evaluator]'. "
                "Without it leave them out; eval_config says which metrics."
            )
    if file_format not in ("tfrecords", "tfrecord"):
        raise ValueError(f"run_model_analysis reads TFRecord files, got {file_format!r}.")
    models = _in_order(eval_shared_model)
    given = EvalConfig() if eval_config is None else as_eval_config(eval_config)
    for spec in slice_spec or ():
        given.slicing_specs.append(spec.as_message())
    config = with_defaults(given, has_baseline=len(models) > 1)
    output_dir = output_path or tempfile.mkdtemp(prefix="evaluation-")
    os.makedirs(output_dir, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        Evaluation(
            config=config,
            models={
                spec.name: one.model_path
                for spec, one in zip(config.model_specs, models, strict=True)
            },
            files=matching_files(data_location),
            schema_path=_write_schema(schema, folder),
            output_dir=output_dir,
            rubber_stamp=models[0].rubber_stamp
            or (has_change_thresholds(given) and len(models) == 1),
        ).run(None, {})
    return load_eval_result(output_dir)


def _in_order(given: Any) -> list[EvalSharedModel]:
    """The candidate, and then the baseline."""
    found = list(given.values()) if isinstance(given, Mapping) else given
    models = [found] if isinstance(found, EvalSharedModel) else list(found or ())
    if not 1 <= len(models) <= 2:
        raise ValueError(
            "run_model_analysis takes a model of default_eval_shared_model(…), or two of which one "
            f"is the baseline, got {given!r}."
        )
    return sorted(models, key=lambda one: one.is_baseline)


def _write_schema(schema: Message | None, folder: str) -> str | None:
    if schema is None:
        return None
    path = os.path.join(folder, "schema.pbtxt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text_format.MessageToString(schema))
    return path
