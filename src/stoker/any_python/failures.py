# SPDX-License-Identifier: Apache-2.0
"""What went wrong in a task, as a Failure that the runner shows: the user's own traceback."""

from __future__ import annotations

import linecache
import os
import re
import sys
import traceback
from types import TracebackType
from typing import Callable, Iterable

from .layout import SERVING_MODEL_DIR
from .lines import did_you_mean, escape_controls
from .own_code import HERE, OUR_PLACES

WHOLE_TRACEBACK = "STOKER_TRACEBACK"
"""The variable that lets programs and notebooks show all frames, as Python does."""
_NEAR = 3
"""Of the frames that an error went through, those that may know what was meant."""
CRASH = b"Fatal Python error: "
"""How the stack begins that a process leaves which a signal kills."""
_THREAD = re.compile(r"^(?=(?:Current thread|Thread) 0x)", re.MULTILINE)
_MISSING_NAME = re.compile(r"(?:KeyError: '|Feature: )([^' ]+)(?:'| \(data type)")
_BAD_INPUT_NAMES = ("is not a valid parameter name", "non-unique argument names for SavedModel")
_CRASH_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')
HOW_TO_DEBUG = (
    "A step runs in a process of its own, without a terminal. To debug, run all steps in one: "
    "stoker run --debug FILE, or LocalDagRunner(InProcess()) of stoker."
)


class StokerError(Exception):
    """The base of every error that a failed run raises."""

    def __str__(self) -> str:
        return escape_controls(super().__str__())  # it may quote data

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the sentence, which says all, and not the way through our code."""
        if os.environ.get(WHOLE_TRACEBACK):
            return traceback.format_exception(type(self), self, self.__traceback__)
        return [f"{type(self).__name__}: {self}"]


def tell_errors_briefly() -> None:
    """Let a program end with what an error of ours says, and the user's line; the frames are ours.

    Whoever has a hook of their own keeps it.
    """
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = print_briefly


def print_briefly(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """The hook: other errors, and ours where all frames are wanted, are printed as Python does."""
    if not isinstance(error, StokerError) or os.environ.get(WHOLE_TRACEBACK):
        sys.__excepthook__(kind, error, trace)
        return
    sys.stderr.write(f"stoker: {error}\n")
    own = [one for one in traceback.extract_tb(trace) if not _is_of_a_library(one.filename)]
    if own:
        place = os.path.relpath(own[-1].filename)
        sys.stderr.write(f"{place}, line {own[-1].lineno}: {own[-1].line}\n")


def _is_of_a_library(file: str) -> bool:
    return file.startswith(("<frozen", *OUR_PLACES)) or "site-packages" in file


class NothingWritten(StokerError):
    """A step ended without writing an output that it owes."""


def describe(error: BaseException, *, ours: str = HERE, hint: str = "") -> dict[str, str]:
    """An error as the fields of a Failure; `ours` is the folder whose frames are not shown."""
    return {
        "kind": type(error).__name__,
        "message": str(error) or type(error).__name__,
        "traceback": _format_users_traceback(error, ours),
        "hint": hint,
    }


def _format_users_traceback(error: BaseException, ours: str) -> str:
    """The traceback from the first line that is not ours; none for errors that we raise for users.

    A syntax error has no frame in the user's file, but its text names the file and the line.
    """
    frames = error.__traceback__
    while frames and _is_ours(frames.tb_frame.f_code.co_filename, ours):
        frames = frames.tb_next
    if frames is None:
        if isinstance(error, SyntaxError):
            return "".join(traceback.format_exception_only(type(error), error))
        if isinstance(error, (StokerError, ValueError, TypeError)):
            return ""
    return "".join(traceback.format_exception(type(error), error, frames or error.__traceback__))


def _is_ours(filename: str, ours: str) -> bool:
    return filename.startswith(ours + os.sep) or "importlib" in filename


def missing_module_hint(error: BaseException) -> str:
    """Where to install a package that this interpreter lacks, or an empty string."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return (
            f"{error.name} is not in {sys.executable}. If it is a package, install it there: "
            f"{sys.executable} -m pip install NAME; if it is a file of yours, put it beside the "
            "module."
        )
    return ""


def missing_folder_hint(error: BaseException) -> str:
    """What to do where a model is written into a folder that its module has not made."""
    path = getattr(error, "filename", None)
    if not (isinstance(error, FileNotFoundError) and isinstance(path, str)):
        return ""
    folder = os.path.dirname(path)
    if SERVING_MODEL_DIR not in folder.split(os.sep) or os.path.isdir(folder):
        return ""
    return f"There is no folder {folder}. Make it first: os.makedirs(…, exist_ok=True)."


def input_hint(error: BaseException) -> str:
    """What to do where files or columns are read as something else than they are."""
    if "corrupted record at 0 " in str(error):
        return (
            "Examples are gzip files here, as in TFX, and these were read as plain ones. Read them "
            "so: tf.data.TFRecordDataset(files, compression_type='GZIP')."
        )
    if "Cast string to " in str(error):
        return (
            "A label or a feature is text. Make numbers of it before the model sees it: "
            "tf.keras.layers.StringLookup(vocabulary=[…], num_oov_indices=0)(label)."
        )
    if any(words in str(error) for words in _BAD_INPUT_NAMES):
        return (
            "A saved model's inputs have names as in Python: letters, digits and _, no word of its "
            "own. Rename the column, or the input: tf.keras.Input(…, name='has_balcony')."
        )
    if not isinstance(error, (TypeError, ValueError)) or "SparseTensor" not in str(error):
        return ""
    return (
        "What some examples lack is a SparseTensor. Fill it before the model sees it: "
        "tf.sparse.to_dense(tf.sparse.reset_shape(column, [column.dense_shape[0], 1]))."
    )


def near_name_hint(
    error: BaseException, list_features: Callable[[], Iterable[str]] = lambda: ()
) -> str:
    """The name that was meant by one that is not there: a key of a dict at hand, or a feature."""
    name = _find_missing_name(error)
    if not name:
        return ""
    return (did_you_mean(name, _list_keys(error)) or did_you_mean(name, list_features())).lstrip()


def _find_missing_name(error: BaseException) -> str:
    """The key of a KeyError, also of one in a graph; the feature that an example has not."""
    key = error.args[0] if isinstance(error, KeyError) and error.args else None
    if isinstance(key, str) and not key.startswith("in user code"):
        return key
    found = _MISSING_NAME.findall(str(error))
    return found[-1] if found else ""


def _list_keys(error: BaseException) -> list[str]:
    """The keys of the dicts that the innermost frames of an error have."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    known = {
        key
        for frame in frames[-_NEAR:]
        for value in list(frame.f_locals.values())
        if isinstance(value, dict)
        for key in list(value)
        if isinstance(key, str)
    }
    return sorted(known)


def debugger_hint(error: BaseException) -> str:
    """How to debug, for one whose debugger found no terminal; or an empty string."""
    has_terminal = sys.stdin is not None and sys.stdin.isatty()
    return HOW_TO_DEBUG if type(error).__name__ == "BdbQuit" and not has_terminal else ""


def order_crash(text: str) -> str:
    """The stack that a killed process left, ordered as a traceback: the last call comes last."""
    what, *threads = _THREAD.split(text.partition(CRASH.decode())[2])
    known = [thread for thread in threads if _CRASH_FRAME.search(thread)]
    # What is killed in a thread of C++'s has no frames: the main thread, which comes last, waits.
    current = next((one for one in known if one.startswith("Current")), "".join(known[-1:]))
    lines = ["Traceback (most recent call last):"]
    for path, number, name in reversed(_CRASH_FRAME.findall(current)):
        if not path.startswith("<frozen"):  # how Python started
            lines.append(f'  File "{path}", line {number}, in {name}')
            source = linecache.getline(path, int(number)).strip()
            lines += [f"    {source}"] if source else []
    return "\n".join([*lines, what.strip().partition("\n")[0]]) if len(lines) > 1 else ""
