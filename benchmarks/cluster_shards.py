# SPDX-License-Identifier: Apache-2.0
"""The step that `cluster_data.py` measures: a table that is made where it is counted.

A shard is a number, of which its rows are made. So a table may be larger than any disk here.
"""

import os
from typing import Any, ClassVar

import data_rows
import numpy as np
import pyarrow as pa

from stoker import dsl
from stoker.any_python.progress import advance, follow
from stoker.artifacts import ExampleStatistics
from stoker.data.encode import as_lists
from stoker.dsl.executor import BaseExecutor
from stoker.statistics.compute import STATISTICS_FILE, Counts, write_statistics

_BATCH_ROWS = 1 << 12


class CountTableSpec(dsl.ComponentSpec):
    PARAMETERS: ClassVar = {
        "num_shards": dsl.ExecutionParameter(type=int),
        "shard_rows": dsl.ExecutionParameter(type=int),
        "num_processes": dsl.ExecutionParameter(type=int),
    }
    OUTPUTS: ClassVar = {"statistics": dsl.ChannelParameter(type=ExampleStatistics)}


class CountTable(dsl.BaseComponent):
    SPEC_CLASS: ClassVar = CountTableSpec
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec("cluster_shards:Executor")
    WORKS_ON_SHARDS: ClassVar = True

    def __init__(self, *, num_shards: int, shard_rows: int, num_processes: int = 1) -> None:
        super().__init__(CountTableSpec.from_arguments(locals()))


class Executor(BaseExecutor):
    def Do(
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        assert not input_dict
        num_shards, rows = exec_properties["num_shards"], exec_properties["shard_rows"]
        (statistics,) = output_dict["statistics"]
        shards = ((number, rows) for number in range(num_shards))
        with (
            self._context.open_pool(num_shards, exec_properties["num_processes"]) as pool,
            follow("counting", total=num_shards * rows),
        ):
            total = Counts.of([])
            for counts in pool.map(count_shard, shards):
                total.merge(counts)
        write_statistics(total.describe(), os.path.join(statistics.uri, STATISTICS_FILE))


def count_shard(shard: tuple[int, int]) -> Counts:
    number, rows = shard
    random = np.random.default_rng(number)
    words = data_rows.make_words()
    table = data_rows.make_block(random, words, rows)
    (batch,) = table.combine_chunks().to_batches(rows)
    columns = [as_lists(column, empty_is_null=True) for column in batch.columns]
    lists = pa.RecordBatch.from_arrays(columns, batch.schema.names)
    counts = Counts.of(lists.slice(start, _BATCH_ROWS) for start in range(0, rows, _BATCH_ROWS))
    advance(rows)
    return counts
