# SPDX-License-Identifier: Apache-2.0
"""One pass over the data per phase of an analysis, shared by the processes of a pool."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2
from tensorflow_transform.beam.analyzer_cache import DatasetKey

from stoker.transform.accumulate import Accumulation
from stoker.transform.apply import LoadedGraph, calls_python
from stoker.transform.pool import Pool

Elements = list[Any]


class Read(Protocol):
    """Reads record batches with a list column per feature, as tfx_bsl's decoder makes them."""

    def __call__(self, share: int, num_shares: int) -> Iterator[pa.RecordBatch]:
        """The batches that one of several processes takes; all shares together are all batches."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A part of the data, such as a span, whose analysis can be reused when others are added.

    `read` is pickled: let it be a function of a module, or a functools.partial of one.
    """

    key: str
    read: Read


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
    work = [
        (dataset.read, indices)
        for dataset in datasets
        if (indices := one_pass.of(DatasetKey(dataset.key)))
    ]
    run = pool.run_here if calls_python(saved_model_dir) else pool.run
    shares = run(_read_share, saved_model_dir, schema, accumulations, work)
    return [
        accumulation.elements([accumulator for share in shares for accumulator in share[index]])
        for index, accumulation in enumerate(accumulations)
    ]


def _read_share(
    share: int,
    num_shares: int,
    saved_model_dir: str,
    schema: schema_pb2.Schema,
    accumulations: list[Accumulation],
    work: list[tuple[Read, list[int]]],
) -> list[list[Any]]:
    """For each accumulation, an accumulator per dataset; of this process's share of the batches."""
    graph = LoadedGraph(saved_model_dir, schema)
    results: list[list[Any]] = [[] for _ in accumulations]
    for read, indices in work:
        accumulators = {index: accumulations[index].start() for index in indices}
        for batch in read(share, num_shares):
            if not batch.num_rows:
                continue
            tensors = {name: np.asarray(tensor) for name, tensor in graph(batch).items()}
            for index in indices:
                accumulation = accumulations[index]
                values = tuple(tensors[key] for key in accumulation.keys)
                accumulators[index] = accumulation.add(accumulators[index], values)
        for index in indices:
            results[index].append(accumulations[index].pack(accumulators[index]))
    return results
