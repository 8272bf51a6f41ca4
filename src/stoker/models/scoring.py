# SPDX-License-Identifier: Apache-2.0
"""Examples with what models say of them, batch by batch: what an evaluation is computed from."""

import itertools
import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import pyarrow as pa

from stoker.data.columns import read_columns
from stoker.data.decode import decode
from stoker.data.tfrecord import read_records
from stoker.dsl.proto.eval_config_pb2 import EvalConfig, ModelSpec
from stoker.errors import BadData
from stoker.evaluation.engine import Batch
from stoker.evaluation.features import Feature, features_of
from stoker.models.eval_saved_model import load_eval_saved_model
from stoker.models.inputs import Arrays
from stoker.models.saved_model import read_graphs
from stoker.models.serving_model import ServingModel

_BATCH_ROWS = 2048


def find_missing_function(config: EvalConfig, models: Mapping[str, str]) -> str | None:
    """A preprocessing function that is no signature of its model, if there is one."""
    for spec in config.model_specs:
        signatures = {name for graph in read_graphs(models[spec.name]) for name in graph.signatures}
        for name in spec.preprocessing_function_names:
            if name not in signatures:
                return f"the preprocessing function {name!r}, which is no signature of the model"
    return None


def score_batches(
    config: EvalConfig, models: Mapping[str, str], files: Sequence[str]
) -> Iterator[Batch]:
    """All examples of some files, asked of each model; the next batch is asked meanwhile."""
    scorers = [_load_scorer(spec, models[spec.name]) for spec in config.model_specs]

    def score(records: list[bytes], columns: pa.RecordBatch) -> Batch:
        features = features_of(columns)
        return Batch(
            {one.name: {**features, **one.preprocess(records)} for one in scorers},
            {one.name: one.model(records) for one in scorers},
            records,
        )

    size = config.model_specs[0].inference_batch_size or _BATCH_ROWS
    with ThreadPoolExecutor(1) as beside:
        asked: Future[Batch] | None = None
        for records, columns in _read_batches(files, size):
            ready, asked = asked, beside.submit(score, records, columns)
            if ready:
                yield ready.result()
        if asked:
            yield asked.result()


class _Scorer(NamedTuple):
    """A model, and what makes further features of its examples."""

    name: str
    model: Callable[[Sequence[bytes]], Arrays]
    preprocessors: Sequence[Callable[[Sequence[bytes]], Arrays]]

    def preprocess(self, records: Sequence[bytes]) -> dict[str, Feature]:
        return {
            name: Feature.of_rows(rows)
            for function in self.preprocessors
            for name, rows in function(records).items()
        }


def _load_scorer(spec: ModelSpec, folder: str) -> _Scorer:
    if estimator := load_eval_saved_model(folder):  # it makes the labels and features itself
        return _Scorer(spec.name, estimator, [estimator.preprocess])
    model = ServingModel(folder, spec.signature_name)
    functions = [
        ServingModel(folder, name)
        for name in spec.preprocessing_function_names
        if name in model.inputs.graph.signatures  # TFMA calls the others
    ]
    return _Scorer(spec.name, model, functions)


def _read_batches(files: Sequence[str], size: int) -> Iterator[tuple[list[bytes], pa.RecordBatch]]:
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
