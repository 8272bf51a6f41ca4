# SPDX-License-Identifier: Apache-2.0
"""tfx-bsl's decoder of tf.Examples, where it is installed, for the data on which it beats ours.

`prefers_native` is the rule, and benchmarks/decode.py shows what it is made of: for long lists of
integers above a million or so (times, hashes, identifiers), tfx-bsl takes half to two thirds of the
CPU time.
Columns and errors are the same.
"""

import functools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from google.protobuf.message import DecodeError
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.dsl.proto.example_pb2 import Example

_LEAST_BYTES_EACH = 64
_LEAST_DIGITS = 2.6
_NUM_LOOKED_AT = 32
_LONGEST = 10  # bytes of an integer


def prefers_native(records: Sequence[bytes]) -> bool:
    """Whether a batch is mostly long lists of integers with many digits, by one of its records."""
    record = records[len(records) // 2] if records else b""
    try:
        features = Example.FromString(record).features.feature
    except DecodeError:
        return False
    lists = [feature.int64_list.value for feature in features.values()]
    lists = [values for values in lists if len(values) > _LEAST_BYTES_EACH // _LONGEST]
    if not lists:
        return False
    digits = [_count_digits(values[:_NUM_LOOKED_AT]) for values in lists]
    num_bytes = sum(mean * len(values) for mean, values in zip(digits, lists, strict=True))
    return (
        num_bytes >= max(len(record) / 2, _LEAST_BYTES_EACH * len(lists))
        and sum(digits) / len(digits) >= _LEAST_DIGITS
    )


def _count_digits(values: Sequence[int]) -> float:
    """How many bytes an integer takes, in the mean of some."""
    sizes = (-(-max(value.bit_length(), 1) // 7) if value >= 0 else _LONGEST for value in values)
    return sum(sizes) / len(values)


def decode_natively(
    records: list[bytes], schema: schema_pb2.Schema | None
) -> pa.RecordBatch | None:
    """The records as one batch; None where tfx-bsl is not installed, or refuses a record."""
    decoder = _find_decoder(None if schema is None else schema.SerializeToString())
    if decoder is None:
        return None
    try:
        batch: pa.RecordBatch = decoder.DecodeBatch(records)
    except RuntimeError:  # our own decoder says what is wrong
        return None
    return batch


@functools.lru_cache(maxsize=8)
def _find_decoder(schema: bytes | None) -> Any:
    try:
        from tfx_bsl.coders import example_coder
    except ImportError:
        return None
    return example_coder.ExamplesToRecordBatchDecoder(*([] if schema is None else [schema]))
