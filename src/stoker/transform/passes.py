# SPDX-License-Identifier: Apache-2.0
"""One pass over the data per phase of an analysis, its shards worked on by a pool."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.dsl.pool import LocalPool, Pool
from stoker.transform.accumulate import Accumulation
from stoker.transform.apply import calls_python, load_graph
from stoker.transform.internals import DatasetKey

Elements = list[Any]


Read = Callable[[], Iterator[pa.RecordBatch]]
"""Reads record batches with a list column per feature, as tfx_bsl's decoder makes them.

It is pickled: let it be a function of a module, or a functools.partial of one.
"""

_MOST_PARTS = 16
"""So many accumulators wait until they are merged to one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A part of the data, such as a span, whose analysis can be reused when others are added."""

    key: str
    shards: Sequence[Read]


@dataclass(slots=True, kw_only=True)
class Pass:
    """A graph to apply to the data, and what to gather of its outputs, of one dataset or of all."""

    saved_model: Callable[[], Elements]
    wanted: list[tuple[DatasetKey, Accumulation]] = field(default_factory=list)

    def of(self, key: DatasetKey) -> list[int]:
        """Which of the wanted things a dataset is read for."""
        return [
            index
            for index, (wanted, _) in enumerate(self.wanted)
            if wanted.is_flattened_dataset_key() or wanted == key
        ]


def gather(
    one_pass: Pass, datasets: Sequence[Dataset], schema: schema_pb2.Schema, pool: Pool
) -> list[Elements]:
    """What a pass gathers: a list of elements for each thing that is wanted.

    Datasets for which nothing is wanted, because a cache has it, are not read.
    """
    (saved_model_dir,) = one_pass.saved_model()
    accumulations = [accumulation for _, accumulation in one_pass.wanted]
    shards = [
        (read, indices)
        for dataset in datasets
        if (indices := one_pass.of(DatasetKey(dataset.key)))
        for read in dataset.shards
    ]
    if calls_python(saved_model_dir):
        pool = LocalPool()
    gathered: list[list[Any]] = [[] for _ in accumulations]
    for found in pool.map(partial(_read_shard, saved_model_dir, schema, accumulations), shards):
        for index, accumulator in found.items():
            parts = gathered[index]
            parts.append(accumulator)
            if len(parts) == _MOST_PARTS:
                parts[:] = [accumulations[index].merge(parts)]
    return [
        accumulation.elements(parts)
        for accumulation, parts in zip(accumulations, gathered, strict=True)
    ]


def _read_shard(
    saved_model_dir: str,
    schema: schema_pb2.Schema,
    accumulations: list[Accumulation],
    shard: tuple[Read, list[int]],
) -> dict[int, Any]:
    """An accumulator of a shard for each accumulation that its dataset is read for."""
    read, indices = shard
    graph = load_graph(saved_model_dir, schema)
    accumulators = {index: accumulations[index].start() for index in indices}
    for batch in read():
        if not batch.num_rows:
            continue
        tensors = {name: np.asarray(tensor) for name, tensor in graph(batch).items()}
        for index in indices:
            accumulation = accumulations[index]
            values = tuple(tensors[key] for key in accumulation.keys)
            accumulators[index] = accumulation.add(accumulators[index], values)
    return {index: accumulations[index].pack(one) for index, one in accumulators.items()}
