# SPDX-License-Identifier: Apache-2.0
"""The form of what is shown as text: every command prints these."""

import contextlib
import datetime
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from stoker.any_python.lines import escape_controls

CELL_WIDTH = 40
"""How many characters of a long text a terminal shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of text under their columns' names."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""

    def to_record(self) -> dict[str, Any]:
        """This table as JSON."""
        return asdict(self)

    def escape(self) -> Self:
        """This table for a terminal: every cell on one line, and without control characters."""
        return type(self)(
            columns=[_escape_cell(name) for name in self.columns],
            rows=[[_escape_cell(cell) for cell in row] for row in self.rows],
            title=_escape_cell(self.title),
        )

    def lines(self) -> Iterator[str]:
        """This table as plain text, its columns aligned."""
        table = self.escape()
        if table.title:
            yield table.title
        rows = [[name.upper() for name in table.columns], *table.rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            yield "  ".join(cells).rstrip()


def _escape_cell(text: str) -> str:
    return escape_controls(text).replace("\n", "\\n").replace("\t", "\\t")


def readable_size(num_bytes: int) -> str:
    """A number of bytes in the unit that suits it."""
    size = float(num_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def readable_path(path: str) -> str:
    """A path as it is from here, where it lies below here."""
    with contextlib.suppress(FileNotFoundError):  # the folder that this process is in may be gone
        return path.removeprefix(os.getcwd() + os.sep)
    return path


def readable_number(number: float) -> str:
    """A number with as many digits as tell something."""
    return f"{number:.4g}" if abs(number) < 1e4 or not math.isfinite(number) else f"{number:.3e}"


def readable_duration(milliseconds: int) -> str:
    """A duration in seconds, or in minutes and seconds."""
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def readable_time(milliseconds: int) -> str:
    """A moment since the epoch as the date and time of this place."""
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000)
    return moment.isoformat(sep=" ", timespec="seconds")


def one_line(value: Any) -> str:
    """A value on one line: a text without its line breaks, or JSON."""
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value)


def shorten(text: str, width: int = CELL_WIDTH) -> str:
    """A text on one line of so many characters at most."""
    line = one_line(text)
    return line if len(line) <= width else line[: width - 1] + "…"
