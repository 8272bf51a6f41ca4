# SPDX-License-Identifier: Apache-2.0
"""What the user sees of a run on the terminal or in a log.

    worker: launcher_link.report(record) ──(the launcher's channel)──▶ Console.event(record)

A record is plain JSON. Its `kind` is `note` or `warning` (text), `usage` (for `timeline.py`), or
`progress`, which says anything of this about a step that runs:

    doing, count, total, is_about, unit, per_second       what it does, how much of it is done
    step, steps, epoch, epochs, metrics, phase            how far a training is
    steps_per_second, examples_per_second, waiting        how fast it trains
    steps_per_call, why_single, seconds_left
    epoch_end, done                                       whether this is worth a line that stays
"""

import contextlib
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from stoker.any_python.lines import escape_controls
from stoker.launchers.step_log import describe_event
from stoker.metadata.masking import KnownSecrets
from stoker.views.progress_lines import (
    SILENT_SECONDS,
    LiveStep,
    Record,
    clock,
    describe,
    find_share,
    list_facts,
    list_rates,
    list_time_left,
)

if TYPE_CHECKING:
    from stoker.runner.live_line import LiveLine
    from stoker.runner.timeline import Timeline

_FIRST = "looking at its inputs"
"""What every step begins with, to know whether it has to run."""
_TICK_SECONDS = 0.15
_FIRST_LINE_SECONDS = 0.8
_LINE_SECONDS = (5.0, 60.0)
"""From one line of a log to the next: at first, and when a step has run for long."""
_HALF_LINE_SECONDS = 1.0
_LONGEST_HALF_LINE = 1 << 16
_NOTE_SECONDS = 1.0
_DEFAULT_SIZE = (80, 24)
_CANNOT_ERASE = ("dumb", "unknown")  # values of TERM


@dataclass(kw_only=True)
class _RunningStep:
    """A step that runs now, with what it last reported; times are of the console's clock."""

    name: str
    started_at: float
    reported_at: float
    printed_at: float
    line_at: float
    """When the last line about it was printed that stays."""
    line_due: float
    """When a log gets the next one."""
    doing: str = _FIRST
    record: Record = field(default_factory=lambda: {"doing": _FIRST})
    is_told: bool = True
    """Whether a line that stays says what the record says."""
    half_lines: dict[bool, bytes] = field(default_factory=dict)
    """What it printed, on either stream, of a line whose end is to come."""

    @classmethod
    def start(cls, name: str, now: float) -> "_RunningStep":
        """A step that starts now."""
        due = now + _FIRST_LINE_SECONDS
        return cls(
            name=name, started_at=now, reported_at=now, printed_at=now, line_at=now, line_due=due
        )

    @property
    def is_counted(self) -> bool:
        """Whether it is known how far it is."""
        return "count" in self.record or "step" in self.record

    def take(self, record: Record, now: float) -> None:
        """Take a report of progress."""
        doing = record.get("doing", self.doing)
        if doing != self.doing:
            self.line_due = min(self.line_due, now + _FIRST_LINE_SECONDS)
        self.doing, self.record, self.is_told, self.reported_at = doing, record, False, now

    def name_lines(self, data: bytes, *, error: bool) -> bytes:
        """The whole lines of what it printed, each with its name: others print as well."""
        *lines, half = (self.half_lines.pop(error, b"") + data).split(b"\n")
        if len(half) > _LONGEST_HALF_LINE:
            lines, half = [*lines, half], b""
        self.half_lines[error] = half
        return b"".join(b"%s: %s\n" % (self.name.encode(), line) for line in lines)

    def forget_record(self) -> None:
        """What was counted is over; what it does else goes on."""
        self.record, self.is_told = {"doing": self.doing}, True

    def plan_line(self, now: float) -> None:
        """Choose the time of the next line: later and later, but when it falls silent."""
        first, last = _LINE_SECONDS
        self.line_at = now
        self.line_due = now + min(last, max(first, (now - self.started_at) / 4))
        if self.measure_silence(now) < SILENT_SECONDS:
            self.line_due = min(self.line_due, now - self.measure_silence(now) + SILENT_SECONDS)

    def measure_silence(self, now: float) -> float:
        """How long it has neither reported nor printed anything."""
        return now - max(self.reported_at, self.printed_at)


class StepWatcher:
    """Who sees what the tasks of one step do, while others may run beside it."""

    def __init__(self, console: "Console", name: str) -> None:
        self._console, self._name = console, name

    def output(self, data: bytes, *, error: bool) -> None:
        """The step printed something."""
        self._console.output(data, error=error, name=self._name)

    def event(self, record: Record) -> None:
        """The step reported something."""
        self._console.event(record, name=self._name)


class Console:
    """What the user sees of a run: the workers' output, and how far they are.

    On a terminal, a live line for each step that runs stays below everything else; elsewhere, there
    is a plain line now and then. What a worker prints passes as it is, or in whole lines with the
    name of its step where several run; lines of the runner's own quote no control characters and
    none of the `secrets`. Its methods may be called from several threads.
    """

    def __init__(
        self,
        out: IO[str] | None = None,
        err: IO[str] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out = _Screen(sys.stdout if out is None else out)
        self._err = _Screen(sys.stderr if err is None else err)
        self._trouble = self._err if err is None else _Screen(sys.stderr)
        self._clock = clock
        self.secrets = KnownSecrets()
        self._lock = threading.Lock()
        self._steps: dict[str, _RunningStep] = {}
        self._turn = ""
        """The step that the runner is at: what it reports without a name is about this one."""
        self._is_ticking = self._is_live = False
        self._live_line: LiveLine | None = None
        self._drawn_at = -math.inf
        self._half_line_since: float | None = None
        self.progress_file = ""
        """Where programs that look at the run from outside find what its steps report."""
        self._noted_at = -math.inf
        self.timeline: Timeline | None = None
        """Who is told what each step does and when, for a run that is profiled."""

    @contextlib.contextmanager
    def show_step(self, name: str, *, live: bool = True) -> Iterator[None]:
        """Show what a step does while it runs, also if it says nothing.

        One that is not `live` has the terminal to itself, for a debugger: there are few plain
        lines, and only when it reports.
        """
        step = _RunningStep.start(name, self._clock())
        with self._lock:
            self._steps[name], self._turn = step, name
            if self.timeline:
                self.timeline.begin(name, step.doing)
            self._is_ticking, self._is_live = live, live and self._err.can_erase
        ended = threading.Event()
        ticker = threading.Thread(target=self._tick_until, args=(ended, step), daemon=True)
        if live:
            ticker.start()
        try:
            yield
        finally:
            ended.set()
            with self._lock:
                self._tell_last_step(step)
                self._clear()
                self._print_rest(step)
                if self.timeline:
                    self.timeline.end(name)
                del self._steps[name]
                self._is_live = self._is_live and bool(self._steps)

    def _print_rest(self, step: _RunningStep) -> None:
        """Print what a step that ends has begun a line with."""
        for error in sorted(half for half, data in step.half_lines.items() if data):
            (self._err if error else self._out).write(step.name_lines(b"\n", error=error))

    def turn_to(self, name: str) -> None:
        """Note which step the runner is at now."""
        self._turn = name

    def watch(self, name: str) -> StepWatcher:
        """Who is told what the tasks of this step do."""
        return StepWatcher(self, name)

    def _tick_until(self, ended: threading.Event, step: _RunningStep) -> None:
        while not ended.wait(_TICK_SECONDS):
            if next(iter(self._steps.values()), None) is step:  # one of them ticks for all
                self.tick()

    def tick(self) -> None:
        """Show the steps that run, as time goes by."""
        with self._lock:
            if self._is_live:
                self._draw()
            else:
                self._print_if_due()

    def output(self, data: bytes, *, error: bool, name: str = "") -> None:
        """Pass on what a worker printed; the live line makes room and comes back."""
        stream = self._err if error else self._out
        with self._lock:
            step = self._steps.get(name or self._turn)
            if step and (len(self._steps) > 1 or step.half_lines.get(error)):
                data = step.name_lines(data, error=error)
            if not data:
                return
            shared = self._is_live and stream.is_terminal
            if shared:
                self._clear()
            stream.write(data)
            now = self._note_printed(step)
            if shared:
                self._half_line_since = None if data.endswith(b"\n") else now
                if now - self._drawn_at >= _TICK_SECONDS:
                    self._draw()

    def step(self, text: str) -> None:
        """Print a line of the runner's own, or several."""
        with self._lock:
            self._print(text)
            self._note_printed(self._steps.get(self._turn))

    def failure(self, text: str) -> None:
        """Print the user's own traceback, on standard error also where other lines are not."""
        with self._lock:
            self._print(text, self._trouble)

    def event(self, record: Record, name: str = "") -> None:
        """Show what a worker reports."""
        with self._lock:
            if record["kind"] in ("note", "warning"):
                self._print(describe_event(record))
            elif step := self._steps.get(name or self._turn):
                if record["kind"] == "progress":
                    self._take(step, record)
                elif self.timeline and record["kind"] == "usage":
                    self.timeline.add_usage(step.name, record)

    def close(self) -> None:
        """Take the live line away."""
        with self._lock:
            self._clear()

    def _note_printed(self, step: _RunningStep | None) -> float:
        now = self._clock()
        if step:
            step.printed_at = now
        return now

    def _take(self, step: _RunningStep, record: Record) -> None:
        if record.get("doing", step.doing) != step.doing:
            self._tell_last_step(step)
            if self.timeline:
                self.timeline.turn(step.name, record["doing"])
        step.take(record, self._clock())
        self._note_progress()
        # When a `fit` is done, its last epoch has had a line.
        if record.get("epoch_end") or (record.get("done") and "epoch" not in record):
            self._tell(step)
        if record.get("done"):
            step.forget_record()
        if not self._is_ticking:
            self._print_if_due()

    def _note_progress(self) -> None:
        """Leave what the steps report where other programs see it, at most once a second."""
        now = self._clock()
        if not self.progress_file or now - self._noted_at < _NOTE_SECONDS:
            return
        self._noted_at = now
        noted = [
            {
                **{"node": step.name, "at": time.time(), "elapsed": now - step.started_at},
                **step.record,
            }
            for step in self._steps.values()
        ]
        draft = f"{self.progress_file}.new"
        with contextlib.suppress(OSError):  # a disk that is full ends no run
            with open(draft, "w", encoding="utf-8") as file:
                json.dump(noted, file, default=str)
            os.replace(draft, self.progress_file)

    def _tell_last_step(self, step: _RunningStep) -> None:
        """Let the last step of a training stay in sight, whatever has ended it."""
        if "step" in step.record and not step.is_told:
            self._tell(step)

    def _print_if_due(self) -> None:
        now = self._clock()
        for step in self._steps.values():
            if now < step.line_due:
                continue
            if step.printed_at > step.line_at and not step.is_counted:
                step.plan_line(now)  # what was printed says more than a name and a time
            else:
                self._tell(step)

    def _tell(self, step: _RunningStep) -> None:
        """Print a line about the step, which stays."""
        now = self._clock()
        line = describe(
            step.name,
            step.record,
            elapsed=now - step.started_at,
            silent=step.measure_silence(now),
            width=self._err.size()[0] if self._is_live else None,  # the live line has the rest
        )
        self._print(line)
        step.is_told = True
        step.plan_line(now)

    def _print(self, text: str, screen: "_Screen | None" = None) -> None:
        self._clear()
        self._end_half_line()
        line = escape_controls(self.secrets.mask(text))
        (screen or self._err).write(f"{line}\n".encode())

    def _clear(self) -> None:
        if self._live_line:
            self._live_line.clear()

    def _draw(self) -> None:
        now = self._clock()
        if self._half_line_since is not None:
            if now - self._half_line_since < _HALF_LINE_SECONDS:
                return  # the rest of the user's line may follow at once
            self._end_half_line()
        if self._live_line is None:
            from stoker.runner.live_line import LiveLine  # it needs rich, which logs do not

            self._live_line = LiveLine(self._err)
        self._live_line.draw([_describe_live(step, now) for step in self._steps.values()])
        self._drawn_at = now

    def _end_half_line(self) -> None:
        if self._half_line_since is not None:
            self._err.write(b"\n")
            self._half_line_since = None


def _describe_live(step: _RunningStep, now: float) -> LiveStep:
    facts = list_facts(step.record, silent=step.measure_silence(now))
    return LiveStep(
        name=step.name,
        facts=[*facts, *list_rates(step.record, brief=True)],
        times=[clock(int(now - step.started_at)), *list_time_left(step.record)],
        share=find_share(step.record),
    )


class _Screen:
    """Where lines are shown, as far as that can be: no run fails because nobody can read it.

    A stream may be None or closed, a pipe whose reader has left, a disk that is full, or any object
    that the user's program has put there.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.encoding: str = getattr(stream, "encoding", None) or "utf-8"
        self.is_terminal = False
        with contextlib.suppress(Exception):
            self.is_terminal = bool(stream.isatty())
        self.can_erase = self.is_terminal and os.environ.get("TERM") not in _CANNOT_ERASE

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

    def size(self) -> tuple[int, int]:
        """How many columns and lines there are."""
        with contextlib.suppress(Exception):
            columns, lines = os.get_terminal_size(self._stream.fileno())
            return columns or _DEFAULT_SIZE[0], lines or _DEFAULT_SIZE[1]
        return _DEFAULT_SIZE
