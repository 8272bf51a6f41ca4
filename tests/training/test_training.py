# SPDX-License-Identifier: Apache-2.0
"""Real trainings on a real terminal, read from outside while they run."""

import json
import math
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path

import pytest

from stoker.views.model_tables import read_curves

pytestmark = pytest.mark.tf

PROGRAM = Path(__file__).with_name("watched_training.py")
NUM_BATCHES, BATCH_SIZE = 20, 4
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
    assert "━" in training.screen or training.way == "loop"  # it ends before a line is drawn
    assert re.search(r"step \d+/", training.screen)
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
    (ours,) = read_events(training.folder / "stoker" / "train_epochs")
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


# Curves: a batch's loss is the mean of its numbers, and nothing is learnt


def read_curve(training, name, series, metric="loss"):
    """The points of a curve, as views draw them."""
    only_keras(training)
    return read_curves(str(training.folder / "curves" / name))[metric].get(series, [])


def loss_of_batch(step):
    first = (step - 1) % NUM_BATCHES * BATCH_SIZE
    return sum(range(first, first + BATCH_SIZE)) / BATCH_SIZE


@pytest.mark.parametrize("name", ["two_epochs", "300_steps", "own_step"])
def test_a_point_of_the_batches_is_the_loss_of_that_batch_alone(training, name):
    for step, loss in read_curve(training, name, "train"):
        assert loss == pytest.approx(loss_of_batch(step), rel=1e-3)


def test_epochs_are_a_series_of_their_own_and_validation_has_its_own_steps(training):
    whole = (NUM_BATCHES * BATCH_SIZE - 1) / 2
    ends = [(NUM_BATCHES, whole), (2 * NUM_BATCHES, whole)]
    assert read_curve(training, "two_epochs", "train_epochs") == ends
    assert read_curve(training, "two_epochs", "validation") == ends[1:]
    assert read_curve(training, "two_epochs", "train", "mae")
    for no_mean in ("auc", "rmse"):  # of a batch alone they say little
        assert read_curve(training, "two_epochs", "train", no_mean) == []
        assert len(read_curve(training, "two_epochs", "train_epochs", no_mean)) == 2


def test_300_steps_are_a_curve_however_short_they_take(training):
    steps = [step for step, _ in read_curve(training, "300_steps", "train")]
    assert len(steps) >= 8  # a point is the last step of a call, and calls grow to 64 steps
    assert steps == sorted(set(steps))
    assert steps[0] == 1


def test_tensorboard_has_the_same_series_and_points(training):
    only_keras(training)
    series = ("train", "train_epochs", "validation")
    folder = training.folder / "curves" / "two_epochs"
    for name, events in zip(series, read_events(*(folder / one for one in series)), strict=True):
        assert events["loss"] == [step for step, _ in read_curve(training, "two_epochs", name)]


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("nan", "step 9 (epoch 1, batch 9"),
        ("nan_at_once", "one of the steps 9 to 12, which are done at once (epoch 1, batch 12"),
    ],
)
def test_the_first_loss_that_is_nan_is_told_once_with_its_step(training, name, where):
    only_keras(training)
    (told,) = training.result["curves"][name]
    assert told["kind"] == "warning"
    assert told["text"].startswith(f"loss is NaN for the first time at {where}")
    assert math.isnan(dict(read_curve(training, name, "train_epochs"))[NUM_BATCHES])


def test_a_training_that_is_to_stop_on_nan_stops_there(training):
    only_keras(training)
    _, error = training.result["curves"]["nan_stops"]
    assert error["text"].startswith(
        "Training was stopped: loss is NaN for the first time at step 9"
    )
    assert read_curve(training, "nan_stops", "train_epochs") == []
