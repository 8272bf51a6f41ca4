# SPDX-License-Identifier: Apache-2.0
"""What a BulkInferrer makes of a model's answers: TensorFlow Serving's logs, or tf.Examples."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    inference_pb2,
    input_pb2,
    model_pb2,
    predict_pb2,
    prediction_log_pb2,
    regression_pb2,
)

from stoker.dsl.proto.bulk_inferrer_pb2 import OutputColumnsSpec, OutputExampleSpec
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import ModelRejected
from stoker.models.inputs import Arrays
from stoker.models.serving_model import ServingModel

_CLASSIFY = "tensorflow/serving/classify"
_REGRESS = "tensorflow/serving/regress"

Batches = Iterable[list[bytes]]


def log_predictions(models: Sequence[ServingModel], batches: Batches) -> Iterator[bytes]:
    """A serialized PredictionLog for each example: what was asked, and the answer."""
    log = _log_all if len(models) > 1 else _log_one
    for records in batches:
        answers = [model(records) for model in models]
        for row, record in enumerate(records):
            rows = [{name: array[row] for name, array in one.items()} for one in answers]
            yield log(models, record, rows).SerializeToString()


def _log_one(models: Sequence[ServingModel], record: bytes, rows: list[Arrays]) -> Any:
    (model,), (row,) = models, rows
    spec = _spec(model)
    if model.signature.method == _CLASSIFY:
        log = prediction_log_pb2.ClassifyLog(
            request=classification_pb2.ClassificationRequest(model_spec=spec, input=_input(record)),
            response=classification_pb2.ClassificationResponse(result=_classify(row)),
        )
        return prediction_log_pb2.PredictionLog(classify_log=log)
    if model.signature.method == _REGRESS:
        log = prediction_log_pb2.RegressLog(
            request=regression_pb2.RegressionRequest(model_spec=spec, input=_input(record)),
            response=regression_pb2.RegressionResponse(result=_regress(row)),
        )
        return prediction_log_pb2.PredictionLog(regress_log=log)
    inputs = {name: tf.make_tensor_proto(one) for name, one in model.inputs.make([record]).items()}
    outputs = {name: tf.make_tensor_proto(value[np.newaxis]) for name, value in row.items()}
    log = prediction_log_pb2.PredictLog(
        request=predict_pb2.PredictRequest(model_spec=spec, inputs=inputs),
        response=predict_pb2.PredictResponse(outputs=outputs),
    )
    return prediction_log_pb2.PredictionLog(predict_log=log)


def _log_all(models: Sequence[ServingModel], record: bytes, rows: list[Arrays]) -> Any:
    request = inference_pb2.MultiInferenceRequest(input=_input(record))
    response = inference_pb2.MultiInferenceResponse()
    for model, row in zip(models, rows, strict=True):
        method = model.signature.method
        request.tasks.add(model_spec=_spec(model), method_name=method)
        if method == _CLASSIFY:
            response.results.add(model_spec=_spec(model), classification_result=_classify(row))
        elif method == _REGRESS:
            response.results.add(model_spec=_spec(model), regression_result=_regress(row))
        else:
            raise ModelRejected(
                f"Several signatures are asked at once, and {model.signature_name!r} neither "
                "classifies nor regresses. Name one signature, or write examples with an "
                "OutputExampleSpec."
            )
    log = prediction_log_pb2.MultiInferenceLog(request=request, response=response)
    return prediction_log_pb2.PredictionLog(multi_inference_log=log)


def _spec(model: ServingModel) -> Any:
    return model_pb2.ModelSpec(signature_name=model.signature_name)


def _input(record: bytes) -> Any:
    examples = input_pb2.ExampleList(examples=[tf.train.Example.FromString(record)])
    return input_pb2.Input(example_list=examples)


def _classify(row: Arrays) -> Any:
    classes = row.get("classes", np.array([], object)).reshape(-1)
    scores = row.get("scores", np.zeros(len(classes))).reshape(-1)
    labels = classes if len(classes) else [b""] * len(scores)
    return classification_pb2.ClassificationResult(
        classifications=[
            classification_pb2.Classifications(
                classes=[
                    classification_pb2.Class(label=label, score=float(score))
                    for label, score in zip(labels, scores, strict=True)
                ]
            )
        ]
    )


def _regress(row: Arrays) -> Any:
    value = float(row["outputs"].reshape(()))
    return regression_pb2.RegressionResult(regressions=[regression_pb2.Regression(value=value)])


@dataclass(frozen=True, slots=True)
class NewFeature:
    """An output of a signature that becomes a feature."""

    model: int
    """Which of the models answers."""
    output: str
    name: str


def choose_features(spec: OutputExampleSpec, models: Sequence[ServingModel]) -> list[NewFeature]:
    """The features that are asked for, each checked to be an output of its signature."""
    position = {model.signature_name: index for index, model in enumerate(models)}
    found = []
    for columns in spec.output_columns_spec:
        name = columns.signature_name or models[0].signature_name
        if name not in position or (len(models) > 1 and not columns.signature_name):
            raise ValueError(
                f"output_columns_spec: signature_name {columns.signature_name!r} is not one of the "
                f"signatures that are called: {', '.join(position)}."
            )
        model = models[position[name]]
        for output, feature in _pair_outputs(columns):
            if output not in model.signature.outputs:
                raise ValueError(
                    f"output_columns_spec: the signature {name!r} has no output {output!r}; it has "
                    f"{', '.join(model.signature.outputs)}."
                )
            found.append(NewFeature(position[name], output, feature))
    if not found:
        raise ValueError("OutputExampleSpec names no output column: name at least one.")
    return found


def _pair_outputs(columns: OutputColumnsSpec) -> list[tuple[str, str]]:
    """Pairs of an output and the feature that it becomes."""
    match columns.WhichOneof("outputs"):
        case "classify_output":
            asked = columns.classify_output
            pairs = [("classes", asked.label_column), ("scores", asked.score_column)]
        case "regress_output":
            pairs = [("outputs", columns.regress_output.value_column)]
        case _:
            pairs = [
                (one.output_key, one.output_column) for one in columns.predict_output.output_columns
            ]
    return [(output, feature) for output, feature in pairs if feature]


def add_predictions(
    models: Sequence[ServingModel], features: Sequence[NewFeature], batches: Batches
) -> Iterator[bytes]:
    """The examples, serialized, with the answers as further features."""
    for records in batches:
        answers = [model(records) for model in models]
        columns = [(new.name, _values(answers[new.model][new.output])) for new in features]
        for row, record in enumerate(records):
            example = Example.FromString(record)
            for name, (kind, values) in columns:
                feature = example.features.feature[name]
                feature.Clear()
                getattr(feature, kind).value.extend(values[row])
            yield example.SerializeToString(deterministic=True)


def _values(array: np.ndarray) -> tuple[str, list[list[Any]]]:
    """The list of a tf.Example that holds such values, and the values of each row."""
    kinds: dict[str, tuple[str, type]] = {"f": ("float_list", float)}
    kinds |= dict.fromkeys("iub", ("int64_list", int))
    kind, convert = kinds.get(array.dtype.kind, ("bytes_list", bytes))
    flat = array.reshape(len(array), -1).tolist()
    return kind, [[convert(value) for value in row] for row in flat]
