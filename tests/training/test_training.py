# SPDX-License-Identifier: Apache-2.0
"""Real trainings on a real terminal, read from outside while they run."""

import json
import os
import pty
import struct
import subprocess
import sys
import termios
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path

import pytest

pytestmark = pytest.mark.tf

PROGRAM = Path(__file__).with_name("watched_training.py")
READ_EVENTS = """
import json, sys, types
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")  # it reads without TensorFlow
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
for folder in sys.argv[1:]:
    events = EventAccumulator(folder).Reload()
    tags = events.Tags()["scalars"]
    print(json.dumps({tag: [event.step for event in events.Scalars(tag)] for tag in tags}))
"""


@dataclass
class Training:
    """What one training left: on the terminal, on disk in the middle of it, and at its end."""

    way: str
    folder: Path
    screen: str
    lines_half_way: list
    events_half_way: dict

    @property
    def lines(self):
        return read_lines(self.folder)

    @property
    def result(self):
        return json.loads((self.folder / "result.json").read_text())


def read_lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def read_events(*folders):
    """The steps of every scalar, read by TensorBoard's own reader."""
    command = [sys.executable, "-W", "ignore", "-c", READ_EVENTS, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def read_until(terminal, words):
    """What the terminal shows up to `words`, or up to the end of the program."""
    shown = b""
    while words is None or words not in shown:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # how Linux tells that the other side is closed
            break
        shown += part
    return shown


@pytest.fixture(scope="module", params=["keras2", "keras3", "loop"])
def training(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    terminal, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 160, 0, 0))
    command = [sys.executable, str(PROGRAM), request.param, str(folder)]
    environ = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env=environ
    ) as process:
        os.close(theirs)
        shown = read_until(terminal, b"half way")
        assert process.poll() is None, shown.decode()
        (events,) = read_events(folder / "train")
        half_way = read_lines(folder)
        process.stdin.write(b"go on\n" * 2)
        process.stdin.close()
        shown += read_until(terminal, None)
        assert process.wait() == 0, shown.decode()
    os.close(terminal)
    return Training(request.param, folder, shown.decode(), half_way, events)


def only_keras(training):
    if training.way == "loop":
        pytest.skip("a loop of one's own has no fit")


def test_the_terminal_shows_a_bar_with_step_and_loss(training):
    assert "Trainer: [" in training.screen
    assert "step 1/" in training.screen
    assert "loss " in training.screen


def test_metrics_and_events_are_read_while_training_runs(training):
    assert training.lines_half_way[0]["step"] == 1
    assert training.lines_half_way[0]["metrics"]["loss"] > 0
    assert training.events_half_way["loss"][0] == 1


def test_metrics_grow_after_that(training):
    assert len(training.lines) > len(training.lines_half_way)


def test_epochs_and_validation_are_written(training):
    only_keras(training)
    ends = [line for line in training.lines if line["split"] == "validation"]
    assert [(line["step"], line["epoch"]) for line in ends] == [(10, 1), (20, 2)]
    assert set(ends[0]["metrics"]) == {"loss", "mae"}
    (events,) = read_events(training.folder / "validation")
    assert events == {"loss": [10, 20], "mae": [10, 20]}


def test_steps_of_later_fits_go_on_where_the_last_one_ended(training):
    only_keras(training)
    steps = [line["step"] for line in training.lines if line["split"] == "train"]
    assert steps == sorted(steps)
    # 2 epochs, the model's own fit, 4 steps per execution, one with TensorBoard, and 3 epochs of
    # data of unknown size: 10 steps each
    assert {10, 20, 30, 40, 50, 60, 70, 80} <= set(steps)


def test_the_users_callbacks_and_own_fit_still_run(training):
    only_keras(training)
    assert "my own fit" in training.screen
    assert training.result["epochs_seen"] == 2


def test_a_tensorboard_callback_of_the_users_keeps_its_folder(training):
    only_keras(training)
    files = [path.name for path in (training.folder / "train").iterdir()]
    assert sum(name.endswith(".v2") for name in files) == 1
    (ours,) = read_events(training.folder / "stoker" / "train")
    assert ours["loss"][-1] == 80


def test_reports_tell_how_far_it_is_and_when_it_ends(training):
    only_keras(training)
    first = [record for record in training.result["reports"] if record["steps"] == 20]
    assert first[0]["step"] == 1
    assert first[-1]["done"] is True
    assert first[-1]["seconds_left"] == 0
    assert set(first[-1]["metrics"]) == {"loss", "mae", "val_loss", "val_mae"}


def test_steps_that_nobody_knew_are_told_after_the_first_epoch(training):
    only_keras(training)
    last = [record for record in training.result["reports"] if record["epochs"] == 3]
    assert {record["steps"] for record in last if record["epoch"] > 1} == {30}


def test_keras_does_not_draw_a_second_bar(training):
    assert "Epoch 1/2" not in training.screen


def test_keras_2_does_not_read_the_metrics_of_every_batch_for_us(training):
    if training.way != "keras2":
        pytest.skip("Keras 3 reads them anyway, and a loop has none")
    assert training.result["logs_stay_tensors"] is True
