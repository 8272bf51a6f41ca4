# SPDX-License-Identifier: Apache-2.0
"""Rows of mapped columns: from all files, in any order, and from nowhere else."""

import struct

import numpy as np
import pyarrow as pa
import pytest
from test_columns import BYTES, INTS, write

from stoker.data import column_file, packed_rows
from stoker.data.column_file import columns_path
from stoker.data.columns import read_columns
from stoker.data.gather import RowReader
from stoker.errors import BadData

FAR = struct.pack("<q", 1 << 40)
"""An offset that is outside of every block, and of every file."""


def rows_of(num_rows):
    return pa.record_batch(
        {
            "many": pa.array([[i] * (i % 4) for i in range(num_rows)], INTS),
            "word": pa.array([[b"word %d" % i] for i in range(num_rows)], BYTES),
        }
    )


@pytest.fixture
def shard(tmp_path):
    return write(tmp_path / "Split-train" / "data.gz", rows_of(100))


def overwrite_offset(shard, name, number, row):
    """Make an offset of a column point far away; `number` says in which of its buffers."""
    columns = read_columns([shard])
    (file,) = columns.files
    start = columns.block(0).column(name).buffers()[number].address - file.buffer.address
    with open(file.path, "r+b") as opened:
        opened.seek(start + row * len(FAR))
        opened.write(FAR)


def read(reader, rows, name):
    cells = reader.read(np.array(rows), [name])[name]
    values = cells.values
    if cells.words is not None:
        values = np.array(cells.words.to_pylist() or [b""], object).take(values)
    ends = np.cumsum(np.broadcast_to(cells.lengths, len(rows)), dtype=int)
    return [part.tolist() for part in np.split(values, ends)[:-1]]


WAYS = {
    "packed": {},
    "packed, with many words": {"_MAX_WORDS": 0},
    "packed, with long words": {"_MAX_WORDS": 0, "_LONG_WORD": 0},
    "wide": {"_MOST_BYTES_OF_COLUMN": 0},
    "wide, with many words": {"_MOST_BYTES_OF_COLUMN": 0, "_MAX_WORDS": 0},
    "wide, with long words": {"_MOST_BYTES_OF_COLUMN": 0, "_MAX_WORDS": 0, "_LONG_WORD": 0},
    "without room on the disk": {"_MOST_BYTES": 0},
}


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_several_files_come_in_the_order_in_which_they_are_asked_for(
    tmp_path, monkeypatch, way
):
    for name, value in WAYS[way].items():
        monkeypatch.setattr(packed_rows, name, value)
    without = pa.record_batch({"word": pa.array([[b"alone"]] * 3, BYTES)})
    shards = [
        write(tmp_path / "Split-a" / f"{number}.gz", batch)
        for number, batch in enumerate([rows_of(10), without, rows_of(20_000)])
    ]
    reader = RowReader(read_columns(shards))
    rows = [20_012, 3, 11, 13 + 7, 9, 3]
    assert read(reader, rows, "many") == [[19_999] * 3, [3] * 3, [], [7] * 3, [9], [3] * 3]
    words = [[b"word 19999"], [b"word 3"], [b"alone"], [b"word 7"], [b"word 9"], [b"word 3"]]
    assert read(reader, rows, "word") == words


@pytest.mark.parametrize(("name", "buffer"), [("many", 1), ("word", 3)])
def test_an_offset_that_points_elsewhere_is_refused_and_never_followed(
    shard, monkeypatch, name, buffer
):
    monkeypatch.setattr(packed_rows, "_MOST_BYTES", 0)
    reader = RowReader(read_columns([shard]))
    read(reader, [50], name)
    overwrite_offset(shard, name, buffer, row=51)
    assert read(reader, [3], name)
    with pytest.raises(BadData, match=f"{name!r} have changed while they were read"):
        read(reader, [50], name)


@pytest.mark.parametrize(("name", "buffer"), [("many", 1), ("word", 3)])
def test_rows_that_were_packed_stay_as_they_were(shard, name, buffer):
    reader = RowReader(read_columns([shard]))
    whole = read(reader, [50, 51], name)
    overwrite_offset(shard, name, buffer, row=51)
    assert read(reader, [50, 51], name) == whole


@pytest.mark.parametrize(("name", "buffer"), [("many", 1), ("word", 3)])
def test_an_offset_that_changes_before_rows_are_packed_is_refused(shard, monkeypatch, name, buffer):
    monkeypatch.setattr(packed_rows, "_MAX_WORDS", 0)
    reader = RowReader(read_columns([shard]))
    assert reader._files
    overwrite_offset(shard, name, buffer, row=51)
    with pytest.raises(BadData, match=f"{name!r} have changed while they were read"):
        read(reader, [50], name)


@pytest.mark.parametrize(("name", "buffer"), [("many", 1), ("word", 3)])
def test_columns_whose_checksum_covers_a_wrong_offset_are_made_again(
    tmp_path, monkeypatch, capsys, name, buffer
):
    monkeypatch.setattr(column_file, "_checksum", lambda *_: b"the same for all")
    shard = write(tmp_path / "Split-train" / "data.gz", rows_of(100))
    whole = read(RowReader(read_columns([shard])), [49, 50, 51], name)
    overwrite_offset(shard, name, buffer, row=51)
    assert read(RowReader(read_columns([shard])), [49, 50, 51], name) == whole
    assert f"{columns_path(shard)} cannot be read" in capsys.readouterr().err
