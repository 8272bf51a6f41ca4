# SPDX-License-Identifier: Apache-2.0
"""What a pipeline hands to `run_fn`: splits, several examples, hyperparameters, run-time values."""

import json
from pathlib import Path

import pytest
from tfx import v1 as tfx
from tfx.types import channel_utils, standard_artifacts
from training import served, train, write

from stoker.errors import StepFailed

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm")]

TELLS = """
import dataclasses
import glob
import json
import os


def run_fn(fn_args):
  told = {
      field.name: getattr(fn_args, field.name)
      for field in dataclasses.fields(fn_args) if field.name != 'data_accessor'}
  told['num_train_files'] = sum(len(glob.glob(one)) for one in fn_args.train_files)
  os.makedirs(fn_args.serving_model_dir)
  with open(os.path.join(fn_args.serving_model_dir, 'told.json'), 'w') as f:
    json.dump(told, f)
"""


def told(run):
    return json.loads(Path(served(run), "told.json").read_text())


@pytest.fixture
def module_file(tmp_path):
    return write(tmp_path, "module", TELLS)


def run_pipeline(root, components, given=None):
    pipeline = tfx.dsl.Pipeline(pipeline_name="inputs", pipeline_root=root, components=components)
    return tfx.orchestration.LocalDagRunner().run(pipeline, parameters=given)


def custom_splits(data):
    splits = [
        tfx.proto.SplitConfig.Split(name=name, hash_buckets=1)
        for name in ("first", "second", "third")
    ]
    output = tfx.proto.Output(split_config=tfx.proto.SplitConfig(splits=splits))
    return tfx.components.CsvExampleGen(input_base=data, output_config=output)


def test_training_reads_the_splits_that_its_args_name(tmp_path, penguins, module_file):
    example_gen = custom_splits(penguins)
    trainer = tfx.components.Trainer(
        module_file=module_file,
        examples=example_gen.outputs["examples"],
        train_args=tfx.proto.TrainArgs(splits=["first", "second"], num_steps=3),
        eval_args=tfx.proto.EvalArgs(splits=["third"]),
    )
    seen = told(run_pipeline(str(tmp_path), [example_gen, trainer]))
    assert [Path(one).parent.name for one in seen["train_files"]] == ["Split-first", "Split-second"]
    assert [Path(one).parent.name for one in seen["eval_files"]] == ["Split-third"]
    assert (seen["train_steps"], seen["eval_steps"]) == (3, None)
    assert seen["num_train_files"] == 2


def test_without_named_splits_custom_ones_are_listed(tmp_path, penguins, module_file):
    example_gen = custom_splits(penguins)
    trainer = tfx.components.Trainer(
        module_file=module_file, examples=example_gen.outputs["examples"]
    )
    with pytest.raises(
        StepFailed, match=r"no split 'train'; it has \['first', 'second', 'third'\]"
    ):
        run_pipeline(str(tmp_path), [example_gen, trainer])


def test_two_sets_of_examples_are_read_as_one(tmp_path, penguins, module_file):
    first, second = (
        tfx.components.CsvExampleGen(input_base=penguins).with_id(name) for name in ("old", "new")
    )
    trainer = tfx.components.Trainer(
        module_file=module_file,
        examples=tfx.dsl.union([first.outputs["examples"], second.outputs["examples"]]),
    )
    seen = told(run_pipeline(str(tmp_path), [first, second, trainer]))
    assert seen["train_files"] == [
        str(tmp_path / "old" / "examples" / "1" / "Split-train" / "*"),
        str(tmp_path / "new" / "examples" / "2" / "Split-train" / "*"),
    ]


def test_examples_from_elsewhere_come_as_a_channel(tmp_path, penguins, module_file):
    example_gen = tfx.components.CsvExampleGen(input_base=penguins)
    made = run_pipeline(str(tmp_path), [example_gen]).outputs["CsvExampleGen"]["examples"]
    examples = standard_artifacts.Examples()
    examples.uri = made[0].uri
    examples.split_names = '["train", "eval"]'
    trainer = tfx.components.Trainer(
        module_file=module_file, examples=channel_utils.as_channel([examples])
    )
    seen = told(run_pipeline(str(tmp_path), [trainer]))
    assert seen["train_files"] == [f"{made[0].uri}/Split-train/*"]


def test_hyperparameters_of_the_users_own_are_imported(tmp_path, penguins, module_file):
    file = tmp_path / "tuned" / "best_hyperparameters.txt"
    file.parent.mkdir()
    file.write_text(json.dumps({"space": [], "values": {"learning_rate": 0.01, "layers": 2}}))
    importer = tfx.dsl.Importer(
        source_uri=str(file.parent), artifact_type=standard_artifacts.HyperParameters
    ).with_id("hparams_importer")
    example_gen = tfx.components.CsvExampleGen(input_base=penguins)
    trainer = tfx.components.Trainer(
        module_file=module_file,
        examples=example_gen.outputs["examples"],
        hyperparameters=importer.outputs["result"],
        custom_config={"batch": 8},
    )
    seen = told(run_pipeline(str(tmp_path), [importer, example_gen, trainer]))
    assert seen["hyperparameters"]["values"] == {"learning_rate": 0.01, "layers": 2}
    assert seen["custom_config"] == {"batch": 8}


def test_runtime_parameters_are_filled_in_wherever_they_stand(tmp_path, penguins, module_file):
    parameter = tfx.dsl.experimental.RuntimeParameter
    example_gen = tfx.components.CsvExampleGen(input_base=parameter("data", str))
    trainer = tfx.components.Trainer(
        module_file=parameter("module-file", ptype=str),
        examples=example_gen.outputs["examples"],
        train_args={"num_steps": parameter("train_steps", int, default=1), "splits": ["train"]},
        eval_args={"num_steps": parameter("eval_steps", int, default=5)},
        custom_config={"rate": parameter("rate", float, default=0.5)},
    )
    given = {
        "root": str(tmp_path / "given"),
        "module-file": module_file,
        "data": penguins,
        "train_steps": "12",
    }
    seen = told(run_pipeline(parameter("root", str), [example_gen, trainer], given))
    assert (seen["train_steps"], seen["eval_steps"]) == (12, 5)
    assert seen["custom_config"] == {"rate": 0.5}
    assert seen["serving_model_dir"].startswith(given["root"])


READS = """
{keras}
import os
import tensorflow as tf
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx import v1 as tfx
from tfx_bsl.public import tfxio


def run_fn(fn_args: tfx.components.FnArgs):
  schema = tfx.utils.parse_pbtxt_file(fn_args.schema_path, schema_pb2.Schema())
  accessor = fn_args.data_accessor
  batches = accessor.record_batch_factory(
      fn_args.eval_files, tfxio.RecordBatchesOptions(batch_size=10, num_epochs=1), schema)
  rows = sum(batch.num_rows for batch in batches)
  dataset = accessor.tf_dataset_factory(
      fn_args.eval_files,
      tfxio.TensorFlowDatasetOptions(batch_size=10, label_key='species', num_epochs=1),
      schema)
  labels = sum(int(tf.size(label)) for _, label in dataset)
  os.makedirs(fn_args.serving_model_dir)
  with open(os.path.join(fn_args.serving_model_dir, 'rows'), 'w') as f:
    f.write('%d %d %s' % (rows, labels, {version}[0]))
"""


@pytest.mark.tf
def test_data_accessor_reads_the_same_rows_with_either_keras(tmp_path, penguins):
    modules = {
        "keras_2": READS.format(keras="", version="tf.keras.__version__"),
        "keras_3": READS.format(keras="import keras", version="keras.__version__"),
    }
    run = train(tmp_path, penguins, modules)
    (rows, labels, first), (same_rows, same_labels, second) = (
        Path(served(run, name), "rows").read_text().split() for name in modules
    )
    assert (first, second) == ("2", "3")
    assert rows == labels == same_rows == same_labels
    assert int(rows) > 90
