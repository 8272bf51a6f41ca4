# SPDX-License-Identifier: Apache-2.0
import json

from tensorboard.compat.proto.event_pb2 import Event

from stoker.data.tfrecord import read_records
from stoker.training.run_log import RunLog


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def scalars(folder):
    (file,) = folder.glob("events.out.tfevents.*")
    return [
        (event.step, value.tag, value.simple_value)
        for event in map(Event.FromString, read_records(str(file)))
        for value in event.summary.value
    ]


def test_the_first_metrics_are_on_disk_before_the_log_is_closed(tmp_path):
    log = RunLog(str(tmp_path / "run"), print)
    log.write(split="train", step=1, epoch=1, metrics={"loss": 0.5})
    (line,) = lines(tmp_path / "run")
    assert {name: line[name] for name in ("step", "epoch", "split", "metrics")} == {
        "step": 1,
        "epoch": 1,
        "split": "train",
        "metrics": {"loss": 0.5},
    }
    assert scalars(tmp_path / "run" / "train") == [(1, "loss", 0.5)]
    log.close()


def test_each_split_has_a_folder_of_events(tmp_path):
    log = RunLog(str(tmp_path), print)
    log.write(split="train", step=1, epoch=1, metrics={"loss": 0.5})
    log.write(split="validation", step=1, epoch=1, metrics={"loss": 0.75})
    log.close()
    assert scalars(tmp_path / "validation") == [(1, "loss", 0.75)]
    assert [line["split"] for line in lines(tmp_path)] == ["train", "validation"]


def test_a_loss_that_is_not_a_number_stays_valid_json(tmp_path):
    log = RunLog(str(tmp_path), print)
    log.write(split="train", step=1, epoch=1, metrics={"loss": float("nan"), "x": float("-inf")})
    log.close()
    assert lines(tmp_path)[0]["metrics"] == {"loss": "NaN", "x": "-Infinity"}


def test_a_folder_with_a_tensorboard_callback_is_left_to_it(tmp_path):
    log = RunLog(str(tmp_path), print)
    log.leave_room_for(str(tmp_path / "elsewhere"))
    log.write(split="train", step=1, epoch=1, metrics={"loss": 1.0})
    log.leave_room_for(str(tmp_path))
    log.write(split="train", step=2, epoch=1, metrics={"loss": 0.5})
    log.close()
    assert scalars(tmp_path / "train") == [(1, "loss", 1.0)]
    assert scalars(tmp_path / "stoker" / "train") == [(2, "loss", 0.5)]
