# SPDX-License-Identifier: Apache-2.0
import os
import pty
import subprocess
import sys

import pytest

from stoker.cli.printing import print_answer, print_pairs, print_table, readable_duration
from stoker.views.table import Table, readable_size

DRAW = """
from stoker.cli.printing import print_table
from stoker.views.table import Table
print_table(Table(columns=("name", "path"), rows=[("a", "[bold]/x[/bold]")], title="files"))
"""


def test_plain_text_is_aligned(capsys):
    print_table(Table(columns=("name", "size"), rows=[("a", "1"), ("longer", "2")]))
    assert capsys.readouterr().out == "NAME    SIZE\na       1\nlonger  2\n"


def test_a_table_without_rows_still_says_its_columns(capsys):
    print_table(Table(columns=("name", "size"), rows=[]))
    assert capsys.readouterr().out == "NAME  SIZE\n"


def test_a_terminal_gets_a_drawn_table_with_text_as_it_is():
    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    subprocess.run([sys.executable, "-c", DRAW], stdout=theirs, check=True, env=environ)
    os.close(theirs)
    drawn = os.read(ours, 65536).decode()
    os.close(ours)
    assert "─────" in drawn
    assert "[bold]/x[/bold]" in drawn


def test_values_of_several_lines_stay_in_their_column(capsys):
    print_pairs({"a": "1", "long": "2\n3"})
    assert capsys.readouterr().out == "a     1\nlong  2\n      3\n"


def test_json_never_shows_a_secret(capsys):
    print_answer({"deep": [{"token": "abracadabra"}]}, as_json=True)
    assert "abracadabra" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("num_bytes", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (3 * 10**12, "3.0 TB")]
)
def test_sizes_are_readable(num_bytes, text):
    assert readable_size(num_bytes) == text


@pytest.mark.parametrize(("ms", "text"), [(310, "0.31 s"), (125_400, "2 min 05 s")])
def test_durations_are_readable(ms, text):
    assert readable_duration(ms) == text
