# SPDX-License-Identifier: Apache-2.0
"""Files as `tfx.dsl.io.fileio` names their operations, for local paths."""

from __future__ import annotations

import builtins
import glob as _glob
import os
import re
import shutil
from typing import IO, Any, Callable, Iterable, Iterator, Union

__all__ = [
    "NotFoundError",
    "PathType",
    "copy",
    "exists",
    "glob",
    "isdir",
    "listdir",
    "makedirs",
    "mkdir",
    "open",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]

PathType = Union[str, bytes, "os.PathLike[str]"]
NotFoundError = FileNotFoundError

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def _local(path: PathType) -> str:
    text = os.fsdecode(path)
    if _REMOTE.match(text):
        raise ValueError(
            f"{text} is not on this machine, and fileio handles local files only. Copy it here "
            "first, or read it with tf.io.gfile in your own code."
        )
    return text


def open(path: PathType, mode: str = "r") -> IO[Any]:
    """Open a file; text is UTF-8."""
    return builtins.open(_local(path), mode, encoding=None if "b" in mode else "utf-8")


def exists(path: PathType) -> bool:
    """Whether there is a file or a directory."""
    return os.path.exists(_local(path))


def isdir(path: PathType) -> bool:
    """Whether there is a directory."""
    return os.path.isdir(_local(path))


def listdir(path: PathType) -> list[str]:
    """The names in a directory, sorted."""
    return sorted(os.listdir(_local(path)))


def glob(pattern: PathType | Iterable[PathType]) -> list[str]:
    """The paths that match a pattern, or any of several, sorted."""
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else pattern
    return sorted({path for each in patterns for path in _glob.glob(_local(each))})


def walk(
    top: PathType, topdown: bool = True, onerror: Callable[[OSError], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each directory below `top`, with the names of its directories and files."""
    return os.walk(_local(top), topdown=topdown, onerror=onerror)


def stat(path: PathType) -> os.stat_result:
    """Size, times and mode of a file."""
    return os.stat(_local(path))


def mkdir(path: PathType) -> None:
    """Make a directory in one that exists."""
    os.mkdir(_local(path))


def makedirs(path: PathType) -> None:
    """Make a directory and those above it, unless they exist."""
    os.makedirs(_local(path), exist_ok=True)


def copy(src: PathType, dst: PathType, overwrite: bool = False) -> None:
    """Copy a file."""
    target = _local(dst)
    _refuse_to_overwrite(target, overwrite)
    shutil.copyfile(_local(src), target)


def rename(src: PathType, dst: PathType, overwrite: bool = False) -> None:
    """Move a file or a directory."""
    target = _local(dst)
    _refuse_to_overwrite(target, overwrite)
    os.replace(_local(src), target)


def remove(path: PathType) -> None:
    """Delete a file."""
    os.remove(_local(path))


def rmtree(path: PathType) -> None:
    """Delete a directory and all that is in it."""
    shutil.rmtree(_local(path))


def _refuse_to_overwrite(target: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(target):
        raise FileExistsError(f"{target} exists. Give overwrite=True to replace it.")
