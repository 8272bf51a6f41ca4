# SPDX-License-Identifier: Apache-2.0
import math

from stoker.storage.metrics_file import MetricsRecord, read_last_metrics


def write(path, *points):
    lines = [
        MetricsRecord(step=step, split="s", series=series, metrics=metrics).to_json()
        for series, step, metrics in points
    ]
    path.write_text("\n".join([*lines, '{"step": 9, "spl']))
    return path


def test_the_last_value_of_each_metric_has_the_name_that_keras_gives_it(tmp_path):
    path = write(
        tmp_path / "m",
        ("train", 1, {"loss": 3.0}),
        ("train_epochs", 1, {"loss": 2.0}),
        ("validation", 1, {"loss": 4.0}),
        ("train", 2, {"loss": 1.0, "rate": 0.1}),
    )
    assert read_last_metrics(path) == {"loss": 2.0, "rate": 0.1, "val_loss": 4.0}


def test_metrics_that_were_written_one_by_one_are_all_there(tmp_path):
    path = write(tmp_path / "m", ("train", 1, {"a": 1.0}), ("train", 1, {"b": math.nan}))
    found = read_last_metrics(path)
    assert found["a"] == 1.0
    assert math.isnan(found["b"])


def test_a_series_is_found_though_thousands_of_lines_follow(tmp_path):
    batches = [("train", step, {"loss": 1.0 / step}) for step in range(1, 5000)]
    path = write(tmp_path / "m", ("validation", 1, {"loss": 4.0}), *batches)
    assert read_last_metrics(path) == {"loss": 1.0 / 4999, "val_loss": 4.0}


def test_of_a_long_file_only_the_end_is_read(tmp_path):
    path = write(tmp_path / "m", ("validation", 1, {"old": 4.0}), ("train", 2, {"loss": 1.0}))
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "x" * 5_000_000, lines[1]]))
    assert read_last_metrics(path) == {"loss": 1.0}


def test_without_a_file_there_are_none(tmp_path):
    assert read_last_metrics(tmp_path / "gone") == {}
