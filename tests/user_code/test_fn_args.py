# SPDX-License-Identifier: Apache-2.0
"""The data accessor that a module gets: it can be sent elsewhere, and keeps columns by itself."""

import copy
import os
import pickle
import textwrap

import pyarrow as pa
import pytest
from tensorflow_metadata.proto.v0 import schema_pb2

from stoker.artifacts import Examples, Model, Schema
from stoker.components.importer import Importer
from stoker.components.trainer.component import Trainer
from stoker.data.encode import encode
from stoker.data.tfrecord import write_records
from stoker.dsl import Pipeline
from stoker.dsl.proto.trainer_pb2 import EvalArgs, TrainArgs
from stoker.runner import LocalDagRunner
from stoker.statistics.data_schema import write_schema
from stoker.user_code.fn_args import FnArgs, get_common_fn_args

MODULE = """
    import json
    import os

    import tensorflow as tf
    from tensorflow_metadata.proto.v0 import schema_pb2
    from google.protobuf import text_format
    from tfx_bsl.public.tfxio import RecordBatchesOptions, TensorFlowDatasetOptions

    class Half(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.int64, name="id")])
        def serve(self, id):
            return {"half": tf.cast(id, tf.float32) / 2}

    def run_fn(fn_args):
        schema = text_format.Parse(open(fn_args.schema_path).read(), schema_pb2.Schema())
        accessor = fn_args.data_accessor
        options = TensorFlowDatasetOptions(batch_size=16, num_epochs=1, label_key="label")
        dataset = accessor.tf_dataset_factory(fn_args.train_files, options, schema)
        tensors = sorted(int(one) for batch, _ in dataset for one in batch["id"].numpy().ravel())
        options = RecordBatchesOptions(batch_size=16, num_epochs=1, shuffle=False)
        batches = accessor.record_batch_factory(fn_args.train_files, options, schema)
        numbers = [int(one) for batch in batches for one in batch["id"].flatten().to_numpy()]
        assert tensors == numbers == list(range(100)), (tensors, numbers)
        half = Half()
        tf.saved_model.save(half, fn_args.serving_model_dir, {"serving_default": half.serve})
"""


def test_an_accessor_can_be_sent_to_another_process(tmp_path):
    examples = Examples()
    examples.uri, examples.splits = str(tmp_path), ["train", "eval"]
    inputs = {"examples": [examples]}
    accessor = get_common_fn_args(inputs, {}, columns_dir="/columns").data_accessor
    sent = pickle.loads(pickle.dumps(accessor))
    assert sent.tf_dataset_factory.args == ("/columns",)


@pytest.fixture
def elsewhere(tmp_path):
    """Examples that no step has made, and their schema."""
    columns = {
        name: pa.array([[i] for i in range(100)], pa.large_list(pa.int64()))
        for name in ("id", "label")
    }
    folder = tmp_path / "elsewhere"
    for split in ("train", "eval"):
        write_records(
            str(folder / f"Split-{split}" / "part-0"), encode(pa.record_batch(columns)).to_pylist()
        )
    schema = schema_pb2.Schema()
    for name in columns:
        feature = schema.feature.add(name=name, type=schema_pb2.INT)
        feature.presence.min_fraction = 1
        feature.shape.dim.add(size=1)
    write_schema(schema, str(tmp_path / "schema" / "schema.pbtxt"))
    return folder


@pytest.mark.tf
@pytest.mark.slow
def test_examples_from_elsewhere_get_columns_in_the_pipelines_own_folder(tmp_path, elsewhere):
    (tmp_path / "module.py").write_text(textwrap.dedent(MODULE))
    examples = Importer(
        source_uri=str(elsewhere),
        artifact_type=Examples,
        properties={"split_names": '["train", "eval"]'},
    ).with_id("examples")
    schema = Importer(source_uri=str(tmp_path / "schema"), artifact_type=Schema).with_id("schema")
    trainer = Trainer(
        module_file=str(tmp_path / "module.py"),
        examples=examples.outputs["result"],
        schema=schema.outputs["result"],
        train_args=TrainArgs(),
        eval_args=EvalArgs(),
    )
    root = tmp_path / "root"
    LocalDagRunner().run(Pipeline("mine", str(root), components=[examples, schema, trainer]))
    kept = os.listdir(root / ".stoker" / "columns")
    assert [name.endswith(".arrow") for name in kept] == [True]
    assert sorted(os.listdir(elsewhere)) == ["Split-eval", "Split-train"]


def test_a_base_model_without_one_to_serve_is_the_eval_model(tmp_path):
    examples, model = Examples(), Model()
    examples.uri, examples.splits = str(tmp_path), ["train", "eval"]
    model.uri = str(tmp_path / "model")
    evaluated = tmp_path / "model/Format-TFMA/1600000000"
    evaluated.mkdir(parents=True)
    inputs = {"examples": [examples], "base_model": [model]}
    assert get_common_fn_args(inputs, {}).base_model == str(evaluated)
    served = tmp_path / "model/Format-Serving"
    served.mkdir()
    assert get_common_fn_args(inputs, {}).base_model == str(served)


def test_a_base_model_has_its_oldest_name_too():
    assert FnArgs(base_model="/a/model").warm_start_from == "/a/model"
    assert FnArgs().warm_start_from is None


def test_what_fn_args_lacks_is_told_with_what_it_has():
    fn_args = FnArgs()
    with pytest.raises(AttributeError, match=r"no 'train_file'\. Did you mean 'train_files'\?"):
        fn_args.train_file  # noqa: B018
    assert not hasattr(fn_args, "schema")
    assert copy.deepcopy(fn_args) == fn_args == pickle.loads(pickle.dumps(fn_args))
