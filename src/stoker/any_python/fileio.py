# SPDX-License-Identifier: Apache-2.0
"""Files as `tfx.dsl.io.fileio` names their operations, for local paths.

An open file and what is known of one have TensorFlow's names too (`tf.io.gfile`): TFX gives those.
"""

from __future__ import annotations

import builtins
import glob as _glob
import os
import shutil
import stat as _stat
from typing import Any, Callable, Iterable, Iterator, Union

from .layout import is_remote
from .surroundings import make_way

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


def _local(path: PathType) -> str:
    text = os.fsdecode(path)
    if is_remote(text):
        raise ValueError(
            f"{text} is not on this machine, and fileio handles local files only. Copy it here "
            "first, or read it with tf.io.gfile in your own code."
        )
    return text


def open(path: PathType, mode: str = "r") -> OpenFile:
    """Open a file; text is UTF-8."""
    return OpenFile(_local(path), mode)


class OpenFile:
    """A file of Python's, with what `GFile` has besides."""

    def __init__(self, path: str, mode: str) -> None:
        self._is_text = "b" not in mode
        # As GFile reads text: a line ends with a line feed, and nothing is translated.
        encoding, newline = ("utf-8", "\n") if self._is_text else (None, None)
        self._file = builtins.open(  # noqa: SIM115 - whoever has this one closes it
            path, mode, encoding=encoding, newline=newline
        )

    def __getattr__(self, name: str) -> Any:
        if name == "_file":  # it could not be opened
            raise AttributeError(name)
        return getattr(self._file, name)

    def __repr__(self) -> str:
        return f"<OpenFile {self._file.name!r} mode={self._file.mode!r}>"

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self._file.readline()  # which, unlike `next`, leaves `tell` usable
        if not line:
            raise StopIteration
        return line

    def next(self) -> Any:
        """The next line."""
        return self.__next__()

    def read(self, n: int = -1) -> Any:
        """The next `n` characters or bytes; all that is left by default."""
        return self._file.read(n)

    def write(self, file_content: Any) -> int:
        """Write text or bytes, whichever of them the file takes."""
        if self._is_text and isinstance(file_content, (bytes, bytearray)):
            file_content = bytes(file_content).decode("utf-8")
        elif not self._is_text and isinstance(file_content, str):
            file_content = file_content.encode("utf-8")
        return self._file.write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> int:
        """Go to a place, counted in bytes from the start, from here (1) or from the end (2)."""
        place = position if offset is None else offset
        if place is None:
            raise TypeError("seek() needs an offset.")
        starts = {0: lambda: 0, 1: self._file.tell, 2: self.size}
        return self._file.seek(starts[whence]() + place)

    def size(self) -> int:
        """How many bytes are in the file by now."""
        if self._file.writable():
            self._file.flush()
        return os.fstat(self._file.fileno()).st_size


class Stat:
    """What the system knows of a file, by the names of `os.stat` and of TensorFlow."""

    def __init__(self, found: os.stat_result) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        if name == "_found":
            raise AttributeError(name)
        return getattr(self._found, name)

    @property
    def length(self) -> int:
        """How many bytes it has."""
        return self._found.st_size

    @property
    def mtime_nsec(self) -> int:
        """When it was last changed, in nanoseconds since 1970."""
        return self._found.st_mtime_ns

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return _stat.S_ISDIR(self._found.st_mode)


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


def stat(path: PathType) -> Stat:
    """Size, times and mode of a file."""
    return Stat(os.stat(_local(path)))


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
    make_way(target)
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
