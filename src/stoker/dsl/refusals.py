# SPDX-License-Identifier: Apache-2.0
"""How a program ends that declares what we refuse: with the user's own line, without our frames."""

import abc
import contextlib
import functools
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any, TypeVar

from stoker.any_python.failures import WHOLE_TRACEBACK
from stoker.any_python.own_code import OUR_PLACES

__all__ = [
    "Declared",
    "end_at_users_line",
    "end_program_with",
    "is_all_wanted",
    "is_raised_by_us",
    "refuse_at_users_line",
    "tell_with_line",
]

_E = TypeVar("_E", bound=Exception)


class Declared(abc.ABCMeta):
    """Constructs what a pipeline file declares; an error of ours there needs no traceback."""

    def __call__(cls, *args: Any, **given: Any) -> Any:
        """A new instance."""
        with refuse_at_users_line():
            return super().__call__(*args, **given)

    @property
    def __signature__(cls) -> inspect.Signature:
        """What the constructor takes; without it, that of `__call__` would be shown."""
        whole = inspect.signature(cls.__init__)  # type: ignore[misc]
        return whole.replace(parameters=list(whole.parameters.values())[1:])


@contextlib.contextmanager
def refuse_at_users_line() -> Iterator[None]:
    """Let a program end briefly with an error that we raise here, and as ever with others."""
    try:
        yield
    except Exception as error:
        if is_raised_by_us(error):
            end_at_users_line(error)
        raise


def end_at_users_line(error: _E) -> _E:
    """The error; a program that does not catch it ends with it and with where it was caused."""
    end_program_with(error, functools.partial(tell_with_line, error))
    return error


def end_program_with(error: BaseException, tell: functools.partial[str]) -> None:
    """Let a program that does not catch the error end with what `tell` makes of it.

    Whoever has a hook of their own keeps it.
    """
    hook = sys.excepthook
    is_ours = isinstance(hook, functools.partial) and hook.func is _print_briefly
    if (is_ours or hook is sys.__excepthook__) and not is_all_wanted():
        sys.excepthook = functools.partial(_print_briefly, error, tell)


def is_all_wanted() -> bool:
    """Whether the user asked for all frames."""
    return bool(os.environ.get(WHOLE_TRACEBACK))


def is_raised_by_us(error: BaseException) -> bool:
    """Whether it is we who raised it, such as for a wrong argument, and not the user's code."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return bool(frames) and frames[-1][0].f_code.co_filename.startswith(OUR_PLACES)


def _print_briefly(
    ours: BaseException,
    tell: functools.partial[str],
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    if error is ours:
        sys.stderr.write(f"stoker: {tell()}\n")
    else:
        sys.__excepthook__(kind, error, trace)


def tell_with_line(error: Exception) -> str:
    """What an error says, after the line of the user's files that led to it."""
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(("<", *OUR_PLACES))
    ]
    what = error.args[0] if isinstance(error, KeyError) else error
    if not frames:
        return f"{what}"
    path, line = frames[-1]
    near = os.path.relpath(path)
    return f"{path if near.startswith(os.pardir) else near}:{line}: {what}"
