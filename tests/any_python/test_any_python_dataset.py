# SPDX-License-Identifier: Apache-2.0
"""Any interpreter's data accessor gives what ours gives for the same options."""

import sys

import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx_bsl.public.tfxio import RecordBatchesOptions, TensorFlowDatasetOptions

from stoker.any_python import dataset as any_python
from stoker.data import accessor as ours

pytestmark = pytest.mark.tf

SCHEMA = text_format.Parse(
    """
    feature { name: "id" type: INT presence { min_fraction: 1 } shape { dim { size: 1 } } }
    feature { name: "point" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 2 } } }
    feature { name: "words" type: BYTES }
    """,
    schema_pb2.Schema(),
)


@pytest.fixture
def pattern(tmp_path):
    """Eleven examples, one after the other."""
    return write(tmp_path / "all.gz", "GZIP", range(11))


def write(path, compression, numbers):
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for number in numbers:
            writer.write(example(number).SerializeToString())
    return str(path)


def example(number):
    made = tf.train.Example()
    made.features.feature["id"].int64_list.value.append(number)
    made.features.feature["point"].float_list.value.extend([number, -number])
    made.features.feature["words"].bytes_list.value.extend([b"word"] * (number % 3))
    return made


def plain(element):
    if isinstance(element, tuple):
        return [plain(part) for part in element]
    if isinstance(element, dict):
        return {name: plain(part) for name, part in sorted(element.items())}
    if isinstance(element, tf.SparseTensor):
        element = tf.sparse.to_dense(element)
    return [element.dtype.name, element.numpy().tolist()]


@pytest.mark.parametrize(
    "options",
    [
        {"num_epochs": 1},
        {"num_epochs": 1, "label_key": "id"},
        {"num_epochs": 2, "drop_final_batch": True},
    ],
    ids=str,
)
def test_batches_are_the_same(pattern, options):
    given = TensorFlowDatasetOptions(batch_size=4, shuffle=False, **options)
    theirs, here = (
        list(map(plain, module.tf_dataset_factory(pattern, given, SCHEMA)))
        for module in (any_python, ours)
    )
    assert theirs == here
    assert len(theirs) in (3, 5)


def test_without_an_end_batches_are_full_and_shuffled_from_all_files(tmp_path):
    write(tmp_path / "a.gz", "GZIP", range(6))
    write(tmp_path / "b", "", range(6, 11))
    options = TensorFlowDatasetOptions(batch_size=8)
    dataset = any_python.tf_dataset_factory([str(tmp_path / "*")], options, SCHEMA)
    seen = [number for batch in dataset.take(30) for number in batch["id"].numpy().ravel()]
    assert len(seen) == 240
    assert set(seen) == set(range(11))


def test_without_tensorflow_transform_the_spec_is_the_same(monkeypatch):
    with_transform = any_python.feature_spec(SCHEMA)
    monkeypatch.setitem(sys.modules, "tensorflow_transform.tf_metadata", None)
    assert any_python.feature_spec(SCHEMA) == with_transform


def test_record_batches_are_the_same(pattern):
    given = RecordBatchesOptions(batch_size=4, shuffle=False, num_epochs=1)
    theirs, here = (
        [batch.to_pydict() for batch in module.record_batch_factory(pattern, given, SCHEMA)]
        for module in (any_python, ours)
    )
    assert theirs == here


def test_what_cannot_be_read_is_said(pattern, tmp_path):
    given = TensorFlowDatasetOptions(batch_size=4, label_key="none")
    with pytest.raises(ValueError, match="needs a schema in another interpreter"):
        any_python.tf_dataset_factory(pattern, given)
    with pytest.raises(ValueError, match=r"label_key 'none' is not in the schema: \['id'"):
        any_python.tf_dataset_factory(pattern, given, SCHEMA)
    with pytest.raises(ValueError, match="No file matches"):
        any_python.tf_dataset_factory(
            str(tmp_path / "none*"), given._replace(label_key=None), SCHEMA
        )
