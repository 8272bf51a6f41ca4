# SPDX-License-Identifier: Apache-2.0
"""Lines of our own show what would steer a terminal."""

import ast
import io
import sys
from pathlib import Path

import pytest

import stoker
from stoker.any_python.lines import escape_controls, say
from stoker.errors import BadData, StepFailed

FOLDER = Path(stoker.__file__).parent
DOORS = {"any_python/lines.py"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("title \x1b]0;x\x07", r"title \x1b]0;x\x07"),
        ("over\rwritten\b", r"over\rwritten\x08"),
        ("\x9b1m c1", r"\x9b1m c1"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("half \udcff", r"half \udcff"),
        ("nul \0", r"nul \x00"),
    ],
)
def test_what_would_steer_a_terminal_is_shown(text, shown):
    assert escape_controls(text) == shown
    assert escape_controls(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "two\nlines\tand a tab",
        "schön 학습 データ　 é",
        "a\u200db",
        "[red]x[/red]",
        "━━ └─",
        r"\x1b",
    ],
)
def test_all_else_stays(text):
    assert escape_controls(text) == text


def test_errors_of_ours_are_escaped_wherever_they_are_shown():
    assert str(BadData("column \x1b[2J")) == r"column \x1b[2J"
    assert str(StepFailed("column \x1b[2J", "traceback")) == r"column \x1b[2J"


@pytest.mark.parametrize("stream", [None, object(), io.StringIO()])
def test_a_line_fails_nothing_whatever_the_stream_is(stream, monkeypatch):
    if isinstance(stream, io.StringIO):
        stream.close()
    monkeypatch.setattr(sys, "stdout", stream)
    say("hello")


def find_prints(file):
    tree = ast.parse(file.read_text())
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if getattr(call.func, "id", "") == "print"]


def test_no_line_of_ours_goes_past_the_door():
    found = {str(file.relative_to(FOLDER)): find_prints(file) for file in FOLDER.rglob("*.py")}
    assert {file for file, lines in found.items() if lines} == DOORS
