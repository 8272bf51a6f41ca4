# SPDX-License-Identifier: Apache-2.0
"""An Estimator trained by a chief, a parameter server and an evaluator: real processes."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from training import train, write

from stoker.launchers.resources import find_free_addresses
from stoker.task import Workers

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]

MODULE = """
import tensorflow as tf
import tensorflow_model_analysis as tfma

SPEC = {'x': tf.io.FixedLenFeature([1], tf.float32), 'y': tf.io.FixedLenFeature([1], tf.int64)}


def _input_fn():
    x = [[float(i)] for i in range(-8, 8)]
    y = [[int(i > 0)] for i in range(-8, 8)]
    return tf.data.Dataset.from_tensor_slices(({'x': x}, y)).repeat().batch(16)


def trainer_fn(fn_args, schema):
    serve = tf.estimator.export.build_parsing_serving_input_receiver_fn({'x': SPEC['x']})
    return {
        'estimator': tf.estimator.LinearClassifier(
            [tf.feature_column.numeric_column('x')],
            config=tf.estimator.RunConfig(
                fn_args.serving_model_dir, save_checkpoints_steps=10, keep_checkpoint_max=1)),
        'train_spec': tf.estimator.TrainSpec(_input_fn, max_steps=fn_args.train_steps),
        'eval_spec': tf.estimator.EvalSpec(
            _input_fn, steps=2, exporters=tf.estimator.LatestExporter('latest', serve),
            start_delay_secs=0, throttle_secs=1),
        'eval_input_receiver_fn': tfma.export.build_parsing_eval_input_receiver_fn(SPEC, 'y'),
    }
"""

MEMBER = """
import sys
from pathlib import Path
from tfx.components.trainer.executor import Executor
from tfx.types import standard_artifacts

folder = Path(sys.argv[1])


def artifact(kind, name):
    made = kind()
    made.uri = str(folder / name)
    return [made]


examples = artifact(standard_artifacts.Examples, 'examples')
examples[0].split_names = '["train", "eval"]'
Executor().Do(
    {'examples': examples, 'schema': artifact(standard_artifacts.Schema, 'schema')},
    {
        'model': artifact(standard_artifacts.Model, 'model'),
        'model_run': artifact(standard_artifacts.ModelRun, 'model_run'),
    },
    {'module_file': str(folder / 'module.py'), 'train_args': '{"num_steps": 60}'},
)
"""


def start(folder: Path, cluster: dict[str, list[str]], role: str) -> subprocess.Popen[bytes]:
    config = {"cluster": cluster, "task": {"type": role, "index": 0}}
    with (folder / f"{role}.txt").open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-c", MEMBER, str(folder)],
            env={**os.environ, "TF_CONFIG": json.dumps(config), "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=said,
            stderr=said,
        )


def saved_models(folder: Path) -> list[str]:
    return sorted(str(file.parent.relative_to(folder)) for file in folder.rglob("saved_model.pb"))


def test_chief_parameter_server_and_evaluator_leave_one_model(tmp_path):
    (tmp_path / "module.py").write_text(MODULE)
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "schema.pbtxt").touch()
    chief, server = find_free_addresses(2)
    cluster = {"chief": [chief], "ps": [server]}
    members = {role: start(tmp_path, cluster, role) for role in ("ps", "evaluator", "chief")}
    try:
        for role in ("chief", "evaluator"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                members[role].wait(120)
            said = {one: (tmp_path / f"{one}.txt").read_text() for one in members}
            assert members[role].poll() == 0, said
    finally:
        for member in members.values():
            member.kill()  # a parameter server serves until it is ended
            member.wait()

    assert "This is the evaluator: the chief writes the model." in said["evaluator"]
    assert saved_models(tmp_path / "model") == ["Format-Serving", "Format-TFMA"]
    run = {entry.name for entry in (tmp_path / "model_run").iterdir()}
    assert run == {"Format-Serving", "Format-TFMA", "metrics.jsonl", "train", "validation"}
    metrics = (tmp_path / "model_run" / "metrics.jsonl").read_text().splitlines()
    assert {json.loads(line)["split"] for line in metrics} == {"train", "validation"}


DELETED_ONCE = """
import shutil, threading
from pathlib import Path

_read, _times = _input_fn, []
_model = Path(__file__).parent / 'model_run' / 'Format-Serving'


def _delete_for_two_seconds():
    for file in [_model / 'checkpoint', *_model.glob('model.ckpt-*')]:
        shutil.move(file, Path('kept') / file.name)
    threading.Timer(2, lambda: shutil.copytree('kept', _model, dirs_exist_ok=True)).start()


def _input_fn():
    if not _times:  # the checkpoint is chosen, and not read yet
        _times.append(1)
        _delete_for_two_seconds()
    return _read()


_delete_for_two_seconds()
"""


def test_an_evaluator_whose_checkpoint_is_deleted_goes_on_with_the_next(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "schema.pbtxt").touch()
    (tmp_path / "kept").mkdir()
    (tmp_path / "module.py").write_text(MODULE)
    subprocess.run([sys.executable, "-c", MEMBER, str(tmp_path)], check=True, capture_output=True)
    (tmp_path / "module.py").write_text(MODULE + DELETED_ONCE)
    chief, server = find_free_addresses(2)
    evaluator = start(tmp_path, {"chief": [chief], "ps": [server]}, "evaluator")
    try:
        evaluator.wait(120)
    finally:
        evaluator.kill()
    said = (tmp_path / "evaluator.txt").read_text()
    assert "The chief has deleted the checkpoint being evaluated: on to the newest." in said
    assert evaluator.returncode == 0, said


def test_a_trainer_brings_up_such_a_cluster_by_itself(tmp_path, penguins):
    group = {
        "module_file": write(tmp_path, "group", MODULE),
        "workers": Workers(count=1, ps=1, evaluator=True),
        "check": False,  # the model is not about penguins
    }
    run = train(tmp_path, penguins, {"group": group})
    models = tmp_path / "root" / "group" / "model"
    (published,) = models.iterdir()
    assert run.outputs["group"]["model"][0].uri == str(published)
    assert saved_models(published) == ["Format-Serving", "Format-TFMA"]
