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

import numpy as np
import pyarrow as pa
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.data.wire_format import INT64, Records, Unusual

_LEAST_BYTES_EACH = 64
_LEAST_BYTES = 96
_LEAST_DIGITS = 2.6


def prefers_native(records: Sequence[bytes]) -> bool:
    """Whether a batch is mostly long lists of integers with many digits, by one of its records."""
    record = records[len(records) // 2] if records else b""
    if len(record) < _LEAST_BYTES:  # to look would cost more than it can save
        return False
    one = Records([record])
    try:
        entries = one.entries()
        lists = one.packed(entries.lists.take(np.flatnonzero(entries.kinds == INT64)))
    except Unusual:
        return False
    num_bytes = int((lists.ends - lists.begins).sum())
    if num_bytes < max(len(record) / 2, _LEAST_BYTES_EACH * len(lists)):
        return False
    spans = zip(lists.begins.tolist(), lists.ends.tolist(), strict=True)
    digits = np.frombuffer(b"".join(one.buffer[begin:end] for begin, end in spans), np.uint8)
    return num_bytes >= _LEAST_DIGITS * int(np.count_nonzero(digits < 0x80))


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
