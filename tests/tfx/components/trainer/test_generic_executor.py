# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

import pytest
from tfx.components.trainer.executor import GenericExecutor
from tfx.proto import trainer_pb2
from tfx.types import standard_artifacts
from tfx.utils import proto_utils

from stoker.errors import NothingWritten

TRAIN_ARGS = proto_utils.proto_to_json(trainer_pb2.TrainArgs(num_steps=1000))
EVAL_ARGS = proto_utils.proto_to_json(trainer_pb2.EvalArgs(num_steps=500))


@pytest.fixture
def outputs(make):
    return {
        "model": [make(standard_artifacts.Model, "model")],
        "model_run": [make(standard_artifacts.ModelRun, "model_run")],
    }


@pytest.fixture
def do(examples, module_file, outputs):
    """Calls the executor as TFX's own tests do; returns what run_fn was told."""

    def call(inputs=(), **properties):
        inputs = {"examples": [examples()], **dict(inputs)}
        given = {"train_args": TRAIN_ARGS, "eval_args": EVAL_ARGS, "module_file": module_file}
        GenericExecutor().Do(inputs, outputs, {**given, **properties})
        return json.loads(Path(outputs["model"][0].uri, "Format-Serving/told.json").read_text())

    return call


def test_steps_come_from_args_as_proto_json_text(do):
    told = do()

    assert (told["train_steps"], told["eval_steps"]) == (1000, 500)


def test_files_are_patterns_of_the_splits_train_and_eval(do, tmp_path):
    told = do()

    assert told["train_files"] == [f"{tmp_path}/examples/Split-train/*"]
    assert told["eval_files"] == [f"{tmp_path}/examples/Split-eval/*"]


def test_stray_properties_of_older_editions_are_tolerated(do):
    assert do(warm_starting=False, instance_name="old")["train_steps"] == 1000


def test_properties_that_are_none_are_as_good_as_absent(do):
    told = do(run_fn=None, custom_config=None, train_args=None)

    assert (told["custom_config"], told["train_steps"]) == ({}, None)


def test_two_examples_artifacts_give_two_patterns_for_each_split(do, examples, tmp_path):
    told = do({"examples": [examples("one"), examples("two")]})

    assert told["train_files"] == [
        f"{tmp_path}/one/Split-train/*",
        f"{tmp_path}/two/Split-train/*",
    ]


def test_hyperparameters_are_read_from_the_only_file(do, make):
    artifact = make(standard_artifacts.HyperParameters, "best", best__txt='{"first_dnn": 100}')

    assert do({"hyperparameters": [artifact]})["hyperparameters"] == {"first_dnn": 100}


@pytest.mark.parametrize(
    "layout",
    [
        "Format-Serving",
        "Format-Serving/export/final/1600000000",
        "Format-Servo/export/final/1600000000",
        "serving_model_dir/export/final/1600000000",
    ],
)
def test_a_base_model_is_found_in_the_layout_that_its_edition_of_tfx_wrote(do, make, layout):
    model = make(standard_artifacts.Model, "base")
    folder = Path(model.uri, layout)
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").touch()

    told = do({"base_model": [model]})

    assert told["base_model"] == str(folder)
    assert told["base_models"] == [str(folder)]


def test_a_run_without_a_base_model_is_told_none(do):
    assert do({"base_model": []})["base_model"] is None


def test_the_model_goes_below_the_output_artifacts(do, tmp_path):
    told = do()

    assert told["serving_model_dir"] == f"{tmp_path}/model/Format-Serving"
    assert told["eval_model_dir"] == f"{tmp_path}/model/Format-TFMA"
    assert told["model_run_dir"] == f"{tmp_path}/model_run"


def test_the_custom_config_arrives_as_a_dict(do):
    assert do(custom_config='{"test": 10}')["custom_config"] == {"test": 10}


def test_a_custom_config_that_is_no_dict_is_refused(do):
    with pytest.raises(ValueError, match="custom_config should be a dict"):
        do(custom_config="[1]")


def test_run_fn_may_be_a_dotted_function(do, module_file, monkeypatch):
    monkeypatch.syspath_prepend(Path(module_file).parent)

    assert do(module_file=None, run_fn="telling_module.run_fn")["train_steps"] == 1000


def test_a_context_gives_the_working_dir(examples, module_file, outputs, tmp_path):
    context = GenericExecutor.Context(tmp_dir=str(tmp_path / "tmp"), unique_id="1")

    GenericExecutor(context).Do({"examples": [examples()]}, outputs, {"module_file": module_file})

    assert (tmp_path / "tmp" / "1").is_dir()


def test_a_module_without_run_fn_is_refused(do, tmp_path):
    (tmp_path / "empty_module.py").write_text("def train(fn_args): ...")

    with pytest.raises(ValueError, match=r"defines no run_fn or trainer_fn; it has train\."):
        do(module_file=str(tmp_path / "empty_module.py"))


def test_a_run_fn_that_writes_no_model_is_an_error(do, tmp_path):
    (tmp_path / "idle_module.py").write_text("def run_fn(fn_args): ...")

    with pytest.raises(NothingWritten, match=r"wrote nothing to fn_args\.serving_model_dir"):
        do(module_file=str(tmp_path / "idle_module.py"))
    assert not (tmp_path / "model" / "Format-Serving").exists()


def test_a_run_fn_may_write_its_model_straight_away(do, tmp_path):
    (tmp_path / "brief_module.py").write_text(
        "import json\n"
        "def run_fn(fn_args):\n"
        "    with open(f'{fn_args.serving_model_dir}/told.json', 'w') as file:\n"
        "        json.dump({'written': True}, file)\n"
    )
    assert do(module_file=str(tmp_path / "brief_module.py")) == {"written": True}
