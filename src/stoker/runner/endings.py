# SPDX-License-Identifier: Apache-2.0
"""How a run that failed or was stopped is told: by what matters to its user, without our frames."""

import contextlib
import functools
import os
import re
import sys
import traceback
from collections.abc import Iterator
from itertools import groupby
from types import TracebackType

from stoker.any_python.failures import WHOLE_TRACEBACK, print_briefly
from stoker.any_python.own_code import STOKER_DIR
from stoker.dsl.component import BaseComponent, Node
from stoker.errors import StepFailed, StokerError
from stoker.launchers.step_log import StepLog
from stoker.runner.console import Console
from stoker.task import Failure
from stoker.views.table import readable_path

_FRAME = re.compile(r'^ *File "(?P<path>[^"]*)", line (?P<line>\d+)')
_AUTOGRAPH = "__autograph_generated_file"
"""In the names of the files that TensorFlow makes of the user's functions."""
_PACKAGE = re.compile(r"/(?:site|dist)-packages/(\w+)")
_STANDARD_LIBRARY = os.path.dirname(os.__file__)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# What Keras and TensorFlow put before what is wrong: the layer, the node, the generated code.
_FUNCTION_NODE = re.compile(
    r"\{\{function_node [^}]*\}\}\s*"
    r"|Error in user-defined function passed to \S+ transformation with iterator: \S+: "
)
_AROUND = ("Exception encountered when calling", "Graph execution error", "in user code:")
_OF_GRAPH = re.compile(r"Detected at node|\s*File |<stack traces|\s*\[\[|Errors may have|\(\d\) ")
_ERROR_LINE = re.compile(r"\s*(?:[\w.]+\.)?\w*(?:Error|Exception|Interrupt): (?P<what>.+)")
_FEW = 2
_MOST_SHOWN = 20_000
"""How many characters of an error are shown and recorded."""


def make_stop(node: Node, saved_step: int | None = None) -> KeyboardInterrupt:
    """What to raise where a run is stopped: with a class of ours, Python would leave with 1."""
    if saved_step is not None:
        return KeyboardInterrupt(
            f"Stopped. The training is saved at step {saved_step:,}; run the same command to "
            "resume."
        )
    resumes = isinstance(node, BaseComponent) and node.RESUMABLE
    what = "resume" if resumes else "go on"
    return KeyboardInterrupt(f"Stopped in {node.id}. Run the same command to {what}.")


def tell_failure(
    failure: Failure, node: Node, log_file: str, console: Console, advice: str
) -> StepFailed:
    """The error to raise. The user's own traceback is shown first; the log has it as well."""
    message, traceback = (
        strip_colours(console.secrets.mask(text)) for text in (failure.message, failure.traceback)
    )
    whole = (traceback or message).rstrip()
    log = StepLog(log_file, console)
    log.write(f"{whole}\n".encode(errors="backslashreplace"))
    log.close()
    if traceback:
        shown = whole if is_all_wanted() else fold_frames(whole)
        console.failure(shorten(shown, log_file))
        message = find_point(message)  # all of it has just been printed
    lines = [
        f"{node.id} failed: {failure.kind}: {shorten(message, log_file)}",
        failure.hint,
        find_users_line(traceback),
        f"Log: {readable_path(log_file)}",
        advice,
    ]
    return StepFailed("\n".join(filter(None, lines)), shorten(traceback, log_file))


@contextlib.contextmanager
def end_briefly() -> Iterator[None]:
    """Let a program that does not catch our errors end with what they say; the frames are ours.

    Whoever has a hook of their own keeps it.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        is_ours = isinstance(error, StokerError | KeyboardInterrupt) or _is_raised_by_us(error)
        is_free = sys.excepthook in (sys.__excepthook__, print_briefly)
        if is_ours and is_free and not is_all_wanted():
            sys.excepthook = functools.partial(_print_briefly, error)
        raise


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


def is_all_wanted() -> bool:
    """Whether the user asked for all frames."""
    return bool(os.environ.get(WHOLE_TRACEBACK))


def _is_raised_by_us(error: BaseException) -> bool:
    """Whether it is we who raised it, such as for a wrong argument, and not the user's code."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return bool(frames) and frames[-1][0].f_code.co_filename.startswith(STOKER_DIR + os.sep)


def strip_colours(text: str) -> str:
    """A text without the marks by which Keras makes parts of its messages bold."""
    return _COLOUR.sub("", text)


def find_point(message: str) -> str:
    """The line of a message that says what is wrong; Keras and TensorFlow begin with where."""
    lines = _FUNCTION_NODE.sub("", message.strip()).splitlines()
    while len(lines) > 1 and lines[0].startswith(_AROUND):
        rest = [line for line in lines[1:] if line.strip()]
        if lines[0].startswith("in user code:"):
            told = [place for place, line in enumerate(rest) if _ERROR_LINE.fullmatch(line)]
            if told and (last := _ERROR_LINE.fullmatch(rest[told[-1]])):
                rest = [last["what"], *rest[told[-1] + 1 :]]
        elif lines[0].startswith("Graph execution error"):
            rest = [line for line in rest if not _OF_GRAPH.match(line)] or rest
        if not rest:
            break
        lines = [rest[0].strip(), *rest[1:]]
    return lines[0] if lines else ""


def find_users_line(text: str) -> str:
    """The last line of the user's own in a traceback: where it is, and what it says."""
    for frame in reversed(_split(text)):
        found = _FRAME.match(frame[0])
        if found and not _is_library(found["path"]) and _AUTOGRAPH not in found["path"]:
            where = f"{readable_path(found['path'])}, line {found['line']}"
            return ": ".join([where, *(line.strip() for line in frame[1:2])])
    return ""


def _is_library(path: str) -> bool:
    """Whether a frame is of a package, of Python itself or ours, and not of the user's code."""
    installed = _PACKAGE.search(path) or path.startswith((_STANDARD_LIBRARY, "<"))
    return bool(installed) or _is_ours(path)


def _is_ours(path: str) -> bool:
    package = _PACKAGE.search(path)
    return path.startswith(STOKER_DIR + os.sep) or bool(package and package[1] == "stoker")


def fold_frames(text: str) -> str:
    """A traceback without our frames, and with many of installed packages as one line."""
    parts = [part for part in _split(text) if not _is_frame_of_ours(part[0])]
    return "".join(
        _fold(frames) if package else "".join(map("".join, frames))
        for package, frames in _group(parts)
    )


def _is_frame_of_ours(line: str) -> bool:
    frame = _FRAME.match(line)
    return bool(frame and _is_ours(frame["path"]))


def _group(parts: list[list[str]]) -> Iterator[tuple[bool, list[list[str]]]]:
    for package, frames in groupby(parts, key=lambda part: bool(_find_package(part[0]))):
        yield package, list(frames)


def _split(text: str) -> list[list[str]]:
    """Frames with the lines that belong to them; any other line by itself."""
    parts: list[list[str]] = []
    in_frame = False
    for line in text.splitlines(keepends=True):
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
    if frame and _AUTOGRAPH in frame["path"]:
        return "tensorflow"
    found = frame and _PACKAGE.search(frame["path"])
    return found[1] if found else ""


def _fold(frames: list[list[str]]) -> str:
    if len(frames) <= _FEW:
        return "".join(map("".join, frames))
    packages = dict.fromkeys(_find_package(frame[0]) for frame in frames)
    return f"  … {len(frames)} frames in {', '.join(packages)}\n"


def shorten(text: str, log_file: str) -> str:
    """The beginning and the end of a text that is too long to be read; the log has all of it."""
    half = _MOST_SHOWN // 2
    if len(text) <= _MOST_SHOWN:
        return text
    left_out = f"… {len(text) - 2 * half:,} characters, which are in {log_file} …"
    return f"{text[:half]}\n{left_out}\n{text[-half:]}"
