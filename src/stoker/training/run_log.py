# SPDX-License-Identifier: Apache-2.0
"""The metrics of a training on disk, readable by others while it runs.

<model_run>/metrics.jsonl            one MetricsRecord per line
<model_run>/<series>/events…         the same for TensorBoard, one folder per series
<model_run>/stoker/<series>/         instead of these, where a TensorBoard callback writes there
<checkpoint_dir>/metrics.jsonl       a copy, which a training that resumes begins with

The series of a `fit` are `train` (single batches), `train_epochs` (the mean of each epoch) and
`validation`. What a loop of the user's own says, and an Estimator, is in `train` and `validation`.
"""

import contextlib
import math
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from typing import IO

from stoker.any_python.layout import METRICS_FILE
from stoker.data.tfrecord import RecordWriter
from stoker.storage.metrics_file import MetricsRecord, mark_resumed, read_metrics_file

_FLUSH_SECONDS = 0.5


class RunLog:
    """Appends metrics to the files of one `model_run` folder; what it made is there at once.

    Where that fails, `warn` is told once: a training does not end because a disk is full.
    """

    def __init__(
        self, folder: str, warn: Callable[[str], None], kept_in: str | None = None
    ) -> None:
        """Write to `folder`; `kept_in` is another one, which outlives this attempt to train."""
        self._folder = folder
        self._warn = warn
        self._is_whole = True
        self._events_folder = folder
        self._kept_in = kept_in
        self._resumed_after = -1
        self._lines: IO[str] | None = None
        self._kept: IO[str] | None = None
        self._events: dict[str, _EventFile] = {}
        self._flushed = -math.inf

    def write(
        self,
        *,
        split: str,
        step: int,
        epoch: int | None,
        metrics: Mapping[str, float],
        series: str | None = None,
    ) -> None:
        """Append the metrics of one step; readers see it within half a second of the next one."""
        record = MetricsRecord(
            time=time.time(),
            step=step,
            epoch=epoch,
            split=split,
            series=series or split,
            metrics=metrics,
        )
        with self._tolerate():
            self._append(record)
            self._keep(record)
            if time.monotonic() - self._flushed > _FLUSH_SECONDS:
                self.flush()

    def keep_before(self, step: int) -> None:
        """Take over what earlier attempts wrote, up to the step that the training goes on from."""
        if not self._kept_in:
            return
        with self._tolerate():
            for record in read_metrics_file(os.path.join(self._kept_in, METRICS_FILE)):
                if self._resumed_after < record.step <= step:
                    self._append(record)
            self.flush()
        self._resumed_after = step

    def _append(self, record: MetricsRecord) -> None:
        if self._lines is None:
            os.makedirs(self._folder, exist_ok=True)
            path = os.path.join(self._folder, METRICS_FILE)
            self._lines = open(path, "a", encoding="utf-8")  # noqa: SIM115 - closed by close
        self._lines.write(record.to_json() + "\n")
        self._event_file(record.series).write_scalars(record.time, record.step, record.metrics)

    def _keep(self, record: MetricsRecord) -> None:
        """Copy a record to where the next attempt finds it.

        By lines, so that a process that is killed leaves all that was before its last checkpoint.
        """
        if not self._kept_in:
            return
        if self._kept is None:
            os.makedirs(self._kept_in, exist_ok=True)
            path = os.path.join(self._kept_in, METRICS_FILE)
            self._kept = open(path, "a", buffering=1, encoding="utf-8")  # noqa: SIM115 - as above
            self._kept.write(f"\n{mark_resumed(self._resumed_after)}\n")
        self._kept.write(record.to_json() + "\n")

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
        for file in filter(None, (self._lines, self._kept)):
            with self._tolerate():
                file.close()
        self._lines = self._kept = None
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

    def _event_file(self, series: str) -> "_EventFile":
        if series not in self._events:
            self._events[series] = _EventFile(os.path.join(self._events_folder, series))
        return self._events[series]


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
