# SPDX-License-Identifier: Apache-2.0
"""What CsvExampleGen does in a worker."""

from stoker.components.example_gen.executor import CsvExecutor as Executor
from stoker.components.example_gen.executor import read_csv as _CsvToExample
from stoker.stand_ins.tfx.csv_rows import (
    make_converter as _ParsedCsvToTfExample,
    make_reader as _ReadCsvRecordsFromTextFile,
)
