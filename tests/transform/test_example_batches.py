# SPDX-License-Identifier: Apache-2.0
"""How Transform reads examples: in shards, in samples, and what is damaged by its place."""

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.data.sharding import Shard
from stoker.errors import BadData
from stoker.transform.example_batches import read_sample, read_shard, write_shard

pytestmark = pytest.mark.tf

SCHEMA = text_format.Parse('feature { name: "n" type: INT }', schema_pb2.Schema())


@pytest.fixture(params=["columns", "records"])
def folder(tmp_path, request):
    """Two files of 10,000 examples each, with and without columns."""
    for share in range(2):
        numbers = pa.array([[i] for i in range(10_000)], pa.large_list(pa.int64()))
        batches = iter([pa.record_batch({"n": numbers})])
        write_shard(str(tmp_path / "Split-a"), share, 2, batches)
    if request.param == "records":
        shutil.rmtree(tmp_path / "columns")
    return str(tmp_path / "Split-a")


def read_all(folder, schema, part=0, num_parts=1):
    files = tuple(map(str, sorted(Path(folder).iterdir())))
    return read_shard(schema, Shard(files=files, part=part, num_parts=num_parts))


def values(batches):
    return [n for batch in batches for (n,) in batch["n"].to_pylist()]


def test_files_are_named_by_their_shard(folder):
    assert sorted(path.name for path in Path(folder).iterdir()) == [
        "transformed_examples-00000-of-00002.gz",
        "transformed_examples-00001-of-00002.gz",
    ]


def test_parts_together_are_all_examples(folder):
    shares = [values(read_all(folder, SCHEMA, part, 3)) for part in range(3)]
    assert all(shares)
    found = [n for share in shares for n in share]
    assert sorted(found) == sorted([*range(10_000), *range(10_000)])


def test_a_small_sample_is_everything(folder):
    assert values(read_sample([folder], SCHEMA, 20_000)) == [*range(10_000)] * 2


def test_a_large_sample_is_bounded_and_evenly_spread(folder):
    batches = read_sample([folder], SCHEMA, 9000)
    assert [batch["n"][0].as_py() for batch in batches] == [[0], [4096]]


def test_a_damaged_file_is_named_with_the_place(folder):
    (path, _) = sorted(Path(folder).iterdir())
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(BadData, match=rf"{path.name} is damaged at byte \d+"):
        values(read_all(folder, SCHEMA))


def test_an_example_of_another_type_is_told_with_its_file(folder):
    other = text_format.Parse('feature { name: "n" type: BYTES }', schema_pb2.Schema())
    with pytest.raises(BadData, match=r"00000-of-00002\.gz: A record is not the tf\.Example"):
        values(read_all(folder, other))


def test_columns_give_the_batches_that_records_give(tmp_path):
    kinds = {"i": pa.int64(), "f": pa.float32(), "b": pa.large_binary()}
    rows = [{"i": [i], "f": [i / 2, i], "b": [b"x"] * (i % 3)} for i in range(20_000)]
    columns = {
        name: pa.array([row[name] for row in rows], pa.large_list(kind))
        for name, kind in kinds.items()
    }
    write_shard(str(tmp_path / "Split-a"), 0, 1, iter([pa.record_batch(columns)]))
    schema = text_format.Parse(
        'feature { name: "b" type: BYTES } feature { name: "other" type: INT } '
        'feature { name: "f" type: FLOAT }',
        schema_pb2.Schema(),
    )

    def read():
        return [list(read_all(tmp_path / "Split-a", schema, part, 2)) for part in (0, 1)]

    by_columns = read()
    shutil.rmtree(tmp_path / "columns")
    assert by_columns == read()
    assert [batch.num_rows for batch in by_columns[1]] == [4096, 4096]


_WIDE_ROWS = """
import resource, sys
import numpy as np
import pyarrow as pa
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2
import tensorflow
from stoker.data.sharding import Shard
from stoker.transform.example_batches import read_shard, write_shard

WIDTH, NUM_ROWS = 150_000, 2048  # an image of 224 by 224 as floats; 1.2 GB of them

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

def batches():
    for _ in range(0, NUM_ROWS, 8):
        ends = pa.array(np.arange(9) * WIDTH, pa.int64())
        values = pa.array(np.zeros(8 * WIDTH, np.float32))
        yield pa.record_batch({"x": pa.LargeListArray.from_arrays(ends, values)})

before = peak()
write_shard(sys.argv[1], 0, 1, batches())
written = peak()
schema = text_format.Parse('feature { name: "x" type: FLOAT }', schema_pb2.Schema())
shard = Shard(files=(sys.argv[1] + "/transformed_examples-00000-of-00001.gz",))
sizes = [batch.num_rows for batch in read_shard(schema, shard)]
print(max(sizes), sum(sizes), written - before, peak() - before)
"""


def test_rows_as_large_as_images_take_little_memory(tmp_path):
    folder = str(tmp_path / "Split-a")
    command = [sys.executable, "-c", _WIDE_ROWS, folder]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    most, total, written_mb, read_mb = map(int, out.splitlines()[-1].split())
    assert (most, total) == (8, 2048)
    assert written_mb < 600
    assert read_mb < 900
    assert not list(tmp_path.rglob("*.arrow"))


def test_large_rows_come_in_the_same_small_batches_with_columns_and_without(tmp_path):
    rows = pa.array([[i] * 5000 for i in range(300)], pa.large_list(pa.float32()))
    write_shard(str(tmp_path / "Split-a"), 0, 1, iter([pa.record_batch({"x": rows})]))
    schema = text_format.Parse('feature { name: "x" type: FLOAT }', schema_pb2.Schema())

    def read():
        return list(read_all(tmp_path / "Split-a", schema))

    by_columns = read()
    shutil.rmtree(tmp_path / "columns")
    assert by_columns == read()
    assert [batch.num_rows for batch in by_columns] == [256, 44]


def test_a_sample_of_large_rows_has_fewer(tmp_path):
    rows = pa.array([[i] * 5000 for i in range(1024)], pa.large_list(pa.float32()))
    write_shard(str(tmp_path / "Split-a"), 0, 1, iter([pa.record_batch({"x": rows})]))
    schema = text_format.Parse('feature { name: "x" type: FLOAT }', schema_pb2.Schema())
    batches = read_sample([str(tmp_path / "Split-a")], schema, 8192)
    assert [batch["x"][0].as_py()[0] for batch in batches] == [0.0, 512.0]
