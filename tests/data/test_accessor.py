# SPDX-License-Identifier: Apache-2.0
"""Examples as tensors: every value comes back, every option counts, all as tfx_bsl does it."""

import gzip
import itertools
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.data.encode import encode
from stoker.data.tfrecord import read_records, write_records
from stoker.errors import BadData

pytestmark = pytest.mark.tf

SCHEMA = """
feature { name: "id" type: INT presence { min_fraction: 1 } shape { dim { size: 1 } } }
feature { name: "pair" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 2 } } }
feature { name: "tags" type: BYTES value_count { min: 1 } }
feature { name: "ragged" type: INT }
feature { name: "index" type: INT }
feature { name: "value" type: FLOAT }
tensor_representation_group {
  key: ""
  value {
    tensor_representation {
      key: "renamed"
      value { ragged_tensor { feature_path { step: "ragged" } } }
    }
    tensor_representation {
      key: "sparse"
      value { sparse_tensor {
        dense_shape { dim { size: 10 } } index_column_names: "index" value_column_name: "value"
      } }
    }
  }
}
"""
NUM_ROWS = 25


@pytest.fixture(scope="module")
def schema():
    return text_format.Parse(SCHEMA, schema_pb2.Schema())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two gzip files and a plain one, 25 examples in all."""
    rows = range(NUM_ROWS)
    batch = pa.record_batch(
        {
            "id": pa.array([[i] for i in rows], pa.large_list(pa.int64())),
            "pair": pa.array([[i, -i] for i in rows], pa.large_list(pa.float32())),
            "tags": pa.array([[b"t"] * (i % 3) for i in rows], pa.large_list(pa.large_binary())),
            "ragged": pa.array([[i] * (i % 4) for i in rows], pa.large_list(pa.int64())),
            "index": pa.array([[i % 10] for i in rows], pa.large_list(pa.int64())),
            "value": pa.array([[i / 2] for i in rows], pa.large_list(pa.float32())),
        }
    )
    folder = tmp_path_factory.mktemp("files")
    records = encode(batch).to_pylist()
    for name, part in {"a.gz": records[:10], "b.gz": records[10:20], "c.gz": records[20:]}.items():
        write_records(str(folder / name), part)
    return str(folder / "*")


@pytest.fixture(params=["records", "columns"])
def cache_dir(request, tmp_path):
    """Where columns are kept; without such a place the records themselves are read."""
    return str(tmp_path / "cache") if request.param == "columns" else None


def options(**given):
    from tfx_bsl.public.tfxio import TensorFlowDatasetOptions

    return TensorFlowDatasetOptions(**{"batch_size": 4, "num_epochs": 1, "shuffle": False, **given})


def dataset(files, schema, *, cache_dir=None, start_at=None, **given):
    from stoker.data.accessor import tf_dataset_factory

    return tf_dataset_factory(
        files, options(**given), schema, cache_dir=cache_dir, start_at=start_at
    )


def theirs(files, schema, **given):
    from tfx_bsl.public.tfxio import TFExampleRecord

    return TFExampleRecord(files, schema=schema).TensorFlowDataset(options(**given))


def ids(batches):
    return [int(one) for batch in batches for one in batch["id"].numpy().ravel()]


def comparable(tensor):
    import tensorflow as tf

    if isinstance(tensor, tf.SparseTensor):
        parts = (tensor.indices, tensor.values, tensor.dense_shape)
        return "sparse", [comparable(part) for part in parts]
    if isinstance(tensor, tf.RaggedTensor):
        return (
            "ragged",
            comparable(tensor.flat_values),
            [*map(comparable, tensor.nested_row_splits)],
        )
    # repr, because NaN is not equal to itself
    return tensor.dtype, tensor.shape.as_list(), repr(tensor.numpy().tolist())


def contents(batches):
    import tensorflow as tf

    return [
        (
            str(tf.nest.map_structure(lambda _: None, batch)),
            [*map(comparable, tf.nest.flatten(batch))],
        )
        for batch in batches
    ]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"batch_size": 7, "drop_final_batch": True},
        {"num_epochs": 2},
        {"reader_num_threads": 2, "parser_num_threads": 1, "prefetch_buffer_size": 1},
        {"label_key": "id"},
        {"label_key": "renamed"},
    ],
)
@pytest.mark.parametrize("pattern", ["*", "a.gz"])
def test_batches_are_those_of_tfxio(files, schema, cache_dir, given, pattern):
    files = files.replace("*", pattern)
    ours = dataset(files, schema, cache_dir=cache_dir, **given)
    expected = theirs(files, schema, **given)
    assert ours.element_spec == expected.element_spec
    assert contents(ours) == contents(expected) != []


def test_records_are_shuffled_as_tfxio_does(files, schema):
    given = {"shuffle": True, "shuffle_seed": 5, "shuffle_buffer_size": 3}
    assert contents(dataset(files, schema, **given)) == contents(theirs(files, schema, **given))


@pytest.mark.parametrize("with_schema", [True, False])
@pytest.mark.parametrize("shuffle", [True, False])
def test_record_batches_are_those_of_tfxio(files, schema, cache_dir, with_schema, shuffle):
    from tfx_bsl.public.tfxio import RecordBatchesOptions, TFExampleRecord

    from stoker.data.accessor import record_batch_factory

    schema = schema if with_schema else None
    given = RecordBatchesOptions(batch_size=4, num_epochs=2, shuffle=shuffle, shuffle_seed=3)
    ours = list(record_batch_factory(files, given, schema, cache_dir=cache_dir))
    expected = list(TFExampleRecord(files, schema=schema).RecordBatches(given))
    assert [batch.num_rows for batch in ours] == [4] * 12 + [2]
    if with_schema:
        assert all(one.schema == other.schema for one, other in zip(ours, expected, strict=True))
    rows = [sorted_rows(batches, ordered=not shuffle) for batches in (ours, expected)]
    assert rows[0] == rows[1]


def sorted_rows(batches, *, ordered):
    rows = [sorted(row.items()) for batch in batches for row in batch.to_pylist()]
    return rows if ordered else sorted(rows, key=str)


def test_an_endless_dataset_goes_on_with_whole_batches(files, schema, cache_dir):
    endless = dataset(files, schema, cache_dir=cache_dir, num_epochs=None)
    batches = list(itertools.islice(endless, 20))
    assert [batch["id"].shape[0] for batch in batches] == [4] * 20
    assert int(endless.cardinality()) == -1


def test_a_seed_repeats_the_order_and_another_does_not(files, schema, cache_dir):
    orders = [
        ids(dataset(files, schema, cache_dir=cache_dir, shuffle=True, shuffle_seed=seed))
        for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == list(range(NUM_ROWS))


def test_without_a_seed_every_dataset_has_an_order_of_its_own(files, schema, cache_dir):
    orders = [ids(dataset(files, schema, cache_dir=cache_dir, shuffle=True)) for _ in range(2)]
    assert orders[0] != orders[1]


def test_sloppy_ordering_is_passed_on(files, schema):
    found = dataset(files, schema, sloppy_ordering=True)
    assert sorted(ids(found)) == list(range(NUM_ROWS))


def test_gzip_and_plain_files_mix_whatever_their_names(tmp_path, files, schema):
    for name in ("a.gz", "b.gz"):
        records = list(read_records(files.replace("*", name)))
        write_records(str(tmp_path / f"plain-{name}.tfrecord"), records)
    plain = (tmp_path / "plain-b.gz.tfrecord").read_bytes()
    (tmp_path / "packed.tfrecord").write_bytes(gzip.compress(plain))
    found = dataset(str(tmp_path / "*"), schema)
    assert sorted(ids(found)) == sorted([*range(20), *range(10, 20)])


def test_without_a_schema_the_first_records_decide(files):
    (first, *_) = dataset(files, None)
    assert first["pair"].shape == (4, 2)
    assert first["tags"].dtype == "string"


def test_no_record_to_infer_from_is_said(tmp_path):
    write_records(str(tmp_path / "empty.gz"), [])
    with pytest.raises(BadData, match=r"empty\.gz: no record to infer a schema from"):
        dataset(str(tmp_path / "*"), None)


def test_a_pattern_that_matches_nothing_is_named(tmp_path, schema):
    with pytest.raises(BadData, match=r"No file matches '.*nothing"):
        dataset([str(tmp_path / "nothing-*")], schema)


def test_a_label_that_is_not_there_is_named(files, schema):
    with pytest.raises(ValueError, match="label_key 'nope' is not in the schema"):
        dataset(files, schema, label_key="nope")


def test_every_pass_over_a_shuffled_dataset_has_an_order_of_its_own(files, schema, tmp_path):
    options = {"shuffle": True, "shuffle_seed": 7, "num_epochs": 1}
    shuffled = dataset(files, schema, cache_dir=str(tmp_path), **options)
    again = dataset(files, schema, cache_dir=str(tmp_path), **options)

    passes = [ids(shuffled) for _ in range(3)]

    assert len({tuple(rows) for rows in passes}) == 3
    assert len({tuple(sorted(rows)) for rows in passes}) == 1
    assert ids(again.repeat(3)) == [row for rows in passes for row in rows]


def test_the_recipe_for_numpy_keeps_rows_together_and_ends(tmp_path):
    from stoker.data.accessor import record_batch_factory

    rows = {"age": [[3], None, [], [5]], "label": [[0], [1], [0], [1]]}
    columns = {name: pa.array(cells, pa.large_list(pa.int64())) for name, cells in rows.items()}
    write_records(str(tmp_path / "a.gz"), encode(pa.record_batch(columns)).to_pylist())
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text()
    (recipe,) = re.findall(
        r"^```python[^\n]*\n((?:(?!^```).)*list_slice.*?)^```", page, re.S | re.M
    )
    names = {}
    exec(recipe, names)
    fn_args = SimpleNamespace(
        data_accessor=SimpleNamespace(record_batch_factory=record_batch_factory),
        train_files=str(tmp_path / "*"),
    )
    batches = list(names["read_arrays"](fn_args, ["age", "label"]))

    ages, labels = (np.concatenate([batch[name] for batch in batches]) for name in ("age", "label"))
    assert sorted(zip(ages.tolist(), labels.tolist(), strict=True), key=str) == [
        (3.0, 0),
        (5.0, 1),
        (pytest.approx(math.nan, nan_ok=True), 0),
        (pytest.approx(math.nan, nan_ok=True), 1),
    ]
