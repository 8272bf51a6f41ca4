# SPDX-License-Identifier: Apache-2.0
"""What we write, TensorFlow and tfx-bsl read back to the last value; what they write, we read."""

import hashlib
import math
from pathlib import Path

import pyarrow as pa
import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tfx_bsl.coders import example_coder

from stoker.data.columns import num_examples
from stoker.data.decode import decode
from stoker.data.encode import encode
from stoker.data.shards import Block, write_splits
from stoker.data.tfrecord import read_records

pytestmark = pytest.mark.tf

KINDS = {
    "int": pa.large_list(pa.int64()),
    "float": pa.large_list(pa.float32()),
    "bytes": pa.large_list(pa.large_binary()),
}
DTYPES = {"int": tf.int64, "float": tf.float32, "bytes": tf.string}
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "int": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
            "float": st.lists(st.floats(width=32), max_size=3),
            "bytes": st.lists(st.binary(max_size=9) | st.text().map(str.encode), max_size=3),
        }
    ),
    min_size=1,
    max_size=30,
)
EXTREMES = [
    {
        "int": [2**63 - 1, -(2**63)],
        "float": [math.nan, -0.0, 1e-45],
        "bytes": [b"", "ü😀".encode()],
    },
    {"int": [], "float": [], "bytes": []},
    {"int": [0] * 10_000, "float": [math.inf, -math.inf], "bytes": [b"\0\xff" * 1_000_000]},
]


def batch_of(rows):
    return pa.record_batch(
        {name: pa.array([row[name] for row in rows], kind) for name, kind in KINDS.items()}
    )


def parsed(files):
    """All examples, as TensorFlow reads them."""
    spec = {name: tf.io.RaggedFeature(dtype) for name, dtype in DTYPES.items()}
    records = tf.data.TFRecordDataset(files, "GZIP")
    tensors = next(iter(records.batch(10**6))).numpy()
    columns = {name: one.to_list() for name, one in tf.io.parse_example(tensors, spec).items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def shown(rows):
    """Rows as text, in which NaN is NaN and -0.0 is not 0.0; of a long one, its hash."""
    texts = [repr(sorted(row.items())) for row in rows]
    return [one if len(one) < 500 else hashlib.sha256(one.encode()).hexdigest() for one in texts]


@settings(max_examples=30)
@given(rows=ROWS)
@example(rows=EXTREMES)
def test_what_we_write_is_read_back_to_the_last_value(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("examples") / "Split-a"
    half = len(rows) // 2
    blocks = [batch_of(part) for part in (rows[:half], rows[half:]) if part]
    makes = [lambda b=b: Block(records=encode(b), columns=b) for b in blocks]
    write_splits(makes, [str(folder)], [1])
    (shard,) = map(str, folder.iterdir())
    assert shown(parsed([shard])) == shown(batch_of(rows).to_pylist())
    records = [one.numpy() for one in tf.data.TFRecordDataset([shard], "GZIP")]
    decoded = example_coder.ExamplesToRecordBatchDecoder().DecodeBatch(records)
    assert shown(decoded.select(list(KINDS)).to_pylist()) == shown(batch_of(rows).to_pylist())


@pytest.mark.parametrize("compression", ["GZIP", ""])
def test_what_tfx_writes_is_read(tmp_path, compression):
    path = str(tmp_path / "data")
    records = example_coder.RecordBatchToExamplesEncoder().encode(batch_of(EXTREMES))
    with tf.io.TFRecordWriter(path, compression) as writer:
        for record in records:
            writer.write(record)
    assert num_examples(path) == len(EXTREMES)
    (batch,) = decode(read_records(path))
    found = batch.select(list(KINDS)).to_pylist()
    assert shown(found) == shown(batch_of(EXTREMES).to_pylist())


def test_gzip_files_of_several_blocks_are_read_in_parts(tmp_path):
    """A reader that asks for a few bytes at a time finds no seam between the blocks."""
    rows = [{"int": [i], "float": [i / 2], "bytes": [str(i).encode()]} for i in range(3000)]
    makes = [
        lambda i=i: Block(records=encode(batch_of(rows[i : i + 100])), columns=None)
        for i in range(0, 3000, 100)
    ]
    write_splits(makes, [str(tmp_path / "Split-a")], [1])
    files = [str(path) for path in Path(tmp_path, "Split-a").iterdir()]
    for buffer_size in (1, 1000, 10**7):
        records = tf.data.TFRecordDataset(files, "GZIP", buffer_size=buffer_size)
        assert sum(1 for _ in records) == 3000
