# SPDX-License-Identifier: Apache-2.0
"""Lines of JSON to features: values, lists and what is missing, and lines that are wrong."""

import gzip

import pytest

from stoker.data.json_lines import columns_of, read_lines, scan
from stoker.errors import BadData


@pytest.fixture
def json_file(tmp_path):
    def write(text, name="data.jsonl"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def rows(*files):
    schema = scan(files)
    batches = [columns_of(lines, schema) for _, lines in read_lines(files)]
    return [row for batch in batches for row in batch.to_pylist()]


def test_values_lists_and_what_is_missing(json_file):
    text = '{"n": 1, "w": "ü", "l": [1, 2], "t": true}\n\n{"n": null, "l": [], "f": 2.5}'
    assert rows(json_file(text)) == [
        {"n": [1], "w": ["ü".encode()], "l": [1, 2], "t": [1], "f": None},
        {"n": None, "w": None, "l": None, "t": None, "f": [2.5]},
    ]


def test_text_that_looks_like_a_time_is_text(json_file):
    assert rows(json_file('{"t": "2020-01-01"}\n')) == [{"t": [b"2020-01-01"]}]


def test_an_integer_that_is_a_float_in_the_last_of_many_blocks_is_a_float(json_file, monkeypatch):
    monkeypatch.setattr("stoker.data.json_lines._BLOCK_BYTES", 100)
    found = rows(json_file('{"a": 1, "l": [1]}\n' * 500 + '{"a": 1.5, "l": [2.5]}\n'))
    assert found[0] == {"a": [1.0], "l": [1.0]}
    assert isinstance(found[0]["a"][0], float)
    assert found[-1] == {"a": [1.5], "l": [2.5]}
    assert len(found) == 501


def test_a_line_longer_than_a_block_is_read(json_file, monkeypatch):
    monkeypatch.setattr("stoker.data.json_lines._BLOCK_BYTES", 10)
    assert rows(json_file('{"a": "' + "x" * 500 + '"}\n{"a": "y"}')) == [
        {"a": [b"x" * 500]},
        {"a": [b"y"]},
    ]


def test_gzip_and_a_byte_order_mark_are_not_data(json_file):
    files = [json_file(gzip.compress(b'{"a": 1}\n'), "1"), json_file('\ufeff{"a": 2}', "2")]
    assert rows(*files) == [{"a": [1]}, {"a": [2]}]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": 1}\n[1, 2]\n', r"line 2: a line needs a JSON object.*got \[1, 2\]"),
        ('{"a": 1}\n"text"\n', 'line 2: a line needs a JSON object.*got "text"'),
        ('{"a": 1}\n\n{"a": 1,\n', "line 3: this is not a JSON object: Expecting"),
        ('{"a": 1}\n{"b": {"c": 1}}\n', "line 2: 'b' holds {\"c\": 1}. An example holds numbers"),
        ('{"a": [[1]]}\n', r"line 1: 'a' holds \[\[1\]\]"),
        ('{"a": [1]}\n{"a": [1, null]}\n', r"line 2: 'a' holds \[1, null\]"),
        ('{"a": 1}\n{"a": "x"}\n', "line 2: 'a' holds text, but in .*line 1 it holds a number"),
        ('{"a": 1}\n{"a": [1]}\n', "line 2: 'a' holds a list of a number, but in .*line 1"),
        ('{"a": true}\n{"a": 1}\n', "line 2: 'a' holds a number, but in .*line 1 .*true or false"),
        ('{"a": 1, "a": 2}\n', "line 1: .*a name is there twice"),
        ("\n\n", "there is no line with a JSON object"),
        ("", "there is no line with a JSON object"),
    ],
)
@pytest.mark.parametrize("block_bytes", [10, 1 << 20])
def test_a_bad_line_is_named(json_file, monkeypatch, text, says, block_bytes):
    monkeypatch.setattr("stoker.data.json_lines._BLOCK_BYTES", block_bytes)
    with pytest.raises(BadData, match=rf"data\.jsonl.*{says}"):
        rows(json_file(text))


def test_types_are_compared_over_all_files(json_file):
    files = [json_file('{"a": 1}', "1"), json_file('{"a": "x"}', "2")]
    with pytest.raises(
        BadData, match=r"2, line 1: 'a' holds text, but in .*1, line 1 it holds a nu"
    ):
        rows(*files)


def test_a_gzip_file_that_was_cut_off_is_named(json_file):
    path = json_file(gzip.compress(b'{"a": 1}\n' * 1000)[:-9])
    with pytest.raises(BadData, match=r"data\.jsonl cannot be read beyond byte \d+"):
        rows(path)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"a": 1e39}', "1e39 is beyond a 32-bit float"),
        ('{"a": [1.5, -1e400]}', "-1e400 is beyond a 32-bit float"),
        ('{"a": 9223372036854775808}', "9223372036854775808 is beyond a 64-bit integer"),
        ('{"a": -99999999999999999999999}', "is beyond a 64-bit integer"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested more than 100 deep"),
        ('{"a": ' * 100_000 + "1" + "}" * 100_000, "nested more than 100 deep"),
        ('{"a": ' + "[" * 100_000, "nested more than 100 deep"),
        ('{"a": "]]]]]]]", "b": ' + '["]",' * 1_000, "nested more than 100 deep"),
    ],
)
def test_a_number_that_is_too_large_and_a_depth_that_is_too_great_are_named(json_file, line, says):
    with pytest.raises(BadData, match=rf"data\.jsonl, line 3: .*{says}"):
        rows(json_file('{"c": 1}\n\n' + line + '\n{"c": 2}\n'))


def test_large_numbers_and_texts_full_of_brackets_are_read(json_file):
    text = '{"a": 3.4028235e38, "b": "%s", "c": 1e20, "d": 9223372036854775807}\n' % ("[{" * 1000)
    (row,) = rows(json_file(text))
    assert row["b"] == [b"[{" * 1000]
    assert row["d"] == [2**63 - 1]
