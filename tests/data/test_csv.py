# SPDX-License-Identifier: Apache-2.0
"""CSV files to record batches: types, missing cells, and files that are wrong."""

import contextlib
import csv
import gzip
import io
import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stoker.data.csv import Kind, Overflows, columns_of, read_cells, scan
from stoker.errors import BadData


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
        (["9223372036854775808", "1"], Kind.HUGE),
        (["1", "nan", "1e400", ".5", "-2."], Kind.FLOAT),
        (["1", "0x1F"], Kind.BYTES),
        (["true", "false"], Kind.BYTES),
        (["2024-01-01", "2024-01-02"], Kind.BYTES),
        (["1", "NA"], Kind.BYTES),
        (["1", " "], Kind.BYTES),
        (["1.5", "9223372036854775808"], Kind.HUGE),
        (["9223372036854775808", "word"], Kind.BYTES),
        (["1.5", "92233720368547758080.5", "1e300"], Kind.FLOAT),
        (["1.5", "nan(1)"], Kind.BYTES),
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


def warnings_about(*files):
    said = []
    table, overflows = scan(files), Overflows(files, lambda _, text: said.append(text))
    overflows.look_at(table)
    for cells in read_cells(files, table):
        columns_of(cells, table, overflows=overflows)
    return said


def test_a_number_beyond_a_float_is_infinite_and_named_by_file_line_and_column(csv_file):
    files = [
        csv_file('a,b\n1,"two\nlines"\ninf,x\n', "1.csv"),
        csv_file("a,b\n3.4028235e38,x\n1e39,x\n1e400,x\n", "2.csv"),
    ]
    assert [row["a"][0] for row in rows(*files)][-2:] == [float("inf")] * 2
    assert warnings_about(*files) == [
        f"{files[1]}, line 3, column 'a': 1e39 is beyond a 32-bit float: it is infinite"
    ]


def test_an_integer_beyond_64_bits_makes_a_column_of_bytes_and_is_named(csv_file):
    path = csv_file("id,word\n1,x\n9223372036854775808,99999999999999999999\n")
    assert rows(path)[0] == {"id": [b"1"], "word": [b"x"]}
    assert warnings_about(path) == [
        f"{path}, line 3, column 'id': 9223372036854775808 is beyond 64 bits: "
        "the column holds bytes, not numbers"
    ]


@pytest.mark.parametrize("num_rows", [30, 3000])
def test_a_word_among_numbers_makes_a_column_of_bytes_and_is_named(csv_file, num_rows):
    numbers = "".join(f"{n},{n}x,{n % 2 or 'no'}\n" for n in range(num_rows))
    path = csv_file(f"age,word,both\n{numbers},x,\nn/a,x,1\n")
    assert rows(path)[0] == {"age": [b"0"], "word": [b"0x"], "both": [b"no"]}
    assert warnings_about(path) == [
        f"{path}, line {num_rows + 3}, column 'age': n/a is no number: "
        "the column holds bytes, not numbers"
    ]


def test_a_row_of_numbers_in_place_of_the_header_is_told(csv_file):
    with pytest.raises(BadData, match=r"'0' is there more than once\. Is the header missing\?"):
        scan([csv_file("0,x,0\n1,y,2\n")])


def test_a_type_that_changes_in_the_last_of_many_blocks_changes_all_rows(csv_file, monkeypatch):
    monkeypatch.setattr("stoker.data.csv._BLOCK_BYTES", 1000)
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
        (b"a,\xff\n1,2\n", "line 1: the text is not UTF-8"),
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


def test_an_open_quote_that_swallows_megabytes_is_named_by_its_line(csv_file):
    with pytest.raises(BadData, match=r"line 3: a quote that opens in this row is never closed"):
        rows(csv_file('a,b\n1,2\n3,"' + "4\n5,6\n" * 1_000_000))


def test_a_quote_that_swallows_rows_up_to_the_next_one_is_named_by_its_line(csv_file):
    with pytest.raises(BadData, match=r"line 3: a quote .* is closed in line 1006, within other"):
        rows(csv_file('a,b\n1,2\n3,"4\n' + "5,6\n" * 1002 + '7,"x, y"\n8,9\n'))


def test_a_quote_in_the_last_letters_of_a_block_is_looked_at(csv_file, monkeypatch):
    for size in range(990, 1010):
        monkeypatch.setattr("stoker.data.csv._BLOCK_BYTES", size)
        sound = 'a,b\n1,"x ""y"""\n' + '"1","2"\n' * 500
        assert len(rows(csv_file(sound))) == 501
        with pytest.raises(BadData, match=r"line 503: a quote .* is never closed"):
            rows(csv_file(sound + '3,"4\n5,6\n'))


def test_a_cell_beyond_the_limit_is_named_by_its_line_before_all_of_it_is_read(
    csv_file, monkeypatch
):
    monkeypatch.setattr("stoker.data.csv._BLOCK_BYTES", 1000)
    monkeypatch.setattr("stoker.data.csv._MAX_CELL_LETTERS", 5000)
    text = 'a,b\n1,2\n3,"' + "4\n5,6\n" * 5000
    for closing in ("", '"\n7,8\n'):
        for path in (
            csv_file(text + closing),
            csv_file(gzip.compress((text + closing).encode()), "data.csv.gz"),
        ):
            with pytest.raises(BadData, match=r"line 3: a cell has more than 5,000 letters"):
                rows(path)


def test_the_quotes_of_every_file_are_looked_at(csv_file):
    files = [csv_file("a,b\n1,2\n", "1.csv"), csv_file('a,b\n1,"2\n3,4\n', "2.csv")]
    with pytest.raises(BadData, match=r"2\.csv, line 2: a quote .* is never closed"):
        rows(*files)


def test_a_quote_within_a_cell_of_one_line_is_a_letter(csv_file):
    assert [row["b"] for row in rows(csv_file('a,b\n1,5" pipe\n2,"5"" pipe"\n3,"5" pipe\n'))] == [
        [b'5" pipe'],
        [b'5" pipe'],
        [b"5 pipe"],
    ]


def test_a_row_longer_than_a_block_is_read(csv_file, monkeypatch):
    monkeypatch.setattr("stoker.data.csv._BLOCK_BYTES", 1000)
    found = rows(csv_file("a,b\n1,x\n2," + "y" * 100_000 + "\n"))
    assert [len(row["b"][0]) for row in found] == [1, 100_000]


@pytest.mark.slow
def test_ten_thousand_columns_are_read(csv_file):
    names = [f"column {i}" for i in range(10_000)]
    (row,) = rows(csv_file(",".join(names) + "\n" + ",".join(map(str, range(10_000))) + "\n"))
    assert row["column 9999"] == [9999]
    assert len(row) == 10_000


# What is written in cells by people and programs, and what nearly is a number.
CELLS = st.one_of(
    st.integers(-(2**64), 2**64).map(str),
    st.floats().map(repr),
    st.sampled_from(
        ["", "+1", " 1", "1 ", "1_0", "0x1F", "1e5", "nan(1)", "inf", "-0", ".5", "1."]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=5),
)


def as_tfx_reads(cells):
    """A column of cells by the rules that the module states, in plain Python."""

    def number(cell):
        value = int(cell.encode())
        if not -(2**63) <= value < 2**63:
            raise OverflowError
        return value

    def real(cell):
        with contextlib.suppress(ValueError):
            number(cell)
        return float(cell.encode())

    for read in (number, real):
        try:
            return [[read(cell)] if cell else [] for cell in cells]
        except (ValueError, OverflowError):
            pass
    return [[cell.encode()] if cell else [] for cell in cells]


def single(value):
    """A float as an example holds it."""
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def same(found, expected):
    if isinstance(expected, float):
        return repr(found) == repr(single(expected))
    return (type(found), found) == (type(expected), expected)


@settings(max_examples=40)
@given(columns=st.lists(st.lists(CELLS, min_size=1, max_size=6), min_size=2, max_size=2))
@example(columns=[["1", "2.5"], ['"', "\n"]])
def test_any_table_is_read_as_python_would_read_it(tmp_path_factory, columns):
    table = list(zip(*columns, strict=False))
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([("a", "b"), *table])
    path = tmp_path_factory.mktemp("csv") / "data.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    found = rows(str(path))
    for name, cells in zip("ab", zip(*table, strict=True), strict=True):
        expected = as_tfx_reads(cells)
        if not any(cells):
            expected = [None] * len(cells)
        for row, values in zip(found, expected, strict=True):
            assert (row[name] is None) == (values is None)
            pairs = zip(row[name] or [], values or [], strict=True)
            assert all(same(*pair) for pair in pairs), (row, values)


@given(st.binary(max_size=200))
@example(b'"')
@example(b"a\n\x00\n")
def test_any_file_is_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("csv") / "data.csv"
    path.write_bytes(content)
    refused = ""
    try:
        rows(str(path))
    except BadData as error:
        refused = str(error)
    assert str(path) in refused or not refused
