# SPDX-License-Identifier: Apache-2.0
"""TFRecord files: what is written is read back, and damage is named."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.data.columns import num_examples
from stoker.data.tfrecord import (
    estimate_records,
    fit_batch_rows,
    is_gzip,
    read_records,
    write_records,
)
from stoker.errors import BadData

RECORDS = [b"", b"one", b"x" * 100_000]


@pytest.mark.parametrize("name", ["data.gz", "data"])
def test_records_come_back_as_they_were(tmp_path, name):
    path = str(tmp_path / "new folder" / name)
    assert write_records(path, RECORDS) == 3
    assert list(read_records(path)) == RECORDS
    assert num_examples(str(tmp_path / "*" / "*")) == 3


def test_the_bytes_are_those_that_tensorflow_writes(tmp_path):
    write_records(str(tmp_path / "data"), [b"foo"])
    golden = "0300000000000000b099490e666f6f618abefe"  # by tf.io.TFRecordWriter
    assert (tmp_path / "data").read_bytes().hex() == golden


def test_the_same_records_make_the_same_file(tmp_path):
    for name in ("first.gz", "second.gz"):
        write_records(str(tmp_path / name), RECORDS)
    assert (tmp_path / "first.gz").read_bytes() == (tmp_path / "second.gz").read_bytes()


def test_compression_is_told_by_content_not_by_name(tmp_path):
    write_records(str(tmp_path / "plain"), RECORDS)
    (tmp_path / "no suffix").write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    (tmp_path / "wrong.gz").write_bytes((tmp_path / "plain").read_bytes())
    for name in ("no suffix", "wrong.gz"):
        assert list(read_records(str(tmp_path / name))) == RECORDS


def test_a_record_whose_length_looks_like_gzip_is_still_plain(tmp_path):
    path = str(tmp_path / "plain")
    record = b"x" * 0x088B1F  # its length begins with the bytes of a gzip header
    write_records(path, [record])
    assert (tmp_path / "plain").read_bytes().startswith(b"\x1f\x8b\x08")
    assert not is_gzip(path)
    assert list(read_records(path)) == [record]


def test_every_flipped_byte_is_noticed(tmp_path):
    path = tmp_path / "data"
    write_records(str(path), [b"first", b"second"])
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        offset = 0 if place < 8 + 4 + 5 + 4 else 21
        with pytest.raises(BadData, match=f"data is damaged at byte {offset} "):
            list(read_records(str(path)))


@pytest.mark.parametrize(
    ("name", "says"), [("data", "byte 21 .* ends in the middle"), ("data.gz", "decompressed")]
)
def test_a_file_that_ends_too_early_is_noticed(tmp_path, name, says):
    path = tmp_path / name
    write_records(str(path), [b"first", b"second" * 1000])
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(BadData, match=f"{name} is damaged at .*{says}"):
        list(read_records(str(path)))


def test_a_pattern_that_matches_nothing_is_named(tmp_path):
    with pytest.raises(BadData, match=r"No file matches '.*nothing-"):
        num_examples(str(tmp_path / "nothing-*"))


def test_records_longer_than_a_block_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("stoker.data.tfrecord._BLOCK_BYTES", 10)
    write_records(str(tmp_path / "data"), RECORDS)
    assert list(read_records(str(tmp_path / "data"))) == RECORDS


@given(records=st.lists(st.binary(max_size=50)), compressed=st.booleans())
def test_any_records_come_back(tmp_path_factory, records, compressed):
    path = str(tmp_path_factory.mktemp("records") / ("data.gz" if compressed else "data"))
    write_records(path, records)
    assert list(read_records(path)) == records


@given(records=st.lists(st.binary(max_size=20), min_size=1), data=st.data())
def test_any_damage_is_noticed(tmp_path_factory, records, data):
    path = tmp_path_factory.mktemp("records") / "data"
    write_records(str(path), records)
    whole = path.read_bytes()
    start = data.draw(st.integers(0, len(whole) - 1))
    end = data.draw(st.integers(start, len(whole)))
    damaged = whole[:start] + data.draw(st.binary(max_size=20)) + whole[end:]
    path.write_bytes(damaged)
    found, refused = [], ""
    try:
        found.extend(read_records(str(path)))
    except BadData as error:
        refused = str(error)
    if refused:
        assert f"{path} is damaged at byte " in refused
    else:  # what is left are whole records
        write_records(str(path), found)
        assert path.read_bytes() == damaged


@pytest.mark.parametrize("name", ["data.gz", "data"])
def test_the_number_of_records_is_estimated_from_the_beginning(tmp_path, name):
    path = str(tmp_path / name)
    write_records(path, (b"%d" % number * 20 for number in range(50_000)))
    assert estimate_records([path, path]) == pytest.approx(100_000, rel=0.2)


def test_there_is_no_estimate_for_what_is_damaged(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"x" * 100)
    assert estimate_records([str(path)]) is None


@pytest.mark.parametrize(("size", "rows"), [(10, 4096), (2048, 4096), (2049, 2048), (600_000, 8)])
def test_fewer_records_are_held_at_once_when_they_are_large(tmp_path, size, rows):
    path = str(tmp_path / "records.gz")
    write_records(path, [bytes(size)] * 20)
    assert fit_batch_rows(path, 4096) == rows


@pytest.mark.parametrize("content", [b"", b"no records", b"\x1f\x8b\x08 no gzip at all"])
def test_of_what_is_damaged_any_number_is_held(tmp_path, content):
    path = tmp_path / "records.gz"
    path.write_bytes(content)
    assert fit_batch_rows(str(path), 4096) == 4096
