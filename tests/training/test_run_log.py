# SPDX-License-Identifier: Apache-2.0
import json

from tensorboard.compat.proto.event_pb2 import Event

from stoker.data.tfrecord import read_records
from stoker.storage.metrics_file import read_metrics_file
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


def write_steps(log, *steps, series=None):
    for step in steps:
        log.write(split="train", step=step, epoch=1, metrics={"loss": float(step)}, series=series)


def steps_of(folder, series="train"):
    records = read_metrics_file(folder / "metrics.jsonl")
    return [record.step for record in records if record.series == series]


def test_the_series_of_a_split_are_not_mixed(tmp_path):
    log = RunLog(str(tmp_path), print)
    write_steps(log, 1, 2)
    write_steps(log, 2, series="train_epochs")
    log.close()
    assert steps_of(tmp_path) == [1, 2]
    assert steps_of(tmp_path, "train_epochs") == [2]
    assert scalars(tmp_path / "train_epochs") == [(2, "loss", 2.0)]
    assert {line["split"] for line in lines(tmp_path)} == {"train"}


def test_a_training_that_goes_on_has_what_was_before_its_checkpoint(tmp_path):
    first = RunLog(str(tmp_path / "first"), print, kept_in=str(tmp_path / "kept"))
    write_steps(first, 1, 2, 3, 4)
    # It is killed: nobody closes it. The next attempts go on after step 2, and after step 3.
    second = RunLog(str(tmp_path / "second"), print, kept_in=str(tmp_path / "kept"))
    second.keep_before(2)
    write_steps(second, 3, 4)
    with (tmp_path / "kept" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 5, "spl')
    third = RunLog(str(tmp_path / "third"), print, kept_in=str(tmp_path / "kept"))
    third.keep_before(1)  # as after a first `fit` that had ended
    third.keep_before(3)
    write_steps(third, 4, 5)
    for log in (first, second, third):
        log.close()
    assert steps_of(tmp_path / "second") == [1, 2, 3, 4]
    assert steps_of(tmp_path / "third") == [1, 2, 3, 4, 5]
    assert [step for step, _, _ in scalars(tmp_path / "third" / "train")] == [1, 2, 3, 4, 5]
    assert steps_of(tmp_path / "kept") == [1, 2, 3, 4, 5]


def test_a_training_from_the_beginning_has_nothing_of_one_before(tmp_path):
    for attempt in ("first", "second"):
        log = RunLog(str(tmp_path / attempt), print, kept_in=str(tmp_path / "kept"))
        write_steps(log, 0, 1)
        log.close()
    assert steps_of(tmp_path / "second") == [0, 1]
    assert steps_of(tmp_path / "kept") == [0, 1]


def test_files_of_earlier_versions_have_one_curve_per_split(tmp_path):
    line = {"time": 1.0, "step": 3, "epoch": 1, "split": "train", "metrics": {"loss": "NaN"}}
    (tmp_path / "metrics.jsonl").write_text(json.dumps(line) + "\n" + json.dumps(line)[:20])
    (record,) = read_metrics_file(tmp_path / "metrics.jsonl")
    assert (record.step, record.series) == (3, "train")
    assert record.metrics["loss"] != record.metrics["loss"]
