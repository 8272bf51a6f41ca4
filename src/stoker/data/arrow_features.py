# SPDX-License-Identifier: Apache-2.0
"""What a typed column becomes in a tf.Example: all columns but CSV's go through here."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stoker.data.encode import as_lists, group
from stoker.errors import BadData


def feature_type(kind: pa.DataType, where: str) -> pa.DataType:
    """The type of the values that a column of this type has in examples; null if it has none."""
    if pa.types.is_dictionary(kind) or (_is_list(kind) and not _is_list(kind.value_type)):
        return feature_type(kind.value_type, where)
    if pa.types.is_null(kind):
        return kind
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return pa.int64()
    if pa.types.is_floating(kind):
        return pa.float32()
    if _is_bytes(kind):
        return pa.large_binary()
    raise BadData(
        f"{where} holds {kind}. An example holds integers, floats, text and lists of these: "
        "convert the column first."
    )


def check_same_types(schemas: Iterable[tuple[str, pa.Schema]]) -> None:
    """Refuse files with columns that no example can hold, or that are not the same in all files."""
    seen: dict[str, tuple[pa.DataType, str]] = {}
    for path, schema in schemas:
        for column in schema:
            kind = feature_type(column.type, f"{path}, column {column.name!r}")
            before, where = seen.setdefault(column.name, (kind, path))
            if kind != before:
                raise BadData(
                    f"{path}: the column {column.name!r} holds {column.type}, but in {where} it "
                    "does not. Files of one split need the same types."
                )


def as_features(rows: pa.RecordBatch, place: str) -> pa.RecordBatch:
    """Every column as a list of values; null where a row has none."""
    columns = [
        as_feature(column, f"{place}, column {name!r}")
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, rows.schema.names)


def as_feature(column: pa.Array, where: str) -> pa.Array:
    """A column as one of lists: of one value, or of several; null if there is none."""
    kind = feature_type(column.type, where)
    if pa.types.is_null(kind):
        return pa.nulls(len(column))
    try:
        if not _is_list(column.type):
            return as_lists(_values(column, kind), empty_is_null=True)
        values = _values(column.flatten(), kind)
    except pa.ArrowInvalid as error:
        raise BadData(
            f"{where} holds a value that does not fit: {error}. Correct it, or convert the column."
        ) from error
    if values.null_count:
        raise BadData(f"{where} has a null inside a list. Leave it out of the list.")
    lengths = pc.fill_null(pc.list_value_length(column), 0).cast(pa.int64())
    return group(values, np.frombuffer(lengths.buffers()[1], np.int64), empty_is_null=True)


def _values(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    values = column.cast(kind)
    if pa.types.is_float64(column.type):
        large = column.filter(pc.and_(pc.is_inf(values), pc.is_finite(column)))
        if len(large):
            raise pa.ArrowInvalid(f"{large[0]} is beyond a 32-bit float")
    return values


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _is_bytes(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_binary_view,
        pa.types.is_fixed_size_binary,
    )
    return any(test(kind) for test in tests) and not pa.types.is_decimal(kind)
