# SPDX-License-Identifier: Apache-2.0
"""The metrics of a training on disk, readable by others while it runs.

<model_run>/metrics.jsonl        one JSON object per line: time, step, epoch, split, metrics
<model_run>/train/events…        the same for TensorBoard, one folder per split
<model_run>/validation/events…
<model_run>/stoker/<split>/      instead of these two, where a TensorBoard callback writes there
"""

import contextlib
import json
import math
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

from stoker.any_python.layout import METRICS_FILE
from stoker.data.tfrecord import RecordWriter

_FLUSH_SECONDS = 0.5


class RunLog:
    """Appends metrics to the files of one `model_run` folder; what it made is there at once.

    Where that fails, `warn` is told once: a training does not end because a disk is full.
    """

    def __init__(self, folder: str, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._warn = warn
        self._is_whole = True
        self._events_folder = folder
        self._lines: IO[str] | None = None
        self._events: dict[str, _EventFile] = {}
        self._flushed = -math.inf

    def write(
        self, *, split: str, step: int, epoch: int | None, metrics: Mapping[str, float]
    ) -> None:
        """Append the metrics of one step; readers see it within half a second of the next one."""
        with self._tolerate():
            self._write(split, step, epoch, metrics)
            if time.monotonic() - self._flushed > _FLUSH_SECONDS:
                self.flush()

    def _write(
        self, split: str, step: int, epoch: int | None, metrics: Mapping[str, float]
    ) -> None:
        now = time.time()
        if self._lines is None:
            os.makedirs(self._folder, exist_ok=True)
            path = os.path.join(self._folder, METRICS_FILE)
            self._lines = open(path, "a", encoding="utf-8")  # noqa: SIM115 - closed by close
        record = {"time": round(now, 3), "step": step, "epoch": epoch, "split": split}
        values = {name: _spell(value) for name, value in metrics.items()}
        self._lines.write(json.dumps({**record, "metrics": values}) + "\n")
        self._event_file(split).write_scalars(now, step, metrics)

    def flush(self) -> None:
        """Let readers see everything that was written."""
        self._flushed = time.monotonic()
        with self._tolerate():
            if self._lines:
                self._lines.flush()
            for file in self._events.values():
                file.flush()

    def leave_room_for(self, log_dir: str) -> None:
        """Keep out of a folder where a TensorBoard callback is about to write its own events.

        TensorBoard follows one growing file per folder; the older of two would seem to stand still.
        """
        if os.path.abspath(log_dir) == os.path.abspath(self._events_folder):
            self._close_events()
            self._events_folder = os.path.join(self._folder, "stoker")

    def close(self) -> None:
        """Close every file."""
        with self._tolerate():
            if self._lines:
                self._lines.close()
        self._lines = None
        self._close_events()

    def _close_events(self) -> None:
        for file in self._events.values():
            with self._tolerate():
                file.close()
        self._events.clear()

    @contextlib.contextmanager
    def _tolerate(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:  # a name that is no text is a ValueError
            if self._is_whole:
                self._is_whole = False
                why = error.strerror if isinstance(error, OSError) else error
                self._warn(f"not all metrics could be written to {self._folder}: {why}")

    def _event_file(self, split: str) -> "_EventFile":
        if split not in self._events:
            self._events[split] = _EventFile(os.path.join(self._events_folder, split))
        return self._events[split]


class _EventFile(RecordWriter):
    """A TensorBoard event file: TFRecords of Event messages."""

    def __init__(self, folder: str) -> None:
        from tensorboard.compat.proto.event_pb2 import (  # type: ignore[import-untyped]
            Event,
        )

        self._event = Event
        name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}.stoker"
        super().__init__(os.path.join(folder, name))
        header = Event(wall_time=time.time(), file_version="brain.Event:2")
        self.write(header.SerializeToString())

    def write_scalars(self, wall_time: float, step: int, metrics: Mapping[str, float]) -> None:
        """Append one event with a scalar per metric."""
        event = self._event(wall_time=wall_time, step=step)
        for name, value in metrics.items():
            event.summary.value.add(tag=name, simple_value=value)
        self.write(event.SerializeToString())

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _spell(value: float) -> Any:
    """Numbers that JSON cannot say, as the words that protobuf's JSON uses for them."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
