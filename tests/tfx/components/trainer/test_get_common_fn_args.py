# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
from tensorflow_metadata.proto.v0 import statistics_pb2
from tfx.components.trainer.executor import TrainerFnArgs
from tfx.components.trainer.fn_args_utils import FnArgs, get_common_fn_args
from tfx.types import artifact_utils, standard_artifacts


@pytest.fixture
def fn_args_for(examples):
    def get(inputs=(), **properties) -> FnArgs:
        return get_common_fn_args({"examples": [examples()], **dict(inputs)}, properties, "/work")

    return get


def test_the_working_dir_is_passed_on(fn_args_for):
    assert fn_args_for().working_dir == "/work"


def test_no_args_mean_the_splits_train_and_eval_and_no_number_of_steps(fn_args_for, tmp_path):
    fn_args = fn_args_for()

    assert fn_args.train_files == [f"{tmp_path}/examples/Split-train/*"]
    assert fn_args.eval_files == [f"{tmp_path}/examples/Split-eval/*"]
    assert fn_args.train_steps is None
    assert fn_args.eval_steps is None


def test_a_number_of_steps_that_is_0_means_none(fn_args_for):
    assert fn_args_for(train_args='{"num_steps": 0}').train_steps is None


def test_args_name_the_splits(fn_args_for, tmp_path):
    fn_args = fn_args_for(train_args='{"splits": ["train", "eval"]}')

    assert fn_args.train_files == [
        f"{tmp_path}/examples/Split-train/*",
        f"{tmp_path}/examples/Split-eval/*",
    ]


def test_a_split_that_the_examples_lack_is_named(fn_args_for):
    with pytest.raises(ValueError, match="has no split 'test'"):
        fn_args_for(train_args='{"splits": ["test"]}')


def test_the_schema_has_two_names(fn_args_for, make, tmp_path):
    schema = make(standard_artifacts.Schema, "schema", schema__pbtxt="")

    fn_args = fn_args_for({"schema": [schema]})

    assert fn_args.schema_path == f"{tmp_path}/schema/schema.pbtxt"
    assert fn_args.schema_file == fn_args.schema_path


def test_the_transform_graph_has_two_names(fn_args_for, make, tmp_path):
    graph = make(standard_artifacts.TransformGraph, "graph")

    fn_args = fn_args_for({"transform_graph": [graph]})

    assert fn_args.transform_graph_path == f"{tmp_path}/graph"
    assert fn_args.transform_output == fn_args.transform_graph_path


def test_what_is_not_given_is_none(fn_args_for):
    fn_args = fn_args_for()

    assert fn_args.schema_path is None
    assert fn_args.transform_graph_path is None
    assert fn_args.base_model is None
    assert fn_args.hyperparameters is None


def test_hyperparameters_that_are_not_json_are_named(fn_args_for, make):
    artifact = make(standard_artifacts.HyperParameters, "best", best__txt="rate=1")

    with pytest.raises(ValueError, match=r"best\.txt are not JSON"):
        fn_args_for({"hyperparameters": [artifact]})


def test_the_data_accessor_offers_datasets_and_record_batches(fn_args_for):
    accessor = fn_args_for().data_accessor

    assert callable(accessor.tf_dataset_factory)
    assert callable(accessor.record_batch_factory)
    assert accessor.data_view_decode_fn is None


def test_statistics_give_the_number_of_examples_by_split(fn_args_for, make):
    artifact = make(standard_artifacts.ExampleStatistics, "statistics")
    artifact.split_names = artifact_utils.encode_split_names(["train"])
    statistics = statistics_pb2.DatasetFeatureStatisticsList()
    statistics.datasets.add(num_examples=12)
    folder = Path(artifact.uri, "Split-train")
    folder.mkdir()
    (folder / "FeatureStats.pb").write_bytes(statistics.SerializeToString())

    assert fn_args_for({"statistics": [artifact]}).num_examples == {"train": 12}


def test_fn_args_are_made_by_keyword_and_may_be_changed():
    fn_args = FnArgs(train_files=["a"], serving_model_dir="b")
    fn_args.serving_model_dir = "c"

    assert (fn_args.train_files, fn_args.serving_model_dir) == (["a"], "c")


def test_fn_args_have_an_old_name():
    assert TrainerFnArgs is FnArgs
