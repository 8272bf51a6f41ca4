# SPDX-License-Identifier: Apache-2.0
import io
import os
import pty
import struct
import termios
from fcntl import ioctl

import pytest

from stoker.any_python import launcher_link
from stoker.runner import console as console_module
from stoker.runner.console import Console, describe, live_line

RECORD = {
    "kind": "progress",
    "node": "Trainer",
    "step": 500,
    "steps": 1000,
    "epoch": 2,
    "epochs": 4,
    "metrics": {"loss": 0.125, "accuracy": 0.75},
    "examples_per_second": 12345.6,
    "waiting": 0.031,
    "seconds_left": 61.5,
}


END = "<end>"


class Screen:
    """A terminal of a given width: what is written to `stream` is what `read` gives."""

    def __init__(self, columns):
        self._ours, theirs = pty.openpty()
        self.stream = os.fdopen(theirs, "w")
        self.resize(columns)

    def resize(self, columns):
        ioctl(self.stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read(self):
        """Everything that was written since; the system may hand it over in pieces."""
        print(END, end="", file=self.stream, flush=True)
        shown = b""
        while not shown.endswith(END.encode()):
            shown += os.read(self._ours, 1 << 16)
        return shown.decode().removesuffix(END)

    def close(self):
        self.stream.close()
        os.close(self._ours)


@pytest.fixture
def screen():
    screen = Screen(120)
    yield screen
    screen.close()


@pytest.fixture
def console(screen, monkeypatch):
    monkeypatch.setattr(console_module, "_DRAW_SECONDS", 0)
    return Console(screen.stream, screen.stream)


def test_a_plain_line_says_everything_that_is_known():
    assert describe(RECORD) == (
        "Trainer: step 500/1,000, epoch 2/4, loss 0.1250, accuracy 0.7500, 1:02 left, "
        "12,346 examples/s, 3% waiting for input"
    )
    assert describe({"kind": "progress", "step": 7}) == "step 7"


@pytest.mark.parametrize("width", [1, 20, 40, 60, 200])
def test_the_live_line_fits_its_width_and_drops_the_least_wanted_first(width):
    line = live_line(RECORD, width)
    assert len(line) <= width
    assert ("examples/s" in line) == (width == 200)
    assert ("500/1,000" in line) == (width > 40)


def test_the_live_line_is_redrawn_in_place(console, screen):
    console.event(RECORD)
    console.event({**RECORD, "step": 501})
    first, second = screen.read().split("\r\x1b[J")
    assert "step 500/1,000" in first
    assert "step 501/1,000" in second
    assert "\n" not in first + second


def test_output_goes_above_the_live_line(console, screen):
    console.event(RECORD)
    console.output(b"hello\n", error=False)
    console.step("[1/2] done")
    before, output, runner = screen.read().split("\r\x1b[J")
    assert "step 500" in before
    assert output.startswith("hello\r\n")
    assert "step 500" in output
    assert runner.startswith("[1/2] done\r\n")


def test_a_half_line_is_finished_before_the_live_line_comes_back(console, screen):
    console.event(RECORD)
    console.output(b"loading", error=True)
    console.event(RECORD)
    console.output(b" done\n", error=True)
    assert "\r\x1b[Jloading done\r\n" in screen.read()


def test_a_half_line_that_stays_open_gets_the_live_line_below_it(console, screen, monkeypatch):
    monkeypatch.setattr(console_module, "_HALF_LINE_SECONDS", 0)
    console.output(b"loading", error=True)
    console.event(RECORD)
    assert screen.read().startswith("loading\r\nTrainer")


def test_a_narrower_window_leaves_nothing_of_the_old_line(console, screen):
    console.event(RECORD)
    drawn = len(screen.read())
    screen.resize(40)
    console.event(RECORD)
    rows_above = (drawn - 1) // 40
    assert screen.read().startswith("\r" + "\x1b[A" * rows_above + "\x1b[J")


def test_the_end_of_training_stays_on_the_screen(console, screen):
    console.event(RECORD)
    console.event({**RECORD, "step": 1000, "done": True})
    console.close()
    assert screen.read().endswith(f"{describe({**RECORD, 'step': 1000, 'done': True})}\r\n")


def test_without_a_terminal_there_are_few_plain_lines():
    err = io.StringIO()
    console = Console(io.StringIO(), err)
    for step in range(1, 100):
        console.event({**RECORD, "step": step})
    console.event({**RECORD, "step": 100, "epoch_end": True})
    console.event({**RECORD, "step": 100, "done": True})
    console.close()
    assert [line.split(",")[0] for line in err.getvalue().splitlines()] == [
        "Trainer: step 1/1",
        "Trainer: step 100/1",
    ]


def test_bytes_pass_through_as_they_are(capfdbinary):
    Console().output(b"\xff\x00\n", error=False)
    assert capfdbinary.readouterr().out == b"\xff\x00\n"


def test_a_warning_is_a_line_of_its_own():
    err = io.StringIO()
    Console(io.StringIO(), err).event({"kind": "warning", "node": "Trainer", "text": "idle GPU"})
    assert err.getvalue() == "Trainer: warning: idle GPU\n"


def test_reports_go_to_the_sink():
    seen = []
    launcher_link.report({"kind": "progress", "step": 1})
    launcher_link.set_sink(seen.append)
    launcher_link.report({"kind": "progress", "step": 2})
    launcher_link.set_sink(None)
    assert [record["step"] for record in seen] == [2]
