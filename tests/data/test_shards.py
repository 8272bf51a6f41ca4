# SPDX-License-Identifier: Apache-2.0
"""Shards: the same input makes the same files, whatever the threads do; anyone can read them."""

import functools
import gzip
import random
import time
from pathlib import Path

import pyarrow as pa
import pytest

from stoker.data import shards
from stoker.data.columns import read_columns
from stoker.data.encode import encode
from stoker.data.shards import Block, ShardWriter, pack, write_splits
from stoker.data.tfrecord import read_records
from stoker.errors import BadData

INTS = pa.large_list(pa.int64())
FLOATS = pa.large_list(pa.float32())


def block(start, end, kind=INTS):
    columns = pa.record_batch({"n": pa.array([[n] for n in range(start, end)], kind)})
    return Block(records=encode(columns), columns=columns)


def late(make):
    """The same block, after a while that is different each time."""
    time.sleep(random.random() / 50)
    return make()


def blocks(num_blocks):
    return [functools.partial(block, 100 * i, 100 * i + 100) for i in range(num_blocks)]


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in Path(folder).rglob("*.gz")}


def numbers(*files):
    return [row["n"][0] for block in read_columns(files).blocks() for row in block.to_pylist()]


def test_rows_stay_in_order_and_files_the_same_whichever_thread_is_first(tmp_path):
    for name in ("one", "two"):
        makes = [functools.partial(late, make) for make in blocks(20)]
        dirs = [str(tmp_path / name / f"Split-{split}") for split in ("a", "b")]
        write_splits(makes, dirs, [2, 1])
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    (shard,) = (tmp_path / "one" / "Split-a").iterdir()
    found = numbers(str(shard))
    assert found == sorted(found)
    assert 1000 < len(found) < 1700


def test_a_shard_that_has_grown_is_followed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "_SHARD_BYTES", 5000)
    write_splits(blocks(10), [str(tmp_path / "Split-all")], [1])
    names = sorted(path.name for path in (tmp_path / "Split-all").iterdir())
    assert names == [f"data_tfrecord-{i:05}-of-00005.gz" for i in range(5)]
    files = [str(tmp_path / "Split-all" / name) for name in names]
    assert numbers(*files) == list(range(1000))
    assert sum(1 for file in files for _ in read_records(file)) == 1000


def test_a_shard_is_one_gzip_file_with_the_right_checksum(tmp_path):
    with ShardWriter(str(tmp_path / "Split-a" / "x.gz")) as shard:
        for make in blocks(5):
            shard.write(pack(make()))
    whole = gzip.decompress((tmp_path / "Split-a" / "x.gz").read_bytes())
    assert len(whole) == shard.size


def test_a_split_that_nothing_falls_into_has_an_empty_shard(tmp_path):
    write_splits([], [str(tmp_path / "Split-a")], [1])
    (shard,) = (tmp_path / "Split-a").iterdir()
    assert list(read_records(str(shard))) == []


def test_records_whose_feature_changes_its_type_are_kept_without_columns(tmp_path):
    makes = [*blocks(2), functools.partial(block, 0, 100, FLOATS)]
    write_splits(makes, [str(tmp_path / "Split-a")], [1])
    (shard,) = (tmp_path / "Split-a").iterdir()
    assert len(list(read_records(str(shard)))) == 300
    assert not list((tmp_path / "columns").rglob("*.arrow"))


def test_a_block_that_fails_stops_everything(tmp_path):
    def fail():
        raise BadData("wrong")

    started = []

    def counted(make):
        started.append(make)
        return make()

    makes = [functools.partial(counted, make) for make in [fail, *blocks(500)]]
    with pytest.raises(BadData, match="wrong"):
        write_splits(makes, [str(tmp_path / "Split-a")], [1])
    assert len(started) < 100
    assert not list(tmp_path.rglob("data_tfrecord*"))
