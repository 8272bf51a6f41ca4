# SPDX-License-Identifier: Apache-2.0
"""Columns: what was written comes back, and what is damaged, stale or missing is made again."""

import contextlib
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.data import column_file
from stoker.data import columns as columns_module
from stoker.data.column_file import (
    BLOCK_ROWS,
    ColumnFile,
    ColumnWriter,
    DamagedColumns,
    TooLargeForColumns,
    columns_path,
)
from stoker.data.columns import (
    find_shards,
    list_stale_columns,
    num_examples,
    read_batches,
    read_columns,
)
from stoker.data.encode import encode
from stoker.data.tfrecord import write_records
from stoker.errors import BadData

INTS, FLOATS, BYTES = (
    pa.large_list(kind) for kind in (pa.int64(), pa.float32(), pa.large_binary())
)


def batch(first, num_rows):
    rows = range(first, first + num_rows)
    return pa.record_batch(
        {
            "id": pa.array([[i] for i in rows], INTS),
            "words": pa.array([[b"w%d" % i] * (i % 3) for i in rows], BYTES),
        }
    )


def write(shard, *batches, with_columns=True):
    shard = str(shard)
    records = [one for some in batches for one in encode(some).to_pylist()]
    if not with_columns:
        write_records(shard, records)
        return shard
    with ColumnWriter(shard) as writer:
        write_records(shard, records)
        for some in batches:
            writer.write(some)
    return shard


@pytest.fixture
def shard(tmp_path):
    return write(tmp_path / "Split-train" / "data-0.gz", batch(0, 10), batch(10, 10))


def table(columns):
    return pa.Table.from_batches(columns.blocks(), columns.schema)


def ids(columns):
    return [one for (one,) in table(columns)["id"].to_pylist()]


def cached(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def flip(path, place):
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1]))


def test_columns_lie_beside_the_split(shard, tmp_path):
    assert columns_path(shard) == str(tmp_path / "columns" / "Split-train" / "data-0.arrow")
    assert os.listdir(tmp_path / "columns" / "Split-train") == ["data-0.arrow"]


def test_what_was_written_comes_back(shard):
    expected = pa.Table.from_batches([batch(0, 10), batch(10, 10)])
    assert table(read_columns([shard])).equals(expected)


def test_blocks_have_a_fixed_number_of_rows_whatever_was_written(tmp_path):
    sizes = [1, BLOCK_ROWS, 5, 2 * BLOCK_ROWS]
    firsts = [sum(sizes[:i]) for i in range(len(sizes))]
    shard = write(tmp_path / "Split-a" / "n.gz", *map(batch, firsts, sizes))
    found = read_columns([shard])
    assert [block.num_rows for block in found.blocks()] == [BLOCK_ROWS] * 3 + [6]
    assert ids(found) == list(range(3 * BLOCK_ROWS + 6))


def test_a_column_that_turns_up_late_is_null_before(tmp_path):
    first = pa.record_batch({"a": pa.array([[1]], INTS), "b": pa.nulls(1)})
    later = pa.record_batch({"b": pa.array([[b"x"]], BYTES), "c": pa.nulls(1)})
    with ColumnWriter(str(tmp_path / "n.gz"), str(tmp_path / "n.arrow")) as writer:
        write_records(str(tmp_path / "n.gz"), [b"", b""])
        writer.write(pa.Table.from_batches([first] * BLOCK_ROWS).combine_chunks().to_batches()[0])
        writer.write(later)
    file = ColumnFile(str(tmp_path / "n.arrow"), str(tmp_path / "n.gz"))
    assert file.schema == pa.schema({"a": INTS, "b": BYTES, "c": pa.null()})
    assert file.block(0)["b"].null_count == BLOCK_ROWS
    assert file.block(1).to_pylist() == [{"a": None, "b": [b"x"], "c": None}]


def test_a_shard_without_rows_has_columns_too(tmp_path):
    shard = write(tmp_path / "Split-a" / "n.gz")
    found = read_columns([shard])
    assert (found.num_rows, table(found).num_rows) == (0, 0)


def test_shards_that_know_more_give_types_to_those_that_know_less(tmp_path):
    untyped = pa.record_batch({"x": pa.nulls(2)})
    typed = pa.record_batch({"x": pa.array([[1.5]], FLOATS)})
    shards = [
        write(tmp_path / "Split-a" / "0.gz", untyped),
        write(tmp_path / "Split-a" / "1.gz", typed),
    ]
    found = table(read_columns(shards))
    assert found["x"].to_pylist() == [None, None, [1.5]]


def test_a_feature_of_two_types_is_refused_with_its_file(tmp_path):
    other = pa.record_batch({"id": pa.array([[b"x"]], BYTES)})
    with pytest.raises(BadData, match=r"n\.arrow: a feature changes its type: .*id"):
        write(tmp_path / "Split-a" / "n.gz", batch(0, 1), other)
    assert cached(tmp_path / "columns" / "Split-a") == []


def test_what_fails_in_the_middle_leaves_nothing(tmp_path):
    shard = str(tmp_path / "Split-a" / "n.gz")
    with contextlib.suppress(ZeroDivisionError), ColumnWriter(shard) as writer:
        writer.write(batch(0, BLOCK_ROWS + 1))
        writer.write(batch(0, 1 // 0))
    assert cached(tmp_path / "columns" / "Split-a") == []


def test_without_columns_they_are_decoded_once_into_the_cache(tmp_path, monkeypatch):
    shard = write(tmp_path / "data" / "n.gz", batch(0, 20), with_columns=False)
    cache = str(tmp_path / "cache")
    assert read_columns([shard], cache, decode_missing=False) is None
    first = read_columns([shard], cache)
    monkeypatch.setattr(columns_module, "decode", None)
    assert table(read_columns([shard], cache)).equals(table(first))
    assert ids(first) == list(range(20))
    assert os.listdir(tmp_path / "data") == ["n.gz"]


def test_without_a_place_for_columns_records_are_decoded(tmp_path):
    shard = write(tmp_path / "data" / "n.gz", batch(0, 20), with_columns=False)
    assert read_columns([shard]) is None
    found = pa.Table.from_batches(read_batches([shard]))
    assert found["id"].to_pylist() == [[i] for i in range(20)]


def test_a_full_disk_is_left_alone(tmp_path, monkeypatch, capsys):
    shard = write(tmp_path / "data" / "n.gz", batch(0, 20), with_columns=False)
    monkeypatch.setattr(columns_module, "_ROOM_TO_LEAVE", 1 << 60)
    assert read_columns([shard], str(tmp_path / "cache")) is None
    assert "has no room for the columns of" in capsys.readouterr().err
    assert cached(tmp_path / "cache") == []


@pytest.mark.parametrize("with_cache", [True, False])
def test_a_damaged_block_is_rebuilt_and_the_folder_stays_as_it_is(
    shard, tmp_path, capsys, with_cache
):
    path = columns_path(shard)
    flip(path, place_of(path, b"w19"))
    before = Path(path).read_bytes()
    cache = str(tmp_path / "cache") if with_cache else None
    found = read_columns([shard], cache)
    assert table(found).equals(pa.Table.from_batches([batch(0, 10), batch(10, 10)]))
    (line,) = capsys.readouterr().err.splitlines()
    assert "the checksum of block 0 is wrong. It is rebuilt from" in line
    assert Path(path).read_bytes() == before
    assert len(cached(tmp_path / "cache")) == with_cache


def place_of(path, data):
    return Path(path).read_bytes().index(data)


@pytest.mark.parametrize("size", [0, 5, 100, -9])
def test_a_file_that_was_cut_off_is_not_used(shard, tmp_path, size, capsys):
    path = columns_path(shard)
    os.truncate(path, size if size >= 0 else os.path.getsize(path) + size)
    assert read_columns([shard]) is None
    assert ids(read_columns([shard], str(tmp_path / "cache"))) == list(range(20))
    assert "data-0.arrow" in capsys.readouterr().err


def test_a_shard_that_was_replaced_gets_other_columns(shard, tmp_path, capsys):
    write(shard, batch(100, 20), with_columns=False)
    assert num_examples(shard) == 20
    assert ids(read_columns([shard], str(tmp_path / "cache"))) == list(range(100, 120))
    assert "holds the columns of another data-0.gz" in capsys.readouterr().err


def test_a_cached_file_is_replaced_when_the_shard_is(tmp_path):
    shard, cache = tmp_path / "data" / "n", str(tmp_path / "cache")
    for first in (0, 50):
        write(shard, batch(first, 5), with_columns=False)
        assert ids(read_columns([str(shard)], cache)) == list(range(first, first + 5))
    assert len(cached(cache)) == 1


def test_a_copy_of_a_split_keeps_its_columns(shard, tmp_path):
    copy = shutil.copytree(tmp_path, tmp_path.parent / f"{tmp_path.name}-copy")
    assert ids(read_columns([str(copy / "Split-train" / "data-0.gz")])) == list(range(20))


def test_columns_know_how_many_examples_there_are(shard, monkeypatch):
    monkeypatch.setattr(columns_module, "read_records", None)
    assert num_examples([shard]) == 20


def test_any_damage_is_noticed_or_harmless(shard, tmp_path):
    path = columns_path(shard)
    good = ColumnFile(path, shard).blocks()
    size = os.path.getsize(path)
    noticed = 0
    for place in range(0, size, 7):
        flip(path, place)
        try:
            assert ColumnFile(path, shard).blocks() == good
        except DamagedColumns:
            noticed += 1
        flip(path, place)
    assert noticed > size / 7 / 3


CELLS = {
    INTS: st.integers(-(2**63), 2**63 - 1),
    FLOATS: st.floats(width=32),
    BYTES: st.binary(max_size=5),
}


@st.composite
def batches(draw):
    kinds = draw(st.dictionaries(st.text(max_size=3), st.sampled_from(list(CELLS)), max_size=3))
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    return [
        pa.record_batch(
            [
                pa.array(draw(lists(kind, size)), kind) if draw(st.booleans()) else pa.nulls(size)
                for kind in kinds.values()
            ],
            list(kinds),
        )
        for size in sizes
        if kinds
    ]


def lists(kind, size):
    cell = st.none() | st.lists(CELLS[kind], max_size=3)
    return st.lists(cell, min_size=size, max_size=size)


@settings(max_examples=60, deadline=None)
@given(batches())
def test_any_batches_come_back(tmp_path_factory, written):
    folder = tmp_path_factory.mktemp("any")
    shard = write(folder / "Split-a" / "n.gz", *written)
    found = table(read_columns([shard]))
    if not written:
        assert found.num_rows == 0
        return
    parts = [pa.Table.from_batches([one]) for one in written]
    expected = pa.concat_tables(parts, promote_options="default")
    assert str(found.to_pylist()) == str(expected.select(found.column_names).to_pylist())


def test_rows_that_are_too_large_are_read_without_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(column_file, "MAX_PENDING_BYTES", 1000)
    shard = write(tmp_path / "data" / "n.gz", batch(0, 500), with_columns=False)
    with pytest.raises(TooLargeForColumns), ColumnWriter(shard) as writer:
        writer.write(batch(0, 500))
    assert read_columns([shard], str(tmp_path / "cache")) is None
    found = pa.Table.from_batches(read_batches([shard], str(tmp_path / "cache")))
    assert found["id"].to_pylist() == [[i] for i in range(500)]
    assert cached(tmp_path / "cache") == []
    assert capsys.readouterr() == ("", "")


def test_columns_alone_are_read_where_their_split_is_not_here(shard, tmp_path):
    folder = os.path.dirname(shard)
    assert find_shards(folder) == [shard]
    shutil.rmtree(folder)
    assert find_shards(folder) == [shard]
    assert pa.Table.from_batches(read_batches(find_shards(folder))).num_rows == 20


def test_columns_of_other_records_are_stale(shard, tmp_path):
    assert list_stale_columns(str(tmp_path)) == []
    data = Path(shard).read_bytes()
    Path(shard).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert list_stale_columns(str(tmp_path)) == [columns_path(shard)]
    os.unlink(shard)
    assert list_stale_columns(str(tmp_path)) == [columns_path(shard)]
