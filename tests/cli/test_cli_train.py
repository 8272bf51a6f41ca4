# SPDX-License-Identifier: Apache-2.0
import json
import shutil
from pathlib import Path

import click
import pytest

from stoker.cli.train import read_data, training_pipeline
from stoker.components.example_gen.component import (
    CsvExampleGen,
    ImportExampleGen,
    JsonExampleGen,
    ParquetExampleGen,
)
from stoker.components.importer import Importer
from stoker.dsl.proto.trainer_pb2 import EvalArgs, TrainArgs

PENGUIN = Path(__file__).parents[2] / "examples" / "penguin"


def pipeline(root, data, **given):
    defaults = {
        "module_file": str(PENGUIN / "module.py"),
        "data": str(data),
        "train_args": TrainArgs(num_steps=1),
        "eval_args": EvalArgs(num_steps=1),
        "hyperparameters": {},
        "root": str(root),
        "keras": None,
        "python": None,
        "schema_file": None,
        "name": "any",
    }
    return training_pipeline(**{**defaults, **given})


@pytest.mark.parametrize(
    ("files", "reader"),
    [
        (["a.csv", "README"], CsvExampleGen),
        (["a.tfrecord", "b.tfrecord.gz"], ImportExampleGen),
        (["data_tfrecord-00000-of-00001.gz"], ImportExampleGen),
        (["a.parquet", "README"], ParquetExampleGen),
        (["a.jsonl", "b.jsonl"], JsonExampleGen),
        (["a.json"], JsonExampleGen),
        (["Split-train/a.gz", "Split-eval/a.gz"], Importer),
    ],
)
def test_the_files_decide_how_they_are_read(tmp_path, files, reader):
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert type(read_data(str(tmp_path))) is reader


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("a.csv", CsvExampleGen),
        ("a.txt", CsvExampleGen),
        ("a.tfrecord.gz", ImportExampleGen),
        ("a.parquet", ParquetExampleGen),
        ("a.jsonl.gz", JsonExampleGen),
    ],
)
def test_the_name_of_one_file_decides_how_it_is_read(tmp_path, name, reader):
    (tmp_path / name).touch()
    assert type(read_data(str(tmp_path / name))) is reader


def test_one_csv_file_is_read_alone(tmp_path):
    step = read_data(str(PENGUIN / "data" / "penguins.csv"))
    assert "penguins.csv" in step.exec_properties["input_config"]


def test_splits_that_are_there_are_used_as_they_are(tmp_path):
    for name in ("Split-train", "Split-eval"):
        (tmp_path / name).mkdir()
    artifact = read_data(str(tmp_path)).artifact({})
    assert artifact.splits == ["eval", "train"]
    assert artifact.uri == str(tmp_path)


def test_a_missing_split_is_wrong_usage(tmp_path):
    (tmp_path / "Split-train").mkdir()
    with pytest.raises(click.UsageError, match="has no Split-eval/"):
        read_data(str(tmp_path))


def test_a_folder_without_data_is_wrong_usage(tmp_path, stoker):
    result = stoker("train", PENGUIN / "module.py", "--data", tmp_path, "--steps", 1)
    assert result.code == 2
    assert "no files called *.csv, *tfrecord*, *.parquet, *.avro, *.jsonl" in result.err


def test_hyperparameters_are_an_artifact_below_the_root(tmp_path):
    steps = pipeline(tmp_path, PENGUIN / "data", hyperparameters={"units": 8}).components
    (importer,) = (step for step in steps if step.id == "hyperparameters")
    (file,) = Path(importer.source_uri).iterdir()
    assert json.loads(file.read_text()) == {"units": 8}
    assert tmp_path in file.parents


def test_other_hyperparameters_do_not_touch_those_of_earlier_runs(tmp_path):
    for units in (8, 16, 8):
        pipeline(tmp_path, PENGUIN / "data", hyperparameters={"units": units})
    assert len(list((tmp_path / "hyperparameters").iterdir())) == 2


def test_a_schema_of_your_own_is_imported(tmp_path):
    steps = pipeline(tmp_path, PENGUIN / "data", schema_file="mine.pbtxt").components
    assert "ImportSchemaGen" in [step.id for step in steps]
    assert "SchemaGen" not in [step.id for step in steps]


def test_workers_need_a_module_for_several_processes(stoker, here):
    data = ("--data", PENGUIN / "data", "--steps", 1, "--workers", 2)
    result = stoker("train", PENGUIN / "module.py", *data)
    assert result.code != 0
    assert "would train 2 separate models" in result.err


@pytest.mark.tf
def test_a_model_is_trained_from_one_command(stoker, here):
    shutil.copytree(PENGUIN, here / "penguin")
    words = ("penguin/module.py", "--data", "penguin/data/penguins.csv", "--steps", 20)
    more = ("--eval-steps", 5, "--hparam", "units=8", "--name", "birds", "--json")
    result = stoker("train", *words, *more)
    assert result.code == 0, result.err
    model = Path(result.record["model"])
    assert (model / "saved_model.pb").is_file()
    assert model.is_relative_to(here / "out" / "birds")
    assert "HyperParameters" in stoker("lineage", result.record["artifact"]).out
    assert "serving_default  examples: string [-1]" in stoker("show", model.parent).out
