# SPDX-License-Identifier: Apache-2.0
"""Tensors from columns: of every kind, with any values, as tfx_bsl makes them of the records."""

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorflow_metadata.proto.v0 import schema_pb2
from test_accessor import contents, dataset, ids, theirs

from stoker.data.column_file import ColumnWriter, columns_path
from stoker.data.encode import encode
from stoker.data.row_order import Position
from stoker.data.tfrecord import write_records

pytestmark = pytest.mark.tf

TYPES = {
    schema_pb2.INT: (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    schema_pb2.FLOAT: (pa.float32(), st.floats(width=32)),
    schema_pb2.BYTES: (pa.large_binary(), st.binary(max_size=30)),
}
KINDS = ["fixed", "default", "varlen", "sparse", "ragged", "uniform", "nested"]


def example(draw, name, kind, value, schema):
    """The columns of one feature of this kind in one row; the schema says so as well."""
    lists = st.lists(value, max_size=4)
    if kind in ("fixed", "default"):
        size = schema[name]
        given = draw(st.lists(value, min_size=size, max_size=size))
        return {name: None if kind == "default" and draw(st.booleans()) else given}
    if kind == "sparse":
        values = draw(lists)
        places = draw(st.permutations(range(10)))[: len(values)]
        return {name: values, f"{name}_at": places}
    if kind == "uniform":
        return {name: draw(lists) * 2}
    if kind == "nested":
        values = draw(lists)
        cut = draw(st.integers(0, len(values)))
        return {name: values, f"{name}_len": [cut, len(values) - cut]}
    return {name: draw(st.none() | lists)}


def add_feature(schema, name, kind, number, size):
    feature = schema.feature.add(name=name, type=number)
    tensors = schema.tensor_representation_group[""].tensor_representation
    if kind in ("fixed", "default"):
        dense = tensors[f"{name}_t"].dense_tensor
        dense.column_name = name
        dense.shape.SetInParent()
        if size > 1:
            dense.shape.dim.add(size=size)
        if kind == "default":
            default = {"int_value": 7, "float_value": 0.5, "bytes_value": b"none"}
            key = list(default)[[schema_pb2.INT, schema_pb2.FLOAT, schema_pb2.BYTES].index(number)]
            setattr(dense.default_value, key, default[key])
    elif kind == "varlen":
        tensors[f"{name}_t"].varlen_sparse_tensor.column_name = name
    elif kind == "sparse":
        sparse = tensors[f"{name}_t"].sparse_tensor
        sparse.value_column_name = name
        sparse.index_column_names.append(f"{name}_at")
        sparse.dense_shape.dim.add(size=10)
        schema.feature.add(name=f"{name}_at", type=schema_pb2.INT)
    else:
        ragged = tensors[f"{name}_t"].ragged_tensor
        ragged.feature_path.step.append(name)
        if kind == "uniform":
            ragged.partition.add(uniform_row_length=2)
        elif kind == "nested":
            ragged.partition.add(row_length=f"{name}_len")
            schema.feature.add(name=f"{name}_len", type=schema_pb2.INT)
    return feature


@st.composite
def data(draw):
    """A schema with a feature of each kind, and the columns of some rows."""
    schema = schema_pb2.Schema()
    sizes, kinds, columns = {}, {}, {}
    for position, kind in enumerate(KINDS):
        number = draw(st.sampled_from(list(TYPES)))
        name = f"f{position}"
        sizes[name], kinds[name] = draw(st.integers(1, 3)), (kind, number)
        add_feature(schema, name, kind, number, sizes[name])
    num_rows = draw(st.integers(1, 9))
    for _ in range(num_rows):
        for name, (kind, number) in kinds.items():
            for column, cell in example(draw, name, kind, TYPES[number][1], sizes).items():
                columns.setdefault(column, []).append(cell)
    types = {feature.name: TYPES[feature.type][0] for feature in schema.feature}
    arrays = [pa.array(cells, pa.large_list(types[name])) for name, cells in columns.items()]
    return schema, pa.record_batch(arrays, list(columns))


def write(folder, batch, num_shards=1):
    """The rows in some shards; a null is a feature that the example lacks."""
    import tensorflow as tf

    rows = batch.num_rows
    for shard in range(num_shards):
        own = batch.slice(
            shard * rows // num_shards,
            (shard + 1) * rows // num_shards - shard * rows // num_shards,
        )
        path = os.path.join(folder, "Split-train", f"{shard}.gz")
        records = []
        for record, row in zip(encode(own).to_pylist(), own.to_pylist(), strict=True):
            message = tf.train.Example.FromString(record)
            for name, cell in row.items():
                if cell is None:
                    del message.features.feature[name]
            records.append(message.SerializeToString())
        with ColumnWriter(path) as writer:
            write_records(path, records)
            writer.write(own)
    return os.path.join(folder, "Split-train", "*")


def static_shapes(batches):
    import tensorflow as tf

    return [[one.shape for one in tf.nest.flatten(batch)] for batch in batches]


def read_in_graph(batches):
    """The batches, read one by one in a function, as `fit` reads them."""
    import tensorflow as tf

    iterator = iter(batches)
    read = tf.function(lambda: next(iterator))
    return [read() for _ in range(int(batches.reduce(0, lambda count, _: count + 1)))]


@pytest.mark.slow
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data(), st.integers(1, 5))
def test_a_loop_in_python_and_one_in_a_graph_see_what_any_other_dataset_gives(
    tmp_path_factory, made, batch_size
):
    schema, batch = made
    ours = dataset(write(tmp_path_factory.mktemp("any"), batch), schema, batch_size=batch_size)
    as_any_other = ours.map(lambda one: one)
    assert type(ours) is not type(as_any_other)
    assert contents(ours) == contents(as_any_other) == contents(read_in_graph(ours)) != []
    assert static_shapes(ours) == static_shapes(as_any_other)


def test_a_loop_in_python_reads_sparse_features_of_unknown_size(tmp_path):
    schema = schema_pb2.Schema()
    pair = schema.sparse_feature.add(name="pair")
    pair.index_feature.add(name="at")
    pair.value_feature.name = "value"
    for name in ("at", "value"):
        schema.feature.add(name=name, type=schema_pb2.INT)
    cells = pa.array([[0], [], [3, 5]], pa.large_list(pa.int64()))
    ours = dataset(write(tmp_path, pa.record_batch({"at": cells, "value": cells})), schema)
    as_any_other = ours.map(lambda one: one)
    assert contents(ours) == contents(as_any_other) != []
    assert static_shapes(ours) == static_shapes(as_any_other)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data(), st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_any_columns_become_the_tensors_of_tfxio(
    tmp_path_factory, made, batch_size, num_epochs, drop
):
    schema, batch = made
    files = write(tmp_path_factory.mktemp("any"), batch, num_shards=2)
    given = {"batch_size": batch_size, "num_epochs": num_epochs, "drop_final_batch": drop}
    ours, expected = dataset(files, schema, **given), theirs(files, schema, **given)
    assert ours.element_spec == expected.element_spec
    assert contents(ours) == contents(expected)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A thousand rows in three shards, with words that repeat and words that do not."""
    rows = range(1000)
    batch = pa.record_batch(
        {
            "id": pa.array([[i] for i in rows], pa.large_list(pa.int64())),
            "few": pa.array(
                [[b"word %d" % (i % 7)] for i in rows], pa.large_list(pa.large_binary())
            ),
            "tags": pa.array(
                [[b"%d" % i] * (i % 3) for i in rows], pa.large_list(pa.large_binary())
            ),
        }
    )
    return write(tmp_path_factory.mktemp("many"), batch, num_shards=3)


@pytest.fixture(scope="module")
def schema():
    schema = schema_pb2.Schema()
    for name, number in [("id", schema_pb2.INT), ("few", schema_pb2.BYTES)]:
        feature = schema.feature.add(name=name, type=number)
        feature.presence.min_fraction = 1
        feature.shape.dim.add(size=1)
    schema.feature.add(name="tags", type=schema_pb2.BYTES)
    return schema


@pytest.fixture
def small_blocks(monkeypatch):
    from stoker.data import tensors

    monkeypatch.setattr(tensors, "_ROWS_AT_ONCE", 64)


def test_a_shuffle_reaches_all_rows_and_is_new_in_every_epoch(many, schema, small_blocks):
    batches = list(dataset(many, schema, shuffle=True, shuffle_seed=1, num_epochs=2, batch_size=50))
    epochs = [ids(batches[:20]), ids(batches[20:])]
    assert [sorted(epoch) for epoch in epochs] == [list(range(1000))] * 2
    assert epochs[0] != epochs[1]
    assert max(epochs[0][:100]) > 900  # no buffer of neighbours
    for one in batches:
        for number, few in zip(one["id"].numpy().ravel(), one["few"].numpy().ravel(), strict=True):
            assert few == b"word %d" % (number % 7)


@pytest.mark.parametrize("num_epochs", [1, None])
def test_few_rows_are_gathered_at_once_if_they_are_large(tmp_path, schema, monkeypatch, num_epochs):
    from stoker.data.gather import RowReader

    width, counts, read = 100_000, [], RowReader.read
    pixels = [[float(row)] * width for row in range(200)]
    ids_of_rows = pa.array([[row] for row in range(200)], pa.large_list(pa.int64()))
    images = pa.record_batch(
        {"id": ids_of_rows, "image": pa.array(pixels, pa.large_list(pa.float32()))}
    )
    feature = schema_pb2.Feature(name="image", type=schema_pb2.FLOAT)
    feature.presence.min_fraction = 1
    feature.shape.dim.add(size=width)
    of_images = schema_pb2.Schema(feature=[schema.feature[0], feature])
    monkeypatch.setattr(
        RowReader,
        "read",
        lambda self, rows, *rest: counts.append(len(rows)) or read(self, rows, *rest),
    )
    files = write(tmp_path, images, num_shards=1)
    batches = dataset(files, of_images, shuffle=True, num_epochs=num_epochs, batch_size=20)
    taken = list(itertools.islice(batches, 10))
    assert max(counts) <= 80
    assert len(ids(taken)) == 200
    for one in taken:
        assert (one["image"].numpy()[:, -1] == one["id"].numpy().ravel()).all()


@pytest.mark.parametrize("num_epochs", [3, None])
def test_reading_goes_on_where_it_stopped_with_equal_batches(
    many, schema, small_blocks, num_epochs
):
    given = {"shuffle": True, "num_epochs": num_epochs, "batch_size": 30}
    start = Position(seed=9)
    through = list(itertools.islice(dataset(many, schema, start_at=start, **given), 70))
    later = start.after(50, batch_size=30, num_rows=1000)
    assert later == Position(seed=9, epoch=1, row=500)
    resumed = list(itertools.islice(dataset(many, schema, start_at=later, **given), 20))
    assert contents(resumed) == contents(through[50:])


def test_words_of_any_length_come_back(tmp_path):
    words = [b"", b"\0", b"a" * 127, b"b" * 128, b"c" * 300, b"d" * 20_000] * 5
    rows = {
        "one": [[word] for word in words],
        "some": [[word] * (row % 3) for row, word in enumerate(words)],
    }
    kind = pa.large_list(pa.large_binary())
    batch = pa.record_batch({name: pa.array(cells, kind) for name, cells in rows.items()})
    schema = schema_pb2.Schema()
    for name in rows:
        schema.feature.add(name=name, type=schema_pb2.BYTES)
    schema.feature[0].presence.min_fraction = 1
    schema.feature[0].shape.dim.add(size=1)
    files = write(tmp_path, batch)
    for ragged in (False, True):
        schema.represent_variable_length_as_ragged = ragged
        found = dataset(files, schema, batch_size=7)
        assert contents(found) == contents(theirs(files, schema, batch_size=7))


def test_an_iterator_is_saved_and_restored(many, schema, small_blocks, tmp_path):
    import tensorflow as tf

    given = {"shuffle": True, "shuffle_seed": 2, "batch_size": 30}
    iterator = iter(dataset(many, schema, **given))
    for _ in range(5):
        next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "state"))
    expected = contents([next(iterator)])
    other = iter(dataset(many, schema, **given))
    tf.train.Checkpoint(iterator=other).read(path)
    assert contents([next(other)]) == expected


def test_without_its_columns_a_split_gives_the_same_rows(many, schema, tmp_path):
    root = os.path.dirname(os.path.dirname(many))
    copy = shutil.copytree(root, tmp_path / "copy", ignore=lambda *_: ["columns"])
    without = dataset(os.path.join(copy, "Split-train", "*"), schema, batch_size=30)
    assert contents(without) == contents(dataset(many, schema, batch_size=30))


def test_a_damaged_block_gives_the_right_rows(many, schema, tmp_path, capsys):
    root = os.path.dirname(os.path.dirname(many))
    copy = shutil.copytree(root, tmp_path / "copy")
    path = columns_path(str(copy / "Split-train" / "1.gz"))
    Path(path).write_bytes(Path(path).read_bytes().replace(b"word 3", b"word 5", 1))
    found = dataset(os.path.join(copy, "Split-train", "*"), schema, batch_size=30)
    assert contents(found) == contents(dataset(many, schema, batch_size=30))
    assert "the checksum of block 0 is wrong. It is rebuilt" in capsys.readouterr().err


TWO_REPLICAS = """
import sys
import time

import tensorflow as tf
from tfx_bsl.public.tfxio import TensorFlowDatasetOptions

from stoker.data.accessor import tf_dataset_factory
from stoker.data.gather import RowReader

halves = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], halves)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
options = TensorFlowDatasetOptions(batch_size=30, num_epochs=1, shuffle_seed=4)
seen = []
for batch in strategy.experimental_distribute_dataset(tf_dataset_factory(sys.argv[1], options)):
    parts = strategy.experimental_local_results(batch["id"])
    assert len(parts) == 2
    seen += [int(number) for part in parts for number in part.numpy().ravel()]
assert sorted(seen) == list(range(1000)), len(seen)

# The process ends while rows are being read for a dataset that has no end.
read = RowReader.read
RowReader.read = lambda *given: (time.sleep(0.3), read(*given))[1]
endless = iter(tf_dataset_factory(sys.argv[1], options._replace(num_epochs=None)))
next(endless)
"""


@pytest.mark.slow
def test_every_row_is_seen_once_by_two_replicas_and_the_process_ends(many):
    subprocess.run([sys.executable, "-c", TWO_REPLICAS, many], check=True, timeout=300)


def test_batches_are_shared_and_not_files(many, schema):
    import tensorflow as tf

    policy = dataset(many, schema).options().experimental_distribute.auto_shard_policy
    assert policy == tf.data.experimental.AutoShardPolicy.DATA


def test_two_workers_share_the_batches(many, schema):
    from tensorflow.python.data.experimental.ops import distribute

    shares = []
    for worker in range(2):  # each worker makes its own
        whole = dataset(many, schema, shuffle=True, shuffle_seed=4, batch_size=30)
        shares.append(ids(distribute._AutoShardDataset(whole, 2, worker)))
    assert sorted(shares[0] + shares[1]) == list(range(1000))
    assert min(len(share) for share in shares) >= 490


def test_a_parameter_servers_workers_read_records(many, schema, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"ps": ["a:1"], "worker": ["b:1"]}}')
    monkeypatch.setattr("stoker.data.accessor.columns_for", None)
    assert sorted(ids(dataset(many, schema, batch_size=30))) == list(range(1000))


@pytest.mark.parametrize(
    ("size", "says"),
    [(2, "'id' has 2 values by the schema, and 1 in an example"), (1, "'gone' is required")],
)
def test_what_does_not_fit_the_schema_is_named(many, schema, size, says):
    import tensorflow as tf

    other = schema_pb2.Schema()
    other.CopyFrom(schema)
    other.feature[0].shape.dim[0].size = size
    if size == 1:
        other.feature[0].name = "gone"
    with pytest.raises(tf.errors.InvalidArgumentError, match=says):
        list(dataset(many, other))


def test_a_column_of_another_type_is_refused_by_tensorflow(many, schema):
    import tensorflow as tf

    other = schema_pb2.Schema()
    other.CopyFrom(schema)
    other.feature[0].type = schema_pb2.FLOAT
    with pytest.raises(tf.errors.InvalidArgumentError, match="Data types don't match"):
        list(dataset(many, other))
