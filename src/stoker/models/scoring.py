# SPDX-License-Identifier: Apache-2.0
"""Examples with what models say of them, batch by batch: what an evaluation is computed from."""

import functools
import itertools
import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from stoker.any_python.progress import advance
from stoker.data.columns import read_columns
from stoker.data.decode import decode
from stoker.data.tfrecord import read_records
from stoker.dsl.proto.eval_config_pb2 import EvalConfig, ModelSpec
from stoker.errors import BadData, ModelRejected
from stoker.evaluation.compiled import Compiled, read_compiled
from stoker.evaluation.engine import Batch
from stoker.evaluation.features import Feature, Features, column, features_of
from stoker.evaluation.model_types import (
    EVAL_SAVED_MODEL,
    KERAS,
    TFJS,
    TFLITE,
    is_eval_saved_model,
    is_saved_model,
)
from stoker.models.eval_saved_model import EvalSavedModel, load_eval_saved_model
from stoker.models.evaluated_model import EvaluatedModel
from stoker.models.inputs import Arrays
from stoker.models.saved_model import has_saved_model, list_files, read_graphs
from stoker.models.serving_model import ServingModel

_BATCH_ROWS = 2048


def find_missing_function(config: EvalConfig, models: Mapping[str, str]) -> str | None:
    """A preprocessing function that is no signature of its model, if there is one."""
    for spec in config.model_specs:
        if spec.name in models:
            known = _list_preprocessors(spec, models[spec.name])
            for name in set(spec.preprocessing_function_names).difference(known):
                return f"the preprocessing function {name!r}, which is no signature of the model"
    return None


def _list_preprocessors(spec: ModelSpec, folder: str) -> list[str]:
    """The preprocessing functions of a spec that are signatures; TFMA calls the others."""
    names = list(spec.preprocessing_function_names)
    if not names:
        return []
    signatures = {name for graph in read_graphs(folder) for name in graph.signatures}
    return [name for name in names if name in signatures]


def read_compiled_metrics(config: EvalConfig, models: Mapping[str, str]) -> dict[str, Compiled]:
    """The metrics that SavedModels come with, by the models' names."""
    found = {}
    for spec in config.model_specs:
        if spec.name in models and is_saved_model(spec):
            estimator = find_estimator(spec, models[spec.name])
            compiled = estimator.compiled if estimator else read_compiled(models[spec.name])
            found[spec.name] = compiled
    return found


def find_estimator(spec: ModelSpec, folder: str) -> EvalSavedModel | None:
    """An Estimator's graph for evaluation, if it is what a spec means."""
    if not is_saved_model(spec):
        return None
    if not has_saved_model(folder):
        said = f" of the type {spec.model_type!r}" if spec.model_type else ""
        raise ModelRejected(
            f"There is no SavedModel{said} in {folder}: {list_files(folder)}. Name what is there "
            "in ModelSpec.model_type, or load it in a module_file: custom_eval_shared_model."
        )
    if spec.model_type and not is_eval_saved_model(spec):
        return None
    found = load_eval_saved_model(folder)
    if found is None and spec.model_type == EVAL_SAVED_MODEL:
        raise ModelRejected(
            f"The SavedModel in {folder} is for serving, and ModelSpec.model_type says that it is "
            f"an Estimator's for evaluation, {EVAL_SAVED_MODEL!r}. Leave out model_type."
        )
    return found


def score_batches(
    config: EvalConfig, models: Mapping[str, str], files: Sequence[str]
) -> Iterator[Batch]:
    """All examples of some files, asked of each model; the next batch is asked meanwhile.

    For a model that `models` lacks, the examples have the predictions.
    """
    scorers = _load_scorers(config.SerializeToString(deterministic=True), tuple(models.items()))

    def score(records: list[bytes], columns: pa.RecordBatch) -> Batch:
        features = features_of(columns)
        known = {one.name: {**features, **one.preprocess(records)} for one in scorers}
        outputs = {one.name: one.predict(records, known[one.name]) for one in scorers}
        return Batch(known, outputs, records)

    size = config.model_specs[0].inference_batch_size or _BATCH_ROWS
    with ThreadPoolExecutor(1) as beside:
        asked: Future[Batch] | None = None
        for records, columns in read_batches(files, size):
            advance(len(records))
            ready, asked = asked, beside.submit(score, records, columns)
            if ready:
                yield ready.result()
        if asked:
            yield asked.result()


@functools.lru_cache(maxsize=1)
def _load_scorers(config: bytes, models: tuple[tuple[str, str], ...]) -> "list[_Scorer]":
    """The models of a configuration, which this process keeps for its next shard."""
    folders = dict(models)
    specs = EvalConfig.FromString(config).model_specs
    return [_load_scorer(spec, folders.get(spec.name)) for spec in specs]


def forget_models() -> None:
    """Let go of what was loaded: an evaluation is over."""
    _load_scorers.cache_clear()


class _Scorer(NamedTuple):
    """A model, and what makes further features of its examples."""

    name: str
    predict: Callable[[Sequence[bytes], Features], Arrays]
    preprocessors: Sequence[Callable[[Sequence[bytes]], Arrays]] = ()

    def preprocess(self, records: Sequence[bytes]) -> dict[str, Feature]:
        return {
            name: Feature.of_rows(rows)
            for function in self.preprocessors
            for name, rows in function(records).items()
        }


def _load_scorer(spec: ModelSpec, folder: str | None) -> _Scorer:
    """What a spec says that there is in a folder, loaded; nothing else is ever asked."""
    if folder is None:
        return _Scorer(spec.name, partial(_read_predictions, spec.prediction_key))
    if estimator := find_estimator(spec, folder):  # it makes the labels and features itself
        return _Scorer(spec.name, _ask(estimator), [estimator.preprocess])
    functions = [ServingModel(folder, name) for name in _list_preprocessors(spec, folder)]
    return _Scorer(spec.name, _ask(load_model(spec, folder)), functions)


def load_model(spec: ModelSpec, folder: str) -> Callable[[Sequence[bytes]], Arrays]:
    """The model in a folder that is of the type that a spec names."""
    if spec.model_type not in (TFLITE, TFJS):
        is_keras = spec.model_type in ("", KERAS)
        return EvaluatedModel(folder, spec.signature_name, is_keras=is_keras)
    from stoker.models import other_formats  # its converters take a while to import

    if spec.model_type == TFLITE:
        return other_formats.load_tflite(folder, spec.signature_name)
    return other_formats.load_tfjs(folder)


def _ask(
    model: Callable[[Sequence[bytes]], Arrays],
) -> Callable[[Sequence[bytes], Features], Arrays]:
    return lambda records, _: model(records)


def _read_predictions(name: str, _: Sequence[bytes], features: Features) -> Arrays:
    """The predictions that are in the examples."""
    return {name: column(features, name, "prediction")}


def read_batches(files: Sequence[str], size: int) -> Iterator[tuple[list[bytes], pa.RecordBatch]]:
    """Some examples at a time as they are stored, and their columns, decoded if they must be."""
    columns = read_columns(files, decode_missing=False)
    if columns is None:
        for path in files:
            yield from _decode_file(path, size)
        return
    records = itertools.chain.from_iterable(map(read_records, files))
    for block in columns.blocks():
        for start in range(0, block.num_rows, size):
            part = block.slice(start, size)
            yield list(itertools.islice(records, part.num_rows)), part
        for file in columns.files:
            file.data.madvise(mmap.MADV_DONTNEED)  # what was read counts as memory until then


def _decode_file(path: str, size: int) -> Iterator[tuple[list[bytes], pa.RecordBatch]]:
    records = read_records(path)
    while batch := list(itertools.islice(records, size)):
        try:
            yield batch, *decode(batch, batch_rows=size)
        except BadData as error:
            raise BadData(f"{path}: {error}") from error
