# SPDX-License-Identifier: Apache-2.0
"""CSV files to record batches: types, missing cells, and files that are wrong."""

import gzip

import pytest

from stoker.errors import BadData
from stoker.examples.csv import Kind, columns_of, read_cells, scan


@pytest.fixture
def csv_file(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def rows(*files):
    table = scan(files)
    batches = [columns_of(cells, table) for cells in read_cells(files, table)]
    return [row for batch in batches for row in batch.to_pylist()]


def test_columns_are_integers_floats_or_bytes(csv_file):
    assert rows(csv_file("a,b,c\n1,2.5,x\n-2,3,4\n")) == [
        {"a": [1], "b": [2.5], "c": [b"x"]},
        {"a": [-2], "b": [3.0], "c": [b"4"]},
    ]


def test_an_empty_cell_is_a_missing_value(csv_file):
    assert rows(csv_file('a,b\n,x\n1,""\n')) == [{"a": [], "b": [b"x"]}, {"a": [1], "b": []}]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["", ""], Kind.EMPTY),
        (["1", " 2 ", "+3", "1_000"], Kind.INT),
        (["9223372036854775807", "-9223372036854775808"], Kind.INT),
        (["9223372036854775808", "1"], Kind.BYTES),
        (["1", "nan", "1e400", ".5", "-2."], Kind.FLOAT),
        (["1", "0x1F"], Kind.BYTES),
        (["true", "false"], Kind.BYTES),
        (["2024-01-01", "2024-01-02"], Kind.BYTES),
        (["1", "NA"], Kind.BYTES),
        (["1", " "], Kind.BYTES),
    ],
)
def test_a_column_has_the_type_that_tfx_gives_it(csv_file, cells, kind):
    path = csv_file("other,column\n" + "".join(f"x,{cell}\n" for cell in cells))
    assert scan([path]).kinds["column"] == kind


def test_odd_numbers_have_the_value_that_python_gives_them(csv_file):
    assert rows(csv_file("a,b\n+7,1e400\n1_000, .5\n")) == [
        {"a": [7], "b": [float("inf")]},
        {"a": [1000], "b": [0.5]},
    ]


def test_a_type_that_changes_in_the_last_of_many_blocks_changes_all_rows(csv_file, monkeypatch):
    monkeypatch.setattr("stoker.examples.csv._BLOCK_BYTES", 1000)
    found = rows(csv_file("a,b\n" + "1,2\n" * 5000 + "1.5,word\n"))
    assert found[0] == {"a": [1.0], "b": [b"2"]}
    assert found[-1] == {"a": [1.5], "b": [b"word"]}
    assert len(found) == 5001


def test_a_type_is_decided_over_all_files(csv_file):
    files = [csv_file("a\n1\n", "1.csv"), csv_file("a\n2.5\n", "2.csv")]
    assert [row["a"] for row in rows(*files)] == [[1.0], [2.5]]


def test_a_byte_order_mark_quotes_and_line_ends_are_not_data(csv_file):
    text = '\ufeffa,b\r\n1,"x, ""y""\nz"\r\n\r\n2,ü\r\n'
    assert rows(csv_file(text)) == [
        {"a": [1], "b": [b'x, "y"\nz']},
        {"a": [2], "b": ["ü".encode()]},
    ]


def test_a_gzip_file_is_read_as_its_content(csv_file):
    assert rows(csv_file(gzip.compress(b"a\n1\n"), "data.csv.gz")) == [{"a": [1]}]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n\n1,2,3\n", "line 4: the row has 3 cells, but the header has 2"),
        ('a,b\n"1\n\n",2\n1\n', "line 5: the row has 1 cells"),
        ('a,b\n1,2\n3,"4\n5,6\n', "line 3: a quote that opens in this row is never closed"),
        (b"a,b\n1,2\n3,\xff\n", "line 3: the text is not UTF-8"),
        ("a,b,a\n1,2,3\n", "line 1: the column 'a' is there more than once"),
        ("a,b\n", "no row below it"),
        ("", "is empty"),
    ],
)
def test_a_bad_file_is_named_with_the_line(csv_file, text, says):
    path = csv_file(text)
    with pytest.raises(BadData) as caught:
        rows(path)
    assert path in str(caught.value)
    assert says in str(caught.value)


def test_a_gzip_file_that_was_cut_off_is_named(csv_file):
    path = csv_file(gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:-9], "data.csv.gz")
    with pytest.raises(BadData, match=r"data\.csv\.gz"):
        rows(path)


def test_files_with_different_headers_are_refused(csv_file):
    files = [csv_file("a\n1\n", "1.csv"), csv_file("b\n1\n", "2.csv")]
    with pytest.raises(BadData, match=r"2\.csv has the columns \['b'\]"):
        scan(files)
