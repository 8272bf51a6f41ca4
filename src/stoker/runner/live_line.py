# SPDX-License-Identifier: Apache-2.0
"""The lines at the bottom of a terminal that say what the running steps do, drawn by rich.

Only who has a terminal, and a step that takes a while, imports this.
"""

import io
from collections.abc import Iterable, Sequence
from typing import IO, Protocol, cast

from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from stoker.any_python.lines import escape_controls
from stoker.views.progress_lines import LiveStep

_WIDE = 100
_ROOM_FOR_KEYS = 3
"""Columns for what the terminal adds by itself, such as `^C`; else it would begin a new line."""
_ERASE_AND_UP = "\x1b[2K\x1b[A"


class Terminal(Protocol):
    """What is drawn on."""

    encoding: str

    def write(self, data: bytes) -> None:
        """Show it now."""

    def size(self) -> tuple[int, int]:
        """How many columns and lines there are."""


class LiveLine:
    """Lines, one for each step, that stay below everything else until they are cleared."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._console = Console(
            file=cast("IO[str]", _File(terminal)),
            force_terminal=True,
            force_interactive=True,
            legacy_windows=False,
        )
        self._spinner = Spinner("dots")
        self._lines: RenderableType = ""
        self._num_lines = 0
        self._live: Live | None = None

    def draw(self, steps: Sequence[LiveStep]) -> None:
        """Show these instead of what was shown: a bar if the share is known, and all that fits."""
        self._fit_to_window()
        bar_width = 20 if self._console.width >= _WIDE else 10
        lines = Table.grid(padding=(0, 1), expand=True)
        lines.add_column(no_wrap=True, style="bold")
        lines.add_column(no_wrap=True)
        lines.add_column(no_wrap=True, ratio=1)
        lines.add_column(no_wrap=True, justify="right", style="progress.elapsed")
        shown = steps[: max(1, self._console.size.height - 1)]
        for step in shown:
            bar = ProgressBar(1.0, step.share, width=bar_width) if step.share is not None else None
            times = Text("  ".join(step.times), no_wrap=True)
            name = escape_controls(step.name)
            lines.add_row(name, bar or self._spinner, _WhatFits(step.facts), times)
        self._lines, self._num_lines = lines, len(shown)
        if self._live is None:
            self._live = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                get_renderable=lambda: self._lines,
            )
            self._live.start()
        self._live.refresh()

    def clear(self) -> None:
        """Take the lines off the screen."""
        if self._live is not None:
            self._fit_to_window()
            self._lines = ""  # they are drawn once more before they go
            self._live.stop()
            self._live = None  # one that was stopped would erase what is printed in its place

    def _fit_to_window(self) -> None:
        """Know the width; where a narrower window has broken lines, go up to where they began."""
        columns, lines = self._terminal.size()
        if self._live is not None and columns <= self._console.width:
            rows_above = self._num_lines * ((self._console.width - 1) // columns)
            self._terminal.write((_ERASE_AND_UP * rows_above).encode())
        self._console.size = ConsoleDimensions(max(1, columns - _ROOM_FOR_KEYS), lines)


class _WhatFits:
    """Parts of a line, as many as there is room for."""

    def __init__(self, parts: Iterable[str]) -> None:
        self._parts = [escape_controls(part) for part in parts]

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        line = ""
        for part in self._parts:
            longer = f"{line}  {part}" if line else part
            if line and cell_len(longer) > options.max_width:
                break
            line = longer
        yield Text(line, no_wrap=True, overflow="ellipsis")


class _File(io.TextIOBase):
    """A terminal as rich writes to it."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._terminal.encoding

    def write(self, text: str) -> int:
        self._terminal.write(text.encode(self.encoding, "replace"))
        return len(text)
