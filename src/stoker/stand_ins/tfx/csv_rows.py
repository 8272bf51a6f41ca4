# SPDX-License-Identifier: Apache-2.0
"""The steps of TFX's own CSV reading, which some put together anew with tfx_bsl's `csv_decoder`.

beam.ParDo(make_reader()) | beam.ParDo(csv_decoder.ParseCSVLine(",")) | …
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stoker.data.input_files import open_any
from stoker.errors import BadData


def make_reader() -> Callable[[str], Iterator[str]]:
    """What gives the rows of a file."""
    return _read_rows


def make_converter() -> Callable[[Sequence[bytes], Sequence[Any]], Iterator[Any]]:
    """What makes a tf.train.Example of a row's cells, with what is known of the columns."""
    return _convert_cells


def _read_rows(path: str) -> Iterator[str]:
    """The rows below the header; one with a line break between quotes is several lines."""
    with open_any(path) as file:
        file.readline()
        row = ""
        for line in file:
            row += line.decode()
            if row.count('"') % 2 == 0:
                yield row
                row = ""
    if row:
        raise BadData(f"{path}: a quote is opened and never closed. Close it.")


def _convert_cells(cells: Sequence[bytes], columns: Sequence[Any]) -> Iterator[Any]:
    from tensorflow.core.example.example_pb2 import Example
    from tfx_bsl.coders.csv_decoder import ColumnType

    if not cells:  # a blank line
        return
    if len(cells) != len(columns):
        raise BadData(
            f"A row has {len(cells)} cells, and the header {len(columns)}: {cells!r}. Correct it."
        )
    kinds: dict[Any, tuple[str, Callable[[bytes], Any]]] = {
        ColumnType.INT: ("int64_list", int),
        ColumnType.FLOAT: ("float_list", float),
        ColumnType.STRING: ("bytes_list", bytes),
    }
    example = Example()
    for cell, column in zip(cells, columns, strict=True):
        feature = example.features.feature[column.name]
        if column.type in kinds:  # others are empty in every row
            name, convert = kinds[column.type]
            values = getattr(feature, name)
            values.SetInParent()
            values.value.extend([convert(cell)] if cell else [])
    yield example
