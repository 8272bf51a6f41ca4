# SPDX-License-Identifier: Apache-2.0
"""ExampleGen: where data enters a pipeline. Files of several kinds become split tf.Examples."""

from stoker.components.example_gen.component import (
    FORMATS,
    CsvExampleGen,
    FileBasedExampleGen,
    FileBasedExampleGenSpec,
    ImportExampleGen,
    JsonExampleGen,
    ParquetExampleGen,
)

__all__ = [
    "FORMATS",
    "CsvExampleGen",
    "FileBasedExampleGen",
    "FileBasedExampleGenSpec",
    "ImportExampleGen",
    "JsonExampleGen",
    "ParquetExampleGen",
]
