# SPDX-License-Identifier: Apache-2.0
"""What the user sees of a run on the terminal or in a log.

    worker: any_python.channel.report(record) ──(the launcher's channel)──▶ Console.event(record)

A record is plain JSON. Its `kind` is `progress` (step, steps, epoch, epochs, metrics,
steps_per_second, examples_per_second, waiting, seconds_left, phase, epoch_end, done; all but the
step may be missing), `note` or `warning` (text). Whoever passes a record on may add `node`.
"""

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import IO, Any

from stoker.any_python.lines import escape_controls
from stoker.launchers.step_log import describe_event
from stoker.metadata.masking import KnownSecrets

Record = Mapping[str, Any]

_DRAW_SECONDS = 0.1
_LINE_SECONDS = 10.0
_HALF_LINE_SECONDS = 1.0
_BAR_WIDTH = 20
_DEFAULT_WIDTH = 80


class Console:
    """What the user sees of a run: the workers' output, and how far they are.

    On a terminal, one live line stays below everything else; elsewhere, a plain line now and then.
    What a worker prints passes as it is; lines of the runner's own quote no control characters and
    none of the `secrets`. Its methods may be called from several threads.
    """

    def __init__(self, out: IO[str] | None = None, err: IO[str] | None = None) -> None:
        self._out = _Screen(sys.stdout if out is None else out)
        self._err = _Screen(sys.stderr if err is None else err)
        self._trouble = self._err if err is None else _Screen(sys.stderr)
        self._live = self._err.is_terminal
        self.secrets = KnownSecrets()
        self._lock = threading.Lock()
        self._record: Record | None = None
        self._drawn = 0
        """How many columns of the live line are on the screen."""
        self._drawn_at = -math.inf
        self._half_line_since: float | None = None
        self._line_at = -math.inf

    def output(self, data: bytes, *, error: bool) -> None:
        """Pass on what a worker printed; the live line makes room and comes back."""
        stream = self._err if error else self._out
        with self._lock:
            shown = self._live and stream.is_terminal
            if shown:
                self._clear()
            stream.write(data)
            if shown:
                whole = data.endswith(b"\n")
                self._half_line_since = None if whole else time.monotonic()
                self._draw()

    def step(self, text: str) -> None:
        """Print a line of the runner's own, or several."""
        with self._lock:
            self._print(text)
            self._draw()

    def failure(self, text: str) -> None:
        """Print the user's own traceback, on standard error also where other lines are not."""
        with self._lock:
            self._print(text, self._trouble)

    def event(self, record: Record) -> None:
        """Show what a worker reports."""
        with self._lock:
            if record["kind"] in ("note", "warning"):
                self._print(describe_event(record))
            elif self._live:
                self._show_live(record)
            elif self._is_due(record):
                self._line_at = time.monotonic()
                self._print(describe(record))

    def close(self) -> None:
        """Take the live line away."""
        with self._lock:
            self._record = None
            self._clear()

    def _show_live(self, record: Record) -> None:
        if record.get("done"):
            self._record = None
            self._print(describe(record))
            return
        self._record = record
        if time.monotonic() - self._drawn_at >= _DRAW_SECONDS or record.get("epoch_end"):
            self._clear()
            self._draw()

    def _is_due(self, record: Record) -> bool:
        """Of plain lines: the first, each epoch's last, and one every few seconds."""
        if record.get("done"):
            return "epoch" not in record  # the last epoch has had its line
        if record.get("epoch_end"):
            return True
        return time.monotonic() - self._line_at >= _LINE_SECONDS

    def _print(self, text: str, screen: "_Screen | None" = None) -> None:
        self._clear()
        self._end_half_line()
        line = escape_controls(self.secrets.mask(text))
        (screen or self._err).write(f"{line}\n".encode())

    def _clear(self) -> None:
        """Take the live line off the screen, also where a narrower window has broken it in two."""
        if self._drawn:
            rows_above = (self._drawn - 1) // self._err.width()
            self._err.write(b"\r" + b"\x1b[A" * rows_above + b"\x1b[J")
            self._drawn = 0

    def _draw(self) -> None:
        if not self._live or self._record is None:
            return
        now = time.monotonic()
        if self._half_line_since is not None:
            if now - self._half_line_since < _HALF_LINE_SECONDS:
                return  # the rest of the user's line may follow at once
            self._end_half_line()
        width = self._err.width() - 1
        line = escape_controls(live_line(self._record, width))[:width]
        self._err.write(line.encode())
        self._drawn, self._drawn_at = len(line), now

    def _end_half_line(self) -> None:
        if self._half_line_since is not None:
            self._err.write(b"\n")
            self._half_line_since = None


class _Screen:
    """Where lines are shown, as far as that can be: no run fails because nobody can read it.

    A stream may be None or closed, a pipe whose reader has left, a disk that is full, or any object
    that the user's program has put there.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.is_terminal = False
        with contextlib.suppress(Exception):
            self.is_terminal = bool(stream.isatty())

    def write(self, data: bytes) -> None:
        """Show it now. Bytes, where there is a binary side: what a worker prints may be no text."""
        with contextlib.suppress(Exception):
            try:
                self._write(data)
            except BrokenPipeError:
                # What is left in its buffer would fail the interpreter when it ends.
                with open(os.devnull, "wb") as nowhere:
                    os.dup2(nowhere.fileno(), self._stream.fileno())

    def _write(self, data: bytes) -> None:
        binary = getattr(self._stream, "buffer", None)
        flush = getattr(self._stream, "flush", lambda: None)
        if binary is None:
            self._write_text(data.decode(errors="replace"))
        else:
            flush()
            binary.write(data)
        flush()

    def _write_text(self, text: str) -> None:
        try:
            self._stream.write(text)
        except UnicodeEncodeError:
            self._stream.write(text.encode("ascii", "backslashreplace").decode())

    def width(self) -> int:
        """How many columns there are."""
        with contextlib.suppress(Exception):
            return os.get_terminal_size(self._stream.fileno()).columns or _DEFAULT_WIDTH
        return _DEFAULT_WIDTH


def describe(record: Record) -> str:
    """A record as one plain line."""
    return _prefix(record) + ", ".join(_parts(record))


def live_line(record: Record, width: int) -> str:
    """A record as one line of at most `width` columns: a bar, then what there is room for."""
    step, steps = record["step"], record.get("steps")
    line = _prefix(record).rstrip()
    if steps:
        filled = min(_BAR_WIDTH, _BAR_WIDTH * step // steps)
        line += f" [{'━' * filled}{' ' * (_BAR_WIDTH - filled)}]"
    for part in _parts(record):
        longer = f"{line}  {part}".lstrip()
        if len(longer) > width:
            break
        line = longer
    return line[:width]


def _prefix(record: Record) -> str:
    return f"{record['node']}: " if record.get("node") else ""


def _parts(record: Record) -> list[str]:
    """What is known, the most wanted first."""
    step, steps = record["step"], record.get("steps")
    parts = [f"step {step:,}/{steps:,}" if steps else f"step {step:,}"]
    if "epoch" in record:
        parts.append(f"epoch {record['epoch']}/{record['epochs']}")
    if record.get("phase"):
        parts.append(str(record["phase"]))
    parts += [f"{name} {_short(value)}" for name, value in record.get("metrics", {}).items()]
    if (left := record.get("seconds_left")) is not None and not record.get("done"):
        parts.append(f"{_clock(left)} left")
    if (rate := record.get("examples_per_second")) is not None:
        parts.append(f"{rate:,.0f} examples/s")
    elif (rate := record.get("steps_per_second")) is not None:
        parts.append(f"{rate:,.4g} steps/s")
    if (waiting := record.get("waiting")) is not None:
        parts.append(f"{waiting:.0%} waiting for input")
    return parts


def _short(value: float) -> str:
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4f}"
    return f"{value:.3g}"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
