# SPDX-License-Identifier: Apache-2.0
"""Examples as tensors: every value comes back, every option counts, all as tfx_bsl does it."""

import gzip
import itertools
import math

import pyarrow as pa
import pytest
from google.protobuf import text_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.errors import BadData
from stoker.examples.csv import read_csv
from stoker.examples.encode import encode
from stoker.examples.tfrecord import read_records, write_records

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


def options(**given):
    from tfx_bsl.public.tfxio import TensorFlowDatasetOptions

    return TensorFlowDatasetOptions(**{"batch_size": 4, "num_epochs": 1, "shuffle": False, **given})


def dataset(files, schema, **given):
    from stoker.examples.dataset import tf_dataset_factory

    return tf_dataset_factory(files, options(**given), schema)


def ids(batches):
    return [int(one) for batch in batches for one in batch["id"].numpy().ravel()]


def comparable(tensor):
    import tensorflow as tf

    if isinstance(tensor, tf.SparseTensor):
        return "sparse", [comparable(part) for part in (tensor.indices, tensor.values)]
    if isinstance(tensor, tf.RaggedTensor):
        return "ragged", tensor.dtype, tensor.to_list()
    return tensor.dtype, tensor.shape.as_list(), tensor.numpy().tolist()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"batch_size": 7, "drop_final_batch": True},
        {"num_epochs": 2},
        {"shuffle": True, "shuffle_seed": 5, "reader_num_threads": 1},
        {"shuffle": True, "shuffle_seed": 5, "shuffle_buffer_size": 3},
        {"reader_num_threads": 2, "parser_num_threads": 1, "prefetch_buffer_size": 1},
        {"label_key": "id"},
        {"label_key": "renamed"},
    ],
)
@pytest.mark.parametrize("pattern", ["*", "a.gz"])
def test_batches_are_those_of_tfxio(files, schema, given, pattern):
    import tensorflow as tf
    from tfx_bsl.public.tfxio import TFExampleRecord

    files = files.replace("*", pattern)
    theirs = TFExampleRecord(files, schema=schema).TensorFlowDataset(options(**given))
    ours = dataset(files, schema, **given)
    assert ours.element_spec == theirs.element_spec
    flat = [
        [[comparable(part) for part in tf.nest.flatten(batch)] for batch in batches]
        for batches in (ours, theirs)
    ]
    assert flat[0] == flat[1]
    assert flat[0]


def test_record_batches_are_those_of_tfxio(files, schema):
    from tfx_bsl.public.tfxio import RecordBatchesOptions, TFExampleRecord

    from stoker.examples.dataset import record_batch_factory

    given = RecordBatchesOptions(batch_size=4, num_epochs=2, shuffle=True, shuffle_seed=3)
    ours = list(record_batch_factory(files, given, schema))
    theirs = list(TFExampleRecord(files, schema=schema).RecordBatches(given))
    assert [batch.num_rows for batch in ours] == [4] * 12 + [2]
    assert all(one.equals(other) for one, other in zip(ours, theirs, strict=True))


def test_an_endless_dataset_goes_on_with_whole_batches(files, schema):
    batches = list(itertools.islice(dataset(files, schema, num_epochs=None), 20))
    assert [batch["id"].shape[0] for batch in batches] == [4] * 20


def test_a_seed_repeats_the_order_and_another_does_not(files, schema):
    orders = [ids(dataset(files, schema, shuffle=True, shuffle_seed=seed)) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == list(range(NUM_ROWS))


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


CELLS = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(width=32, allow_nan=False),
    st.none()
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(CELLS, min_size=1, max_size=8))
def test_tensorflow_reads_back_every_cell(tmp_path, rows):
    import csv

    import tensorflow as tf

    # The first row fixes the types, so that a column of "1" as text stays text.
    rows = [(0, 0.5, "text"), *rows]
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["int", "float", "text"])
        writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
    records = [one for batch in read_csv([str(path)]) for one in encode(batch).to_pylist()]
    write_records(str(tmp_path / "rows.gz"), records)
    found = [
        tf.train.Example.FromString(record.numpy()).features.feature
        for record in tf.data.TFRecordDataset(str(tmp_path / "rows.gz"), "GZIP")
    ]
    assert len(found) == len(rows)
    for features, (integer, number, text) in zip(found, rows, strict=True):
        assert list(features["int"].int64_list.value) == ([] if integer is None else [integer])
        assert list(features["text"].bytes_list.value) == ([text.encode()] if text else [])
        assert list(features["float"].float_list.value) == ([] if number is None else [number])
        assert features["int"].WhichOneof("kind") == "int64_list"
        assert not any(map(math.isnan, features["float"].float_list.value))
