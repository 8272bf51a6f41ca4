# SPDX-License-Identifier: Apache-2.0
"""What went wrong in a task, as a Failure that the runner shows: the user's own traceback."""

from __future__ import annotations

import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))


class NothingWritten(Exception):
    """The user's code ended without writing a model."""


def describe(error: BaseException) -> dict[str, str]:
    """An error as the fields of a Failure."""
    return {
        "kind": type(error).__name__,
        "message": str(error) or type(error).__name__,
        "traceback": _users_traceback(error),
        "hint": _hint(error),
    }


def _users_traceback(error: BaseException) -> str:
    """The traceback from the first line that is not ours; none for what we raise for users."""
    frames = error.__traceback__
    while frames and _is_ours(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    if frames is None:
        if isinstance(error, SyntaxError):
            return "".join(traceback.format_exception_only(type(error), error))
        if isinstance(error, (NothingWritten, ValueError, TypeError)):
            return ""
    return "".join(traceback.format_exception(type(error), error, frames or error.__traceback__))


def _is_ours(filename: str) -> bool:
    return filename.startswith(HERE + os.sep) or "importlib" in filename


def _hint(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return (
            f"{error.name} is not in {sys.executable}. If it is a package, install it there: "
            f"{sys.executable} -m pip install NAME; if it is a file of yours, put it beside the "
            "module."
        )
    return ""
