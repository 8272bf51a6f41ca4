# SPDX-License-Identifier: Apache-2.0
"""How Transform reads examples: in shares, in samples, and what is damaged by its place."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.errors import BadData
from stoker.transform.example_batches import read_sample, read_share, write_share

pytestmark = pytest.mark.tf

SCHEMA = text_format.Parse('feature { name: "n" type: INT }', schema_pb2.Schema())


@pytest.fixture(params=["columns", "records"])
def folder(tmp_path, request):
    """Two files of 10,000 examples each, with and without columns."""
    for share in range(2):
        numbers = pa.array([[i] for i in range(10_000)], pa.large_list(pa.int64()))
        batches = iter([pa.record_batch({"n": numbers})])
        write_share(str(tmp_path / "Split-a"), share, 2, batches)
    if request.param == "records":
        shutil.rmtree(tmp_path / "columns")
    return str(tmp_path / "Split-a")


def values(batches):
    return [n for batch in batches for (n,) in batch["n"].to_pylist()]


def test_files_are_named_by_their_share(folder):
    assert sorted(path.name for path in Path(folder).iterdir()) == [
        "transformed_examples-00000-of-00002.gz",
        "transformed_examples-00001-of-00002.gz",
    ]


def test_shares_together_are_all_examples(folder):
    shares = [values(read_share([folder], SCHEMA, share, 3)) for share in range(3)]
    assert all(shares)
    found = [n for share in shares for n in share]
    assert sorted(found) == sorted([*range(10_000), *range(10_000)])


def test_a_small_sample_is_everything(folder):
    assert values(read_sample([folder], SCHEMA, 20_000)) == [*range(10_000)] * 2


def test_a_large_sample_is_bounded_and_evenly_spread(folder):
    batches = read_sample([folder], SCHEMA, 9000)
    assert [batch["n"][0].as_py() for batch in batches] == [[0], [4096]]


def test_a_damaged_file_is_named_with_the_place(folder):
    (path, _) = sorted(Path(folder).iterdir())
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(BadData, match=rf"{path.name} is damaged at byte \d+"):
        values(read_share([folder], SCHEMA, 0, 1))


def test_an_example_of_another_type_is_told_with_its_file(folder):
    other = text_format.Parse('feature { name: "n" type: BYTES }', schema_pb2.Schema())
    with pytest.raises(BadData, match=r"00000-of-00002\.gz: A record is not the tf\.Example"):
        values(read_share([folder], other, 0, 1))


def test_columns_give_the_batches_that_records_give(tmp_path):
    kinds = {"i": pa.int64(), "f": pa.float32(), "b": pa.large_binary()}
    rows = [{"i": [i], "f": [i / 2, i], "b": [b"x"] * (i % 3)} for i in range(20_000)]
    columns = {
        name: pa.array([row[name] for row in rows], pa.large_list(kind))
        for name, kind in kinds.items()
    }
    write_share(str(tmp_path / "Split-a"), 0, 1, iter([pa.record_batch(columns)]))
    schema = text_format.Parse(
        'feature { name: "b" type: BYTES } feature { name: "other" type: INT } '
        'feature { name: "f" type: FLOAT }',
        schema_pb2.Schema(),
    )

    def read():
        return [list(read_share([str(tmp_path / "Split-a")], schema, share, 2)) for share in (0, 1)]

    by_columns = read()
    shutil.rmtree(tmp_path / "columns")
    assert by_columns == read()
    assert [batch.num_rows for batch in by_columns[1]] == [4096, 4096]
