# SPDX-License-Identifier: Apache-2.0
"""Parquet files to features: values, lists and nulls, and files that are wrong."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stoker.data.arrow_features import as_features
from stoker.data.parquet import check_files, read_rows
from stoker.errors import BadData


@pytest.fixture
def parquet_file(tmp_path):
    def write(columns, name="data.parquet", **options):
        pq.write_table(pa.table(columns), tmp_path / name, **options)
        return str(tmp_path / name)

    return write


def features(*files):
    check_files(files)
    batches = [as_features(rows, path) for path, rows in read_rows(files)]
    return {
        name: [v for b in batches for v in b[name].to_pylist()] for name in batches[0].schema.names
    }


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, None], pa.int8()), [[1], None]),
        (pa.array([2**63 - 1, 0], pa.uint64()), [[2**63 - 1], [0]]),
        (pa.array([True, False]), [[1], [0]]),
        (pa.array([1.5, float("-inf")], pa.float64()), [[1.5], [float("-inf")]]),
        (pa.array(["ü", ""]), [["ü".encode()], [b""]]),
        (pa.array([b"\xff", None]), [[b"\xff"], None]),
        (pa.array(["a", "b"]).dictionary_encode(), [[b"a"], [b"b"]]),
        (pa.array([[1, 2], []]), [[1, 2], None]),
        (pa.array([None, ["x", "y"]]), [None, [b"x", b"y"]]),
        (pa.array([[1.5, 2], [3, 4]], pa.list_(pa.float32(), 2)), [[1.5, 2.0], [3.0, 4.0]]),
        (pa.nulls(2), [None, None]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_values_and_lists_become_features(parquet_file, column, expected):
    assert features(parquet_file({"c": column})) == {"c": expected}


def test_files_are_read_one_after_the_other_in_batches(parquet_file, monkeypatch):
    monkeypatch.setattr("stoker.data.parquet._BATCH_ROWS", 300)
    files = [parquet_file({"n": range(i, i + 1000)}, f"{i}", row_group_size=400) for i in (0, 1000)]
    assert features(*files)["n"] == [[n] for n in range(2000)]
    assert max(rows.num_rows for _, rows in read_rows(files)) <= 300


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (pa.array([1], pa.timestamp("s")), r"column 'c' holds timestamp\[ms\].*convert"),
        (pa.array([{"x": 1}]), "column 'c' holds struct<x: int64>"),
        (pa.array([[[1]]]), "column 'c' holds list<.*list"),
        (pa.array([[1, None]]), "column 'c' has a null inside a list"),
        (pa.array([2**63], pa.uint64()), "column 'c' holds a value that does not fit"),
        (pa.array([], pa.int64()), "there is no row"),
    ],
)
def test_what_an_example_cannot_hold_is_named(parquet_file, column, says):
    with pytest.raises(BadData, match=rf"data\.parquet.*{says}"):
        features(parquet_file({"c": column}))


def test_files_with_different_types_are_refused(parquet_file):
    files = [parquet_file({"c": [1]}, "1"), parquet_file({"c": ["x"]}, "2")]
    with pytest.raises(BadData, match=r"2: the column 'c' holds string, but in .*1 it does not"):
        features(*files)


def test_a_file_that_is_no_parquet_is_named(tmp_path):
    (tmp_path / "x").write_text("not Parquet")
    with pytest.raises(BadData, match=r"x cannot be read as Parquet: .*magic bytes"):
        features(str(tmp_path / "x"))


def test_a_file_that_is_damaged_inside_is_named_with_the_row(parquet_file, tmp_path):
    path = parquet_file({"n": range(50_000)}, row_group_size=1000)
    content = bytearray((tmp_path / "data.parquet").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 2000] = b"\x07" * 2000
    (tmp_path / "data.parquet").write_bytes(content)
    with pytest.raises(BadData, match=r"data\.parquet cannot be read as Parquet from row \d+ on"):
        features(path)


def test_a_number_beyond_a_float_is_named(parquet_file):
    large = {"kept": [3.4028235e38, float("inf")], "large": [[1.0], [2.0, 1e39]]}
    with pytest.raises(
        BadData, match=r"data\.parquet, column 'large' .* 1e\+39 is beyond a 32-bit"
    ):
        features(parquet_file(large))
