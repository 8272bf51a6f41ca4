# SPDX-License-Identifier: Apache-2.0
"""Columns for files without: at once if they are small, beside the reading if they are large."""

import os
import subprocess
import time

import pyarrow as pa
import pytest

from stoker.data import background_columns
from stoker.data.background_columns import columns_for
from stoker.data.columns import read_columns
from stoker.data.encode import encode
from stoker.data.tfrecord import write_records


@pytest.fixture
def files(tmp_path):
    batch = pa.record_batch({"id": pa.array([[i] for i in range(9)], pa.large_list(pa.int64()))})
    paths = [str(tmp_path / "data" / f"{shard}.gz") for shard in range(2)]
    for path in paths:
        write_records(path, encode(batch).to_pylist())
    return paths


@pytest.fixture
def cache(tmp_path):
    return str(tmp_path / "cache")


@pytest.fixture
def everything_is_large(monkeypatch):
    """Ends the processes that the test has started."""
    started = []
    monkeypatch.setattr(background_columns, "_SMALL_BYTES", 0)
    monkeypatch.setattr(
        background_columns.atexit, "register", lambda _, process: started.append(process)
    )
    yield started
    for process in started:
        background_columns._end(process)


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def test_small_files_get_columns_at_once(files, cache):
    assert columns_for(files, cache).num_rows == 18


def test_without_a_place_there_are_no_columns(files):
    assert columns_for(files, None) is None


@pytest.mark.slow
def test_large_files_get_columns_for_the_next_time(files, cache, everything_is_large):
    assert columns_for(files, cache) is None
    assert columns_for(files, cache) is None
    wait_until(lambda: read_columns(files, cache, decode_missing=False) is not None)
    assert columns_for(files, cache).num_rows == 18
    assert len(everything_is_large) == 1


@pytest.mark.slow
def test_it_ends_with_the_process_that_asked(files, cache, everything_is_large, tmp_path):
    os.mkfifo(tmp_path / "endless.gz")  # whoever opens it waits for a writer that never comes
    background_columns._decode_beside([str(tmp_path / "endless.gz")], cache)
    (process,) = everything_is_large
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(2)
    process.stdin.close()
    assert process.wait(30) == 0


def test_records_that_cannot_be_columns_are_no_error(files, cache):
    other = pa.record_batch({"id": pa.array([[b"x"]], pa.large_list(pa.large_binary()))})
    write_records(files[1], encode(other).to_pylist())
    assert columns_for(files, cache) is None
    assert os.path.isdir(cache)
