# SPDX-License-Identifier: Apache-2.0
"""Serialized tf.Examples back to Arrow columns, all records of a batch at a time.

Names, types, nulls and errors are those of tfx_bsl's decoder: a column per feature, a list per
record, null where a record does not have the feature.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.data.encode import as_integers, contents, ends_of
from stoker.data.native_decoder import decode_natively, prefers_native
from stoker.data.unusual_examples import write_anew
from stoker.data.wire_format import (
    BYTES,
    FLOAT,
    INT64,
    Records,
    Spans,
    Unusual,
    read_varints,
    refuse,
)
from stoker.errors import BadData

_BATCH_ROWS = 4096
_BINARY = pa.large_binary()
_VALUE_TYPES = {BYTES: _BINARY, FLOAT: pa.float32(), INT64: pa.int64()}
_KIND_NAMES = {BYTES: "bytes_list", FLOAT: "float_list", INT64: "int64_list"}
_KINDS = {schema_pb2.BYTES: BYTES, schema_pb2.FLOAT: FLOAT, schema_pb2.INT: INT64}
_NO_KIND = 0


def decode(
    records: Iterable[bytes],
    schema: schema_pb2.Schema | None = None,
    *,
    batch_rows: int = _BATCH_ROWS,
    path: str = "",
) -> Iterator[pa.RecordBatch]:
    """Record batches with the columns of the schema, or with those that are found.

    The file at `path` is named if a record is not a tf.Example.
    """
    remaining = iter(records)
    while batch := list(itertools.islice(remaining, batch_rows)):
        yield decode_batch(batch, schema, path=path)


def decode_batch(
    records: list[bytes],
    schema: schema_pb2.Schema | None = None,
    *,
    path: str = "",
    natively: bool = True,
) -> pa.RecordBatch:
    """All records as one batch; `natively` allows for tfx-bsl's decoder, where that is faster."""
    wanted = None if schema is None else _wanted_kinds(schema)
    try:
        if natively and prefers_native(records):
            batch = decode_natively(records, schema)
            if batch is not None:
                return batch
        return _decode_all(records, wanted)
    except ValueError as error:
        where = f"{path}: " if path else ""
        raise BadData(
            f"{where}A record is not the tf.Example that it should be: {error}"
        ) from error


def arrow_schema(schema: schema_pb2.Schema) -> pa.Schema:
    """The columns that records are decoded to."""
    kinds = _wanted_kinds(schema)
    return pa.schema([(name, pa.large_list(_VALUE_TYPES[kind])) for name, kind in kinds.items()])


def _wanted_kinds(schema: schema_pb2.Schema) -> dict[str, int]:
    for feature in schema.feature:
        if feature.type not in _KINDS:
            kind = schema_pb2.FeatureType.Name(feature.type)
            raise BadData(
                f"The schema says that {feature.name!r} is of type {kind}. A tf.Example holds "
                "BYTES, INT and FLOAT: give the feature one of these."
            )
    return {feature.name: _KINDS[feature.type] for feature in schema.feature}


def _decode_all(records: list[bytes], wanted: Mapping[str, int] | None) -> pa.RecordBatch:
    while True:
        try:
            return _make_batch(Records(records), wanted)
        except Unusual as found:
            records = list(records)
            for record in found.records.tolist():
                records[record] = write_anew(records[record])


def _make_batch(records: Records, wanted: Mapping[str, int] | None) -> pa.RecordBatch:
    entries = records.entries()
    names, features = _number_features(records, entries.keys)
    _refuse_twice(entries.keys.records, features)
    if wanted is None:
        is_wanted = np.ones(len(entries.keys), bool)
    else:
        is_wanted = np.array([name in wanted for name in names], bool)[features]
    found: dict[str, tuple[int, pa.Array]] = {}
    for kind, read in _READERS.items():
        chosen = np.flatnonzero((entries.kinds == kind) & is_wanted)
        lists = read(records, entries.lists.take(chosen), features[chosen])
        for feature, column in _columns_of(lists, len(records)):
            name = names[feature]
            expected = found[name][0] if name in found else (wanted or {}).get(name, kind)
            if expected != kind:
                raise ValueError(
                    f"the feature {name!r} should be a {_KIND_NAMES[expected]}, and is a "
                    f"{_KIND_NAMES[kind]}."
                )
            found[name] = kind, column
    kinds = wanted if wanted is not None else dict.fromkeys(sorted(names, key=str.encode), _NO_KIND)
    columns = [
        found[name][1] if name in found else pa.nulls(len(records), _list_type(kind))
        for name, kind in kinds.items()
    ]
    if not columns:
        return _without_columns(len(records))
    return pa.RecordBatch.from_arrays(columns, list(kinds))


def _list_type(kind: int) -> pa.DataType:
    return pa.large_list(_VALUE_TYPES[kind]) if kind in _VALUE_TYPES else pa.null()


def _without_columns(num_rows: int) -> pa.RecordBatch:
    rows = pa.RecordBatch.from_arrays([pa.nulls(num_rows)], ["row"])
    return rows.select([])


def _number_features(records: Records, keys: Spans) -> tuple[list[str], np.ndarray]:
    """The names of all features, and which of these each key is."""
    encoded = _gather(records, keys).dictionary_encode()
    try:
        names = encoded.dictionary.cast(pa.large_string()).to_pylist()
    except pa.ArrowInvalid as error:
        raise ValueError("the name of a feature is not UTF-8") from error
    smallest = np.uint16 if len(names) < 1 << 16 else np.int64  # numpy sorts these much faster
    return names, np.asarray(encoded.indices).astype(smallest)


def _refuse_twice(records: np.ndarray, features: np.ndarray) -> None:
    """Of a record that has a feature twice, the last counts, which protobuf knows."""
    order = _order(features)
    by_feature, by_record = features[order], records[order]
    twice = (by_feature[1:] == by_feature[:-1]) & (by_record[1:] == by_record[:-1])
    refuse(twice, by_record[1:])


@dataclass(frozen=True, slots=True)
class _Lists:
    """The lists of one kind, feature after feature, and record after record for each."""

    features: np.ndarray
    records: np.ndarray
    lengths: np.ndarray
    values: pa.Array


def _columns_of(lists: _Lists, num_rows: int) -> Iterator[tuple[int, pa.Array]]:
    """A column for each of the features."""
    first = np.flatnonzero(np.diff(lists.features, prepend=-1))
    starts = ends_of(lists.lengths)
    for begin, end in itertools.pairwise([*first.tolist(), len(lists.features)]):
        rows, lengths = lists.records[begin:end], lists.lengths[begin:end]
        values = lists.values[int(starts[begin]) : int(starts[end])]
        yield int(lists.features[begin]), _make_column(rows, lengths, values, num_rows)


def _make_column(
    rows: np.ndarray, lengths: np.ndarray, values: pa.Array, num_rows: int
) -> pa.LargeListArray:
    validity = None
    if len(rows) < num_rows:
        present = np.zeros(num_rows, bool)
        present[rows] = True
        validity = pa.py_buffer(np.packbits(present, bitorder="little"))
        found, lengths = lengths, np.zeros(num_rows, np.int64)
        lengths[rows] = found
    offsets = pa.py_buffer(ends_of(lengths))
    kind = pa.large_list(values.type)
    return pa.Array.from_buffers(kind, num_rows, [validity, offsets], children=[values])


def _read_bytes(records: Records, lists: Spans, features: np.ndarray) -> _Lists:
    values, lengths = records.repeated(lists)
    order = _order(features)
    if (lengths == 1).all():
        by_feature = order
    else:
        by_feature = np.argsort(np.repeat(features, lengths), kind="stable")
    words = _gather(records, values, by_feature)
    return _Lists(features[order], lists.records[order], lengths[order], words)


def _read_floats(records: Records, lists: Spans, features: np.ndarray) -> _Lists:
    packed, order = records.packed(lists), _order(features)
    sizes = packed.ends - packed.begins
    refuse(sizes % 4 != 0, packed.records)
    numbers = np.frombuffer(contents(_gather(records, packed, order)), "<f4")
    values = pa.Array.from_buffers(pa.float32(), len(numbers), [None, pa.py_buffer(numbers)])
    return _Lists(features[order], lists.records[order], sizes[order] // 4, values)


def _read_integers(records: Records, lists: Spans, features: np.ndarray) -> _Lists:
    packed, order = records.packed(lists), _order(features)
    packed_in_order = packed.take(order)
    digits = np.frombuffer(contents(_gather(records, packed, order)), np.uint8)
    numbers, lengths = read_varints(digits, packed_in_order)
    return _Lists(features[order], packed_in_order.records, lengths, as_integers(numbers))


def _order(features: np.ndarray) -> np.ndarray:
    """Feature after feature, and record after record for each."""
    return np.argsort(features, kind="stable")


def _gather(records: Records, spans: Spans, order: np.ndarray | None = None) -> pa.LargeBinaryArray:
    """The contents of spans that lie one after another in the buffer, in any order.

    With the gaps between them they are an array without a copy; what Arrow takes of it is one.
    """
    if not len(spans):
        return pa.nulls(0, _BINARY)
    offsets = np.empty(2 * len(spans) + 1, np.int64)
    offsets[:-1:2], offsets[1::2], offsets[-1] = spans.begins, spans.ends, spans.ends[-1]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(records.buffer)]
    with_gaps = pa.Array.from_buffers(_BINARY, 2 * len(spans), buffers)
    places = np.arange(len(spans)) if order is None else order
    return with_gaps.take(as_integers(2 * places))


_READERS = {BYTES: _read_bytes, FLOAT: _read_floats, INT64: _read_integers}
