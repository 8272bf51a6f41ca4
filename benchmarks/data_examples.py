# SPDX-License-Identifier: Apache-2.0
"""CSV to examples, as CsvExampleGen's worker does it: TFRecords in two splits, with columns.

With --stages it says which functions the CPU seconds were spent in.
"""

import gc
import json
import os
import sys

import data_rows
import measuring

from stoker.artifacts import Examples
from stoker.components.example_gen import executor
from stoker.components.example_gen.component import CsvExampleGen
from stoker.data import column_file, csv, shards

STAGES = {
    "cells to typed columns": (csv, "columns_of"),
    "columns to serialized examples": (executor, "encode"),
    "checksums and framing (CRC-32C)": (shards, "_frame"),
    "splits (SHA-256 of each example)": (shards, "split_indices"),
    "examples and columns to their splits": (shards, "_pack_by_split"),
    "compression (deflate)": (shards, "_pack_frames"),
    "writing records": (shards.ShardWriter, "write"),
    "writing columns": (column_file.ColumnWriter, "write"),
}


def main(folder: str, show_stages: bool) -> None:
    examples = Examples()
    examples.uri = data_rows.examples_dir(folder)
    step = CsvExampleGen(os.path.dirname(data_rows.csv_file(folder)))
    stages = measuring.Stages(STAGES) if show_stages else None
    gc.freeze()  # as the fork server has done it for a worker
    clock = measuring.Clock()
    executor.CsvExecutor().Do({}, {"examples": [examples]}, step.spec.values({}))
    wall, cpu = clock.since()
    if stages:
        stages.show(cpu)
    print(json.dumps({"wall": wall, "cpu": cpu}))


if __name__ == "__main__":
    main(sys.argv[1], "--stages" in sys.argv)
