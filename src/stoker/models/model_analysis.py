# SPDX-License-Identifier: Apache-2.0
"""`tfma.run_model_analysis` on Stoker's engine, in the process that calls it.

model = tfma.default_eval_shared_model(path, eval_config=eval_config)
result = tfma.run_model_analysis(model, eval_config, data_location="eval-*.gz")
"""

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import Message

from stoker.any_python.temporary import make_temporary_dir
from stoker.data.encode import each, encode
from stoker.data.input_files import bring_files
from stoker.data.tfrecord import write_records
from stoker.dsl.proto.eval_config_pb2 import EvalConfig
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import MissingPart
from stoker.evaluation.config import as_eval_config, has_change_thresholds, with_defaults
from stoker.stand_ins.beam_options import say_where_it_runs
from stoker.stand_ins.tfma.constants import (
    ARROW_INPUT_COLUMN,
    DATA_CENTRIC_MODE,
    MODEL_CENTRIC_MODE,
)
from stoker.stand_ins.tfma.metrics import NamedMetric
from stoker.stand_ins.tfma.results import (
    EvalResult,
    EvalResults,
    load_eval_result,
    make_eval_results,
)
from stoker.stand_ins.tfma.shared_models import (
    EvalSharedModel,
    default_eval_shared_model,
    verify_and_update_eval_shared_models,
)
from stoker.storage.by_path import bring_here, send_there

_NEEDS_TFMA = "evaluators", "writers"
_OF_NO_FILE: Mapping[str, Any] = {
    "display_only_data_location": "<user provided PCollection>",
    "display_only_file_format": "<unknown>",
}
"""What TFMA calls examples that are in no file of the user's."""


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
    display_only_data_location: str | None = None,
    display_only_file_format: str | None = None,
    **_: Any,
) -> Any:
    """Evaluate a model, and a baseline if there is one, on files of tf.Examples.

    Without a model, the examples have the predictions: `ModelSpec.prediction_key` names them.
    The answer is an EvalResult; of several models EvalResults, as with TFMA. What is `display_only`
    is how it calls the examples.
    """
    for name, value in zip(_NEEDS_TFMA, (evaluators, writers), strict=True):
        if value:
            raise MissingPart(
                f"run_model_analysis({name}=…) needs TFMA: pip install 'stoker[evaluator]'. "
                "Without it leave them out; eval_config says which metrics."
            )
    if file_format not in ("tfrecords", "tfrecord"):
        raise ValueError(f"run_model_analysis reads TFRecord files, got {file_format!r}.")
    from stoker.models.evaluate import Evaluation  # TensorFlow, which a name alone must not load

    say_where_it_runs(pipeline_options)
    models = _in_order(eval_shared_model)
    given = _add_to_config(eval_config, models, slice_spec)
    config = with_defaults(given, has_baseline=len(models) > 1)
    output_path = output_path or make_temporary_dir()
    with tempfile.TemporaryDirectory() as folder, send_there(output_path) as output_dir:
        os.makedirs(output_dir, exist_ok=True)
        Evaluation(
            config=config,
            models={
                spec.name: bring_here(str(one.model_path))
                for spec, one in zip(config.model_specs, models, strict=False)
            },
            files=bring_files(data_location),
            data_location=display_only_data_location or data_location,
            file_format=display_only_file_format or file_format,
            schema_path=_write_schema(schema, folder),
            output_dir=output_dir,
            rubber_stamp=any(one.rubber_stamp for one in models)
            or (has_change_thresholds(given) and len(models) == 1),
        ).run(None, {"custom_extractors": lambda **_: extractors} if extractors else {})
        if len(config.model_specs) == 1:
            return load_eval_result(output_dir)
        results = [load_eval_result(output_dir, model_name=one.name) for one in config.model_specs]
        return make_eval_results(results, MODEL_CENTRIC_MODE)


def _add_to_config(
    given: EvalConfig | Mapping[str, Any] | None,
    models: Sequence[EvalSharedModel],
    slice_spec: Sequence[Any] | None,
) -> EvalConfig:
    """A configuration with what older calls say elsewhere: slices, and metrics of a model."""
    config = EvalConfig() if given is None else as_eval_config(given)
    for spec in slice_spec or ():
        config.slicing_specs.append(spec.as_message())
    for metric in (models[0].add_metrics_callbacks if models else None) or ():
        if not isinstance(metric, NamedMetric):
            raise MissingPart(
                "add_metrics_callbacks with functions of your own need TFMA 0.46 or older. Use "
                "those of tfma.post_export_metrics, or name metrics in eval_config."
            )
        config.metrics_specs.add().metrics.append(metric.as_config())
    for spec, model in zip(config.model_specs, models, strict=False):
        spec.model_type = spec.model_type or model.model_type
    return config


def _in_order(given: Any) -> list[EvalSharedModel]:
    """The candidate, and then the baseline; none, if the examples have the predictions."""
    models = verify_and_update_eval_shared_models(given) or []
    if len(models) > 2:
        raise ValueError(
            "run_model_analysis takes a model of default_eval_shared_model(…), or two of which one "
            f"is the baseline, got {len(models)}."
        )
    return sorted(models, key=lambda one: one.is_baseline)


def multiple_model_analysis(
    model_locations: Sequence[str], data_location: str, **how: Any
) -> EvalResults:
    """Evaluate several models on the same examples."""
    results = [
        run_model_analysis(default_eval_shared_model(one), data_location=data_location, **how)
        for one in model_locations
    ]
    return make_eval_results(results, MODEL_CENTRIC_MODE)


def multiple_data_analysis(
    model_location: str, data_locations: Sequence[str], **how: Any
) -> EvalResults:
    """Evaluate one model on several sets of examples."""
    model = default_eval_shared_model(model_location)
    results = [run_model_analysis(model, data_location=one, **how) for one in data_locations]
    return make_eval_results(results, DATA_CENTRIC_MODE)


def analyze_raw_data(
    data: Any,
    eval_config: EvalConfig | Mapping[str, Any],
    output_path: str | None = None,
    **_: Any,
) -> EvalResult:
    """Evaluate the predictions in a pandas data frame: a row for each example."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "examples.gz")
        write_records(path, (_encode_row(row) for row in data.to_dict("records")))
        result: EvalResult = run_model_analysis(
            eval_config=eval_config, data_location=path, output_path=output_path, **_OF_NO_FILE
        )
    return result


def _encode_row(row: Mapping[str, Any]) -> bytes:
    example = Example()
    for name, value in row.items():
        feature = example.features.feature[str(name)]
        values = value if isinstance(value, list | tuple) else [value]
        for one in values:
            if isinstance(one, str | bytes):
                text = one.encode() if isinstance(one, str) else one
                feature.bytes_list.value.append(text)
            elif isinstance(one, float):
                feature.float_list.value.append(one)
            elif one is not None:
                feature.int64_list.value.append(int(one))
    return example.SerializeToString()


def is_batched_input(*_: Any, **__: Any) -> bool:
    """Whether many examples are read at once: always."""
    return True


def default_evaluators(*_: Any, **__: Any) -> list[Any]:
    """None: `run_model_analysis` computes what eval_config names."""
    return []


def default_writers(*_: Any, **__: Any) -> list[Any]:
    """None: `run_model_analysis` writes TFMA's files."""
    return []


def is_legacy_estimator(*_: Any, **__: Any) -> bool:
    """Whether a model is one that only TFMA's first evaluators know: never."""
    return False


def ExtractEvaluateAndWriteResults(
    eval_shared_model: Any = None,
    eval_config: EvalConfig | Mapping[str, Any] | None = None,
    output_path: str = "",
    **how: Any,
) -> Any:
    """A step of a Beam pipeline: evaluate examples, serialized or in Arrow's record batches."""
    import apache_beam as beam

    if not output_path:
        raise ValueError("ExtractEvaluateAndWriteResults needs output_path: a folder for results.")
    known = ("slice_spec", "schema", "extractors", *_NEEDS_TFMA, *_OF_NO_FILE)
    arguments = {
        "eval_shared_model": eval_shared_model,
        "eval_config": eval_config,
        "output_path": output_path,
        **_OF_NO_FILE,
        **{key: how[key] for key in known if how.get(key) is not None},
    }

    @beam.ptransform_fn  # type: ignore[untyped-decorator]
    def evaluate(examples: Any) -> Any:
        return (
            examples
            | "ListRecords" >> beam.FlatMap(_list_records)
            | "Gather" >> beam.combiners.ToList()
            | "Evaluate" >> beam.Map(_evaluate_records, arguments)
        )

    return evaluate()


def _list_records(element: Any) -> Iterable[bytes]:
    """Serialized examples: one, or those of a record batch, which may have them in a column."""
    if isinstance(element, bytes):
        return [element]
    if ARROW_INPUT_COLUMN in element.schema.names:
        column = element.column(ARROW_INPUT_COLUMN)
        return [bytes(one[0]) if isinstance(one, list) else one for one in column.to_pylist()]
    return each(encode(element, "absent"))


def _evaluate_records(records: Sequence[bytes], arguments: Mapping[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "examples.gz")
        write_records(path, records)
        run_model_analysis(data_location=path, **arguments)


def _write_schema(schema: Message | None, folder: str) -> str | None:
    if schema is None:
        return None
    path = os.path.join(folder, "schema.pbtxt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text_format.MessageToString(schema))
    return path
