# SPDX-License-Identifier: Apache-2.0
"""CSV to examples, as CsvExampleGen's worker does it: TFRecords in two splits, with columns."""

import json
import os
import sys

import data_rows
import measuring

from stoker.artifacts import Examples
from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.example_gen.executor import CsvExecutor


def main(folder: str) -> None:
    examples = Examples()
    examples.uri = data_rows.examples_dir(folder)
    step = CsvExampleGen(os.path.dirname(data_rows.csv_file(folder)))
    clock = measuring.Clock()
    CsvExecutor().Do({}, {"examples": [examples]}, step.spec.values({}))
    wall, cpu = clock.since()
    print(json.dumps({"wall": wall, "cpu": cpu}))


if __name__ == "__main__":
    main(sys.argv[1])
