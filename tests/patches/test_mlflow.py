# SPDX-License-Identifier: Apache-2.0
"""`model.fit` begins under MLflow's autolog, whose datasets in most Trainer modules have no end."""

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.trainer.component import Trainer
from stoker.dsl import Pipeline
from stoker.patches.mlflow import _limit_digest
from stoker.runner import LocalDagRunner

HOME = Path(__file__).parents[2] / ".envs" / "mlflow"
MODULE = """
import sys

sys.path.append({packages!r})

import keras
import mlflow
import tensorflow as tf


def run_fn(fn_args):
    mlflow.set_tracking_uri({store!r})
    mlflow.tensorflow.autolog()
    model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices(([[1.0]] * 8, [[2.0]] * 8)).repeat().batch(4)
    model.fit(data, steps_per_epoch=fn_args.train_steps)
    model.export(fn_args.serving_model_dir)
"""


class Dataset:
    """Counts batches, as a tf.data.Dataset does; -1 is without an end, -2 unknown."""

    def __init__(self, length):
        self._length = length

    def cardinality(self):
        return self._length

    def take(self, count):
        return Dataset(count)


@pytest.mark.parametrize(("length", "read"), [(7, 7), (-1, 10), (-2, 10)])
def test_the_digest_of_a_dataset_without_an_end_is_that_of_its_beginning(length, read):
    class TensorFlowDataset:
        def _compute_tensorflow_dataset_digest(self, dataset, targets=None):
            return dataset.cardinality(), targets

    _limit_digest(SimpleNamespace(TensorFlowDataset=TensorFlowDataset))
    found = TensorFlowDataset()._compute_tensorflow_dataset_digest(Dataset(length), None)
    assert found == (read, None)


def install_mlflow():
    """Where MLflow's packages are; it is installed on first use."""
    found = list(HOME.glob("lib/python*/site-packages"))
    if not (HOME / "ready").exists():
        uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
        if uv is None:
            pytest.skip("uv is not here to make the environment with")
        subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, HOME], check=True)
        python = HOME / "bin" / "python"
        subprocess.run(
            [uv, "pip", "install", "-q", "--python", python, "mlflow==3.17.*"], check=True
        )
        (HOME / "ready").touch()
        found = list(HOME.glob("lib/python*/site-packages"))
    return str(found[0])


@pytest.mark.tf
@pytest.mark.slow
@pytest.mark.envs
def test_fit_under_autolog_ends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MLflow keeps its artifacts in the working directory
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.csv").write_text("a\n" + "1\n" * 20)
    module = tmp_path / "module.py"
    store = f"sqlite:///{tmp_path}/mlflow.db"
    module.write_text(MODULE.format(packages=install_mlflow(), store=store))
    examples = CsvExampleGen(input_base=str(tmp_path / "data"))
    trainer = Trainer(
        module_file=str(module), examples=examples.outputs["examples"], train_args={"num_steps": 5}
    ).with_timeout(600)
    pipeline = Pipeline("p", str(tmp_path / "root"), components=[examples, trainer])
    run = LocalDagRunner().run(pipeline)
    assert run.outputs["Trainer"]["model"]
    assert (tmp_path / "mlflow.db").exists()
