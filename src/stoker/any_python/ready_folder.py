# SPDX-License-Identifier: Apache-2.0
"""A folder that is there before the user's code runs, which that code may make all the same.

Some modules write into `fn_args.serving_model_dir` straight away; those written for TFX make it, or
move a folder to its place, and would fail where it is. So the first to make it succeeds, as long as
it is empty:

    os.mkdir                          and so os.makedirs, Path.mkdir, shutil.copytree
    shutil.move of a folder           it would go into the one that is there
    tf.io.gfile.rename, fileio.rename they would not overwrite it

tf.io.gfile.mkdir and os.rename take an empty folder as it is. Programs that the user's code starts
see an empty folder.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import shutil
from typing import Any, Callable, Iterator

_ready: dict[str, tuple[int, int]] = {}
"""The folders that nobody has made but us, and what the file system knows them by."""


@contextlib.contextmanager
def keep_ready(folder: str) -> Iterator[None]:
    """Make a folder, unless it is there; if it is still empty at the end, it is gone again."""
    if os.path.exists(folder):
        yield
        return
    os.makedirs(folder)
    found = os.stat(folder)
    _ready[folder] = found.st_dev, found.st_ino
    try:
        with _replace_makers():
            yield
    finally:
        make_way(folder)
        _ready.pop(folder, None)


def claim(path: Any) -> bool:
    """Whether this is such a folder, empty, which nobody has claimed: now it counts as made."""
    for folder, identity in list(_ready.items()):
        if _identify(folder) != identity:  # the user's code has removed it
            del _ready[folder]
        elif _identify(path) == identity and not os.listdir(folder):
            del _ready[folder]
            return True
    return False


def make_way(path: Any) -> None:
    """Remove such a folder: another one is about to be moved to its place."""
    if claim(path):
        os.rmdir(path)


def let_make(mkdir: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a folder, which has nothing to do where it is ready."""

    @functools.wraps(mkdir)
    def make(path: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("dir_fd") is None and claim(path):
            return None
        return mkdir(path, *args, **kwargs)

    return make


def let_move(move: Callable[..., Any]) -> Callable[..., Any]:
    """A function that moves, which finds no folder where only a ready one is in the way."""

    @functools.wraps(move)
    def move_there(src: Any, dst: Any, *args: Any, **kwargs: Any) -> Any:
        if os.path.isdir(src):  # a file goes into the folder
            make_way(dst)
        return move(src, dst, *args, **kwargs)

    return move_there


def _identify(path: Any) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, TypeError, ValueError):  # what is no path fails where it is used
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def _replace_makers() -> Iterator[None]:
    changes = [(os, "mkdir", let_make(os.mkdir)), (shutil, "move", let_move(shutil.move))]
    accessor: Any = getattr(pathlib, "_NormalAccessor", None)
    if hasattr(accessor, "mkdir"):  # up to Python 3.10, pathlib has one of its own
        changes.append((accessor, "mkdir", staticmethod(let_make(os.mkdir))))
    with contextlib.ExitStack() as undo:
        for owner, name, new in changes:
            undo.callback(setattr, owner, name, vars(owner)[name])
            setattr(owner, name, new)
        yield
