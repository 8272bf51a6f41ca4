# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import os
import pty
import re
import struct
import termios
import time
from fcntl import ioctl

import pytest

from stoker.any_python import launcher_link
from stoker.runner import console as console_module
from stoker.runner.console import Console
from stoker.views.progress_lines import describe

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


def visible(text):
    """A text without what a terminal obeys."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")


@pytest.fixture
def screen():
    screen = Screen(120)
    yield screen
    screen.close()


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def console(screen, clock, monkeypatch):
    """A console on a terminal, whose time passes by `clock` alone."""
    monkeypatch.setattr(console_module, "_TICK_SECONDS", 3600)
    monkeypatch.setenv("TERM", "xterm")
    return Console(screen.stream, screen.stream, clock=clock)


@pytest.fixture
def log(clock, monkeypatch):
    """A console in a log, and the log."""
    monkeypatch.setattr(console_module, "_TICK_SECONDS", 3600)
    text = io.StringIO()
    return Console(io.StringIO(), text, clock=clock), text


def pass_time(console, clock, seconds, *, event=None):
    """Let time pass, second by second; a step may report in each."""
    for _ in range(seconds):
        clock.now += 1
        if event:
            console.event(event)
        console.tick()


def test_a_plain_line_says_everything_that_is_known():
    assert describe("Trainer", RECORD, elapsed=35.9) == (
        "Trainer: step 500/1,000, epoch 2/4, loss 0.1250, accuracy 0.7500, 0:35 elapsed, "
        "1:02 left, 12,346 examples/s, 3% waiting for input"
    )
    reading = {"doing": "reading", "count": 400, "unit": "rows", "per_second": 200.0}
    assert describe("CsvExampleGen", reading, elapsed=2) == (
        "CsvExampleGen: reading, 400 rows, 0:02 elapsed, 200 rows/s"
    )
    assert "reading, 400/800 rows" in describe("A", {**reading, "total": 800}, elapsed=2)
    about = {**reading, "total": 800, "is_about": True, "seconds_left": 2.0}
    assert "400/~800 rows, 0:02 elapsed, 0:02 left" in describe("A", about, elapsed=2)


@pytest.mark.parametrize("columns", [12, 40, 80, 120])
def test_the_live_line_has_what_its_width_has_room_for(console, screen, clock, columns):
    screen.resize(columns)
    with console.show_step("Trainer"):
        console.event(RECORD)
        clock.now += 35
        console.tick()
        shown = visible(screen.read())
    assert len(shown) < columns
    assert ("step 500/1,000" in shown) == (columns > 60)
    assert ("1:02 left" in shown) == (columns > 30)
    assert ("12k examples/s" in shown) == (columns > 100)


def test_eighty_columns_have_room_for_what_is_read_how_fast_and_how_long(console, screen, clock):
    screen.resize(80)
    with console.show_step("CsvExampleGen"):
        reading = {"doing": "reading", "count": 763_778, "total": 1_500_356, "unit": "rows"}
        fast = {"is_about": True, "per_second": 25_231.0, "seconds_left": 29.2}
        console.event({"kind": "progress", **reading, **fast})
        clock.now += 30
        console.tick()
        shown = visible(screen.read())
    assert re.sub(" +", " ", shown.replace("╺", "━")) == (
        "CsvExampleGen ━━━━━━━━━━ reading 763,778/~1.5M rows 25k/s 0:30 0:30 left"
    )


def test_a_step_is_on_the_terminal_before_it_reports_anything(console, screen, clock):
    with console.show_step("Evaluator"):
        clock.now += 0.2
        console.tick()
        assert "Evaluator" in visible(screen.read())
    assert "Evaluator" not in visible(screen.read()), "it is gone with the step"


def test_the_live_line_is_redrawn_in_place(console, screen):
    with console.show_step("Trainer"):
        for step in (500, 501):
            console.event({**RECORD, "step": step})
            console.tick()
        shown = screen.read()
    first, second = shown.split("\r\x1b[2K")
    assert "step 500/1,000" in visible(first)
    assert "step 501/1,000" in visible(second)
    assert "\n" not in shown


def test_output_goes_above_the_live_line(console, screen, clock):
    with console.show_step("Trainer"):
        console.event(RECORD)
        console.tick()
        screen.read()
        clock.now += 3600
        console.output(b"hello\n", error=False)
        output = screen.read()
        console.step("[1/2] done")
        runner = screen.read()
    assert output.index("\x1b[2K") < output.index("hello\r\n") < output.index("Trainer")
    assert runner.rstrip().endswith("[1/2] done")


def test_many_lines_of_output_do_not_redraw_the_live_line_each_time(console, screen):
    with console.show_step("Trainer"):
        console.tick()
        screen.read()
        for _ in range(100):
            console.output(b"hello\n", error=False)
        assert screen.read().count("Trainer") <= 1


def test_a_half_line_is_finished_before_the_live_line_comes_back(console, screen):
    with console.show_step("Trainer"):
        console.output(b"loading", error=True)
        console.tick()
        console.output(b" done\n", error=True)
        assert "loading done\r\n" in screen.read()


def test_a_half_line_that_stays_open_gets_the_live_line_below_it(console, screen, clock):
    with console.show_step("Trainer"):
        console.tick()
        screen.read()
        console.output(b"loading", error=True)
        clock.now += 2
        console.tick()
        assert "loading\r\n" in screen.read()


def test_an_output_of_nothing_is_no_half_line(console, screen):
    with console.show_step("Trainer"):
        console.output(b"", error=True)
        console.step("[1/1] Trainer done")
        assert screen.read() == "[1/1] Trainer done\r\n"


def test_a_narrower_window_leaves_nothing_of_the_old_line(console, screen):
    with console.show_step("Trainer"):
        console.event(RECORD)
        console.tick()
        screen.read()
        screen.resize(40)
        console.tick()
        assert screen.read().startswith("\x1b[2K\x1b[A" * 2)


def test_a_line_per_epoch_stays_on_the_terminal_as_in_a_log(console, screen, log):
    plain, text = log
    for one in (console, plain):
        with one.show_step("Trainer"):
            for step in range(1, 100):
                one.event({**RECORD, "step": step})
            validated = {**RECORD, "step": 100, "metrics": {"loss": 1.0, "val_loss": 2.0}}
            one.event({**validated, "epoch_end": True})
            one.event({**validated, "done": True})
    said = "Trainer: step 100/1,000, epoch 2/4, loss 1.0000, val_loss 2.0000, 0:00 elapsed"
    assert visible(screen.read()).splitlines() == [f"{said}, 1:02 left, 12,346 examples/s"]
    assert text.getvalue().splitlines() == [
        f"{said}, 1:02 left, 12,346 examples/s, 3% waiting for input"
    ]


@pytest.mark.parametrize("ends", ["by itself", "with another phase", "with an error"])
def test_the_last_step_of_a_loop_stays_in_sight(log, ends):
    console, text = log
    with contextlib.suppress(KeyError), console.show_step("Trainer"):
        console.event({"kind": "progress", "step": 7, "metrics": {"loss": 0.5}})
        if ends == "with another phase":
            console.event({"kind": "progress", "doing": "checking the model"})
        if ends == "with an error":
            raise KeyError
    assert text.getvalue() == "Trainer: step 7, loss 0.5000, 0:00 elapsed\n"


def test_a_log_names_a_step_within_a_second_unless_it_is_over_by_then(log, clock):
    console, text = log
    with console.show_step("SchemaGen"):
        clock.now += 0.5
        console.tick()
    with console.show_step("Trainer"):
        console.event({"kind": "progress", "doing": "importing TensorFlow"})
        clock.now += 0.9
        console.tick()
    assert text.getvalue() == "Trainer: importing TensorFlow, 0:00 elapsed\n"


def test_a_log_gets_a_line_every_few_seconds_at_first_and_every_minute_later(log, clock):
    console, text = log
    reading = {"kind": "progress", "doing": "reading", "count": 1, "unit": "rows"}
    with console.show_step("CsvExampleGen"):
        pass_time(console, clock, 20, event=reading)
        at_first = len(text.getvalue().splitlines())
        pass_time(console, clock, 3600, event=reading)
    assert at_first in (4, 5)
    assert 55 < len(text.getvalue().splitlines()) < 80


def test_a_minute_of_silence_is_said(log, clock, console, screen):
    plain, text = log
    for one in (plain, console):
        with one.show_step("Trainer"):
            one.event({"kind": "progress", "doing": "running run_fn"})
            pass_time(one, clock, 61)
            shown = visible(screen.read()) if one is console else text.getvalue()
        assert "nothing reported for 1:00" in shown


def test_who_prints_is_not_interrupted_by_bare_signs_of_life(log, clock):
    console, text = log
    with console.show_step("Trainer"):
        for _ in range(300):
            clock.now += 0.1
            console.output(b"my own line\n", error=False)
            pass_time(console, clock, 1)
    assert text.getvalue() == ""


def test_a_debugger_has_the_terminal_to_itself(console, screen, clock):
    with console.show_step("Trainer", live=False):
        console.event({"kind": "progress", "doing": "running run_fn"})
        clock.now += 2
        console.event({**RECORD, "step": 1})
    shown = screen.read()
    assert shown.startswith("Trainer: step 1/1,000")
    assert "\x1b" not in shown


def test_a_terminal_that_cannot_erase_is_a_log(screen, clock, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    console = Console(screen.stream, screen.stream, clock=clock)
    with console.show_step("Trainer"):
        clock.now += 2
        console.tick()
    assert screen.read() == "Trainer: looking at its inputs, 0:02 elapsed\r\n"


def test_a_step_is_shown_while_nobody_calls(screen, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    with Console(screen.stream, screen.stream).show_step("Pusher"):
        time.sleep(0.5)
        assert "Pusher" in visible(screen.read())


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


def test_steps_that_run_beside_each_other_have_a_live_line_each(console, screen, clock):
    with console.show_step("Trainer"), console.show_step("StatisticsGen"):
        console.watch("Trainer").event(RECORD)
        console.watch("StatisticsGen").event({"kind": "progress", "doing": "counting"})
        clock.now += 35
        console.tick()
        shown = visible(screen.read())
    first, second = shown.strip().splitlines()
    assert first.startswith("Trainer")
    assert "step 500/1,000" in first
    assert second.startswith("StatisticsGen")
    assert "counting" in second


def test_a_step_that_ends_leaves_the_line_of_the_other(console, screen, clock):
    with console.show_step("Trainer"):
        with console.show_step("Pusher"):
            console.tick()
        screen.read()
        clock.now += 1
        console.tick()
        shown = visible(screen.read())
    assert "Trainer" in shown
    assert "Pusher" not in shown


def test_what_steps_print_beside_each_other_is_whole_lines_with_their_names(clock):
    out = io.StringIO()
    console = Console(out, io.StringIO(), clock=clock)
    one, two = console.watch("one"), console.watch("two")
    with console.show_step("one"):
        one.output(b"alone\n", error=False)
        with console.show_step("two"):
            one.output(b"first ", error=False)
            two.output(b"second\nhalf", error=False)
            one.output(b"line\n", error=False)
        assert out.getvalue() == "alone\ntwo: second\none: first line\ntwo: half\n"
        one.output(b"alone again\n", error=False)
    assert out.getvalue().endswith("alone again\n")


def test_what_the_runner_says_is_about_the_step_that_it_is_at(log, clock):
    console, text = log
    with console.show_step("one"), console.show_step("two"):
        console.turn_to("one")
        console.event({"kind": "progress", "doing": "publishing its outputs"})
        pass_time(console, clock, 2)
    assert "one: publishing its outputs" in text.getvalue()
    assert "two: looking at its inputs" in text.getvalue()
