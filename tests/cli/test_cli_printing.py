# SPDX-License-Identifier: Apache-2.0
import os
import pty
import subprocess
import sys

import pytest

from stoker.cli.printing import print_answer, print_line, readable_duration
from stoker.views.table import Table, readable_size

DRAW = """
from stoker.cli.printing import print_answer
from stoker.views.table import Table
table = Table(columns=("name", "[red]path"), rows=[("a", "[bold]/x[/bold]")], title="[i]files")
print_answer(None, table, as_json=False)
"""


def print_text(part):
    print_answer(None, part, as_json=False)


def test_plain_text_is_aligned(capsys):
    print_text(Table(columns=("name", "size"), rows=[("a", "1"), ("longer", "2")]))
    assert capsys.readouterr().out == "NAME    SIZE\na       1\nlonger  2\n"


def test_a_table_without_rows_still_says_its_columns(capsys):
    print_text(Table(columns=("name", "size"), rows=[]))
    assert capsys.readouterr().out == "NAME  SIZE\n"


def test_a_terminal_gets_a_drawn_table_with_text_as_it_is():
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    subprocess.run([sys.executable, "-c", DRAW], stdout=theirs, check=True, env=environ)
    os.close(theirs)
    drawn = os.read(ours, 65536).decode()
    os.close(ours)
    assert "─────" in drawn
    for text in ("[bold]/x[/bold]", "[red]path", "[i]files"):
        assert text in drawn


def test_values_of_several_lines_stay_in_their_column(capsys):
    print_text({"a": "1", "long": "2\n3"})
    assert capsys.readouterr().out == "a     1\nlong  2\n      3\n"


def test_json_never_shows_a_secret(capsys):
    print_answer({"deep": [{"token": "abracadabra"}]}, as_json=True)
    assert "abracadabra" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "part",
    [
        "cannot reach postgres://me:abracadabra@host",
        {"error": "login(password='abracadabra')"},
        Table(columns=("name", "value"), rows=[("uri", "https://h/?sig=abracadabra")]),
        "the server said: abracadabra is wrong",
    ],
)
def test_text_never_shows_a_secret(part, capsys, monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "abracadabra")
    print_text(part)
    out = capsys.readouterr().out
    assert "abracadabra" not in out
    assert "***" in out


@pytest.mark.parametrize(
    "part",
    [
        "file \x1b[2J\x1b[31mx\r",
        {"run": "\x1b]0;title\x07"},
        Table(columns=("\x1b[1mname", "b"), rows=[("a\x1b[0m", "1\n2\t3")], title="\x9b1m"),
    ],
)
def test_what_would_steer_the_terminal_is_shown_escaped(part, capsys):
    print_text(part)
    out = capsys.readouterr().out
    assert "\\x" in out
    assert out.rstrip("\n").replace("\n", "").isprintable()


def test_an_error_is_cleaned_too(capsys):
    print_line("stoker: \x1b[31mno file \u202egpj.exe; token=abracadabra", error=True)
    assert capsys.readouterr().err == "stoker: \\x1b[31mno file \\u202egpj.exe; token=***\n"


@pytest.mark.parametrize(
    ("num_bytes", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (3 * 10**12, "3.0 TB")]
)
def test_sizes_are_readable(num_bytes, text):
    assert readable_size(num_bytes) == text


@pytest.mark.parametrize(("ms", "text"), [(310, "0.31 s"), (125_400, "2 min 05 s")])
def test_durations_are_readable(ms, text):
    assert readable_duration(ms) == text
