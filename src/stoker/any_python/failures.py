# SPDX-License-Identifier: Apache-2.0
"""What went wrong in a task, as a Failure that the runner shows: the user's own traceback."""

from __future__ import annotations

import os
import sys
import traceback

from .lines import escape_controls
from .names import did_you_mean

HERE = os.path.dirname(os.path.abspath(__file__))
WHOLE_TRACEBACK = "STOKER_TRACEBACK"
"""The variable that lets programs and notebooks show all frames, as Python does."""
_NEAR = 3
"""Of the frames that an error went through, those that may know what was meant."""


class StokerError(Exception):
    """The base of every error that a failed run raises."""

    def __str__(self) -> str:
        return escape_controls(super().__str__())  # it may quote data

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the sentence, which says all, and not the way through our code."""
        if os.environ.get(WHOLE_TRACEBACK):
            return traceback.format_exception(type(self), self, self.__traceback__)
        return [f"{type(self).__name__}: {self}"]


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


def near_name_hint(error: BaseException) -> str:
    """The key that a KeyError may have meant: of the dicts at hand, one that is spelt alike."""
    if not isinstance(error, KeyError) or not error.args or not isinstance(error.args[0], str):
        return ""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    known = {
        key
        for frame in frames[-_NEAR:]
        for value in list(frame.f_locals.values())
        if isinstance(value, dict)
        for key in list(value)
        if isinstance(key, str)
    }
    return did_you_mean(error.args[0], sorted(known)).lstrip()
