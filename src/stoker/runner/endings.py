# SPDX-License-Identifier: Apache-2.0
"""How a run that failed or was stopped is told: by what matters to its user, without our frames."""

import functools
import os
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from types import TracebackType

from stoker.any_python.failures import WHOLE_TRACEBACK
from stoker.dsl.component import BaseComponent, Node

_FRAME = re.compile(r'^ *File "(?P<path>[^"]*)", line \d+')
_PACKAGE = re.compile(r"/(?:site|dist)-packages/(\w+)")
_FEW = 2


def make_stop(node: Node) -> KeyboardInterrupt:
    """What to raise where a run is stopped: with a class of ours, Python would leave with 1."""
    resumes = isinstance(node, BaseComponent) and node.RESUMABLE
    what = "resume" if resumes else "go on"
    return KeyboardInterrupt(f"Stopped in {node.id}. Run the same command to {what}.")


def end_briefly(error: BaseException) -> None:
    """Let a program that does not catch `error` end with what it says; the frames are ours.

    Whoever has a hook of their own keeps it.
    """
    if sys.excepthook is sys.__excepthook__ and not os.environ.get(WHOLE_TRACEBACK):
        sys.excepthook = functools.partial(_print_briefly, error)


def _print_briefly(
    ours: BaseException,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    if error is ours:
        sys.stderr.write(f"stoker: {str(error) or 'Stopped.'}\n")
    else:
        sys.__excepthook__(kind, error, trace)


def fold_frames(traceback: str) -> str:
    """A traceback in which the frames of installed packages are one line, where they are many."""
    return "".join(
        _fold(frames) if package else "".join(map("".join, frames))
        for package, frames in _group(_split(traceback))
    )


def _group(parts: list[list[str]]) -> Iterator[tuple[bool, list[list[str]]]]:
    for package, frames in groupby(parts, key=lambda part: bool(_find_package(part[0]))):
        yield package, list(frames)


def _split(traceback: str) -> list[list[str]]:
    """Frames with the lines that belong to them; any other line by itself."""
    parts: list[list[str]] = []
    in_frame = False
    for line in traceback.splitlines(keepends=True):
        if _FRAME.match(line):
            in_frame = True
            parts.append([line])
        elif in_frame and line.startswith("    "):
            parts[-1].append(line)
        else:
            in_frame = False
            parts.append([line])
    return parts


def _find_package(line: str) -> str:
    frame = _FRAME.match(line)
    found = frame and _PACKAGE.search(frame["path"])
    return found[1] if found else ""


def _fold(frames: list[list[str]]) -> str:
    if len(frames) <= _FEW:
        return "".join(map("".join, frames))
    packages = dict.fromkeys(_find_package(frame[0]) for frame in frames)
    return f"  … {len(frames)} frames in {', '.join(packages)}\n"
