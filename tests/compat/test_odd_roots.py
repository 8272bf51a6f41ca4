# SPDX-License-Identifier: Apache-2.0
"""Paths that look like patterns: of the data, and of the pipeline root."""

import glob
import tempfile
from pathlib import Path

import pytest

from stoker.components import CsvExampleGen, Trainer
from stoker.dsl import Pipeline
from stoker.runner import LocalDagRunner

pytestmark = [pytest.mark.tf, pytest.mark.slow]

MODULE = """
import tensorflow as tf

def run_fn(fn_args):
    files = tf.io.gfile.glob(fn_args.train_files)
    listed = tf.data.Dataset.list_files(fn_args.eval_files)
    assert files and list(listed), fn_args.train_files
    module = tf.Module()
    module.v = tf.Variable([1.0])
    module.f = tf.function(lambda x: {"y": x * module.v}, [tf.TensorSpec([None], tf.float32, "x")])
    tf.saved_model.save(module, fn_args.serving_model_dir, signatures=module.f)
    tf.saved_model.load(fn_args.serving_model_dir)
"""


@pytest.mark.parametrize("name", ["run[1]", "[!r]un *?"])
def test_a_root_and_data_whose_paths_look_like_patterns(tmp_path, name):
    folder = tmp_path / name
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "rows[1].csv").write_text("x\n" + "".join(f"{i}.5\n" for i in range(20)))
    (folder / "module.py").write_text(MODULE)
    examples = CsvExampleGen(str(folder / "data"))
    trainer = Trainer(
        module_file=str(folder / "module.py"),
        examples=examples.outputs["examples"],
        train_args={"num_steps": 1},
    )
    run = LocalDagRunner().run(
        Pipeline("odd", str(folder / "root"), components=[examples, trainer])
    )
    (model,) = run.outputs["Trainer"]["model"]
    assert model.uri == str(folder / "root" / "Trainer" / "model" / "2")
    assert Path(model.uri, "Format-Serving", "saved_model.pb").exists()


@pytest.fixture(autouse=True)
def _links_are_removed():
    pattern = f"{tempfile.gettempdir()}/stoker-*"
    before = set(glob.glob(pattern))
    yield
    for link in set(glob.glob(pattern)) - before:
        if Path(link).is_symlink():
            Path(link).unlink()
