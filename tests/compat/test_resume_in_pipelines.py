# SPDX-License-Identifier: Apache-2.0
"""Trainings that are killed in the middle, run again, and end as if nothing had happened."""

import functools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from stoker.dsl import Pipeline
from stoker.metadata.store import Store

pytestmark = [pytest.mark.tf, pytest.mark.slow]

HERE = Path(__file__).parent
MODULE = (HERE / "interrupted_module.py").read_text()
IMPORTS = {2: "from tensorflow import keras as KERAS", 3: "import keras as KERAS"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    chance = random.Random(0)
    rows = [[chance.random() for _ in "abc"] for _ in range(300)]
    lines = [",".join(map(str, [*row, sum(row)])) for row in rows]
    (folder / "data.csv").write_text("\n".join(["a,b,c,label", *lines]))
    return folder


def run(root, data, keras, step=None, **environ):
    """Run the pipeline until it ends or is interrupted: the exit code, and what it said.

    It finds a temporary folder of its own, as after a reboot; at a good end nothing is in it.
    """
    temporary = Path(tempfile.mkdtemp(dir=root.parent))
    module = root.parent / "module.py"
    module.write_text(MODULE.replace("KERAS = tf.keras", IMPORTS[keras]))
    file = HERE / "interrupted_pipeline.py"
    started = ["-m", "stoker", "step", file, step, "--run-id", "r1", "--"] if step else [file]
    command = [sys.executable, *started, root, data, module]
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, "TMPDIR": str(temporary), **environ},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode or not list(temporary.iterdir())
    shutil.rmtree(temporary)
    return done.returncode, done.stderr


def interrupt(root, data, keras, *, at, number, whom, **environ):
    return run(
        root,
        data,
        keras,
        STOKER_TEST_AT=at,
        STOKER_TEST_SIGNAL=str(int(number)),
        STOKER_TEST_PID=whom,
        STOKER_CHECKPOINT_SECONDS="0",
        **environ,
    )


def result(root):
    (file,) = root.glob("Trainer/model_run/*/result.json")
    return json.loads(file.read_text())


def states(root):
    with Store(Pipeline("interrupted", str(root)).store_config(str(root))) as store:
        trained = store.executions(pipeline_name="interrupted", node_id="Trainer")
        return [execution.state.name for execution in trained]


@pytest.fixture(scope="module")
def train_whole(tmp_path_factory, data):
    """What a training is expected to end with, by Keras: nobody interrupts this one."""

    @functools.cache
    def train(keras):
        root = tmp_path_factory.mktemp("whole") / "root"
        code, said = run(root, data, keras)
        assert code == 0, said
        return result(root)

    return train


@pytest.mark.parametrize(
    ("keras", "whom"),
    [
        pytest.param(2, "0", id="keras 2", marks=pytest.mark.envs),
        pytest.param(3, "runner", id="keras 3"),
    ],
)
def test_a_training_that_was_killed_and_stopped_ends_bit_equal(
    tmp_path, data, train_whole, keras, whom
):
    root = tmp_path / "root"

    code, said = interrupt(root, data, keras, at="1:14", number=signal.SIGKILL, whom="runner")
    assert code == -signal.SIGKILL, said

    code, said = interrupt(root, data, keras, at="2:20", number=signal.SIGTERM, whom=whom)
    assert "Trainer: resuming from step 13 (checkpoint of " in said
    assert code not in (0, -signal.SIGTERM), said

    code, said = run(root, data, keras)
    assert code == 0, said
    assert "Trainer: skipping fit 1, which had ended (checkpoint of " in said
    assert "Trainer: resuming fit 2 from step 20 (checkpoint of " in said
    assert "not restored" not in said
    assert states(root) == ["FAILED", "CANCELED", "COMPLETE"]
    assert result(root) == train_whole(keras)
    assert list(root.glob(".stoker/checkpoints/Trainer/*")) == []


def test_a_step_that_an_orchestrator_stops_is_saved_and_goes_on(tmp_path, data, train_whole):
    root = tmp_path / "root"
    assert run(root, data, 3, step="CsvExampleGen")[0] == 0

    stop = {"at": "2:20", "number": signal.SIGTERM, "whom": "runner"}
    code, said = interrupt(root, data, 3, step="Trainer", **stop)
    assert code == 130
    assert "Stopped. The training is saved at step 20" in said
    assert states(root) == ["CANCELED"]

    code, said = run(root, data, 3, step="Trainer")
    assert code == 0, said
    assert "Trainer: resuming fit 2 from step 20 (checkpoint of " in said
    assert states(root) == ["CANCELED", "COMPLETE"]
    assert result(root) == train_whole(3)


def test_what_was_trained_with_another_rate_is_not_gone_on_with(tmp_path, data, train_whole):
    root = tmp_path / "root"
    kill = {"at": "1:14", "number": signal.SIGKILL, "whom": "runner"}
    code, said = interrupt(root, data, 3, **kill, RATE="0.1")
    assert code == -signal.SIGKILL, said
    code, said = run(root, data, 3, RATE="0.01")
    assert code == 0, said
    assert "Trainer: starting from the beginning: environment variable RATE changed" in said
    assert "goes on" not in said
    assert result(root) == train_whole(3)
