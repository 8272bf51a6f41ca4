# SPDX-License-Identifier: Apache-2.0
"""Avro files as columns of examples."""

import fastavro
import pytest

from stoker.data.arrow_features import as_features
from stoker.data.avro import check_files, read_rows
from stoker.errors import BadData

FIELDS = {
    "id": "long",
    "small": "int",
    "on": "boolean",
    "weight": ["null", "double"],
    "name": {"type": "string"},
    "raw": "bytes",
    "color": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]},
    "second": ["null", "Color"],
    "many": {"type": "array", "items": "float"},
    "nothing": "null",
}
ROW = {
    "id": 2**40,
    "small": 0,
    "on": True,
    "weight": 0.0,
    "name": "",
    "raw": b"\xff",
    "color": "RED",
    "second": "BLUE",
    "many": [1.0, 2.5],
    "nothing": None,
}


def write(path, rows, **fields):
    schema = {
        "type": "record",
        "name": "Row",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), rows, codec="deflate")
    return str(path)


def read(*files):
    check_files(files)
    return [row for path, rows in read_rows(files) for row in as_features(rows, path).to_pylist()]


def test_every_value_is_a_list_and_what_is_missing_is_null(tmp_path):
    path = write(tmp_path / "a.avro", [ROW, {**ROW, "weight": None, "many": []}], **FIELDS)
    first, second = read(path)
    assert first == {
        "id": [2**40],
        "small": [0],
        "on": [1],
        "weight": [0.0],
        "name": [b""],
        "raw": [b"\xff"],
        "color": [b"RED"],
        "second": [b"BLUE"],
        "many": [1.0, 2.5],
        "nothing": None,
    }
    assert (second["weight"], second["many"]) == (None, None)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ({"type": "map", "values": "int"}, "field 'x' holds .*map"),
        (["int", "string"], r"field 'x' holds \['int', 'string'\]"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "holds 'timestamp-millis'"),
        ({"type": "array", "items": {"type": "array", "items": "int"}}, "column 'x' holds list"),
    ],
)
def test_what_no_example_can_hold_is_named(tmp_path, kind, says):
    with pytest.raises(BadData, match=says):
        read(write(tmp_path / "a.avro", [], x=kind))


def test_files_that_do_not_fit_each_other_or_are_no_files_of_avro_are_named(tmp_path):
    first = write(tmp_path / "a.avro", [{"x": 1}], x="int")
    second = write(tmp_path / "b.avro", [{"x": "1"}], x="string")
    with pytest.raises(BadData, match=r"b\.avro: the column 'x' holds string, but in .*a\.avro"):
        read(first, second)
    (tmp_path / "c.avro").write_bytes(b"not avro")
    with pytest.raises(BadData, match=r"c\.avro cannot be read as Avro"):
        read(str(tmp_path / "c.avro"))
    (tmp_path / "d.avro").write_bytes((tmp_path / "a.avro").read_bytes()[:-4])
    with pytest.raises(BadData, match=r"d\.avro cannot be read as Avro"):
        read(str(tmp_path / "d.avro"))
    with pytest.raises(BadData, match="there is no row"):
        read(write(tmp_path / "e.avro", [], x="int"))
