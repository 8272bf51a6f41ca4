# SPDX-License-Identifier: Apache-2.0
"""Files as `tfx.dsl.io.fileio` names their operations, for paths and for URLs.

An open file and what is known of one have TensorFlow's names too (`tf.io.gfile`): TFX gives those.
"""

from __future__ import annotations

import builtins
import glob as _glob
import os
import shutil
import stat as _stat
from types import ModuleType
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


def _split(path: PathType) -> tuple[str, ModuleType | None]:
    """A path as text, and what handles URLs if it is one."""
    text = os.fsdecode(path)
    if not is_remote(text):
        return text, None
    from . import url_files

    return text, url_files


def open(path: PathType, mode: str = "r") -> OpenFile:
    """Open a file; text is UTF-8."""
    text, urls = _split(path)
    return OpenFile(text, mode, urls.open_url if urls else _open_here)


def _open_here(path: str, mode: str) -> Any:
    # As GFile reads text: a line ends with a line feed, and nothing is translated.
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
    return builtins.open(path, mode, encoding=encoding, newline=newline)


class OpenFile:
    """A file of Python's, with what `GFile` has besides."""

    def __init__(self, path: str, mode: str, open_it: Callable[[str, str], Any]) -> None:
        self._path, self._mode = path, mode
        self._is_text = "b" not in mode
        self._file = open_it(path, mode)

    def __getattr__(self, name: str) -> Any:
        if name == "_file":  # it could not be opened
            raise AttributeError(name)
        return getattr(self._file, name)

    def __repr__(self) -> str:
        return f"<OpenFile {self._path!r} mode={self._mode!r}>"

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
        return int(self._file.write(file_content))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> int:
        """Go to a place, counted in bytes from the start, from here (1) or from the end (2)."""
        place = position if offset is None else offset
        if place is None:
            raise TypeError("seek() needs an offset.")
        starts = {0: lambda: 0, 1: self._file.tell, 2: self.size}
        return int(self._file.seek(starts[whence]() + place))

    def size(self) -> int:
        """How many bytes are in the file by now."""
        if self._file.writable():
            self._file.flush()
        if is_remote(self._path):
            return self._measure()
        return os.fstat(self._file.fileno()).st_size

    def _measure(self) -> int:
        """How far it is to the end of an object, which has no descriptor."""
        if "r" not in self._mode:
            return int(self._file.tell())
        here = self._file.tell()
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(here)
        return int(size)


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
    text, urls = _split(path)
    return urls.exists(text) if urls else os.path.exists(text)


def isdir(path: PathType) -> bool:
    """Whether there is a directory."""
    text, urls = _split(path)
    return urls.isdir(text) if urls else os.path.isdir(text)


def listdir(path: PathType) -> list[str]:
    """The names in a directory, sorted."""
    text, urls = _split(path)
    return urls.listdir(text) if urls else sorted(os.listdir(text))


def glob(pattern: PathType | Iterable[PathType]) -> list[str]:
    """The paths that match a pattern, or any of several, sorted."""
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else pattern
    found: set[str] = set()
    for text, urls in map(_split, patterns):
        found.update(urls.glob(text) if urls else _glob.glob(text))
    return sorted(found)


def walk(
    top: PathType, topdown: bool = True, onerror: Callable[[OSError], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each directory below `top`, with the names of its directories and files."""
    text, urls = _split(top)
    if urls:
        there: Iterator[tuple[str, list[str], list[str]]] = urls.walk(text, topdown, onerror)
        return there
    return os.walk(text, topdown=topdown, onerror=onerror)


def stat(path: PathType) -> Any:
    """Size, times and mode of a file."""
    text, urls = _split(path)
    return urls.stat(text) if urls else Stat(os.stat(text))


def mkdir(path: PathType) -> None:
    """Make a directory in one that exists."""
    text, urls = _split(path)
    urls.mkdir(text) if urls else os.mkdir(text)


def makedirs(path: PathType) -> None:
    """Make a directory and those above it, unless they exist."""
    text, urls = _split(path)
    urls.makedirs(text) if urls else os.makedirs(text, exist_ok=True)


def copy(src: PathType, dst: PathType, overwrite: bool = False) -> None:
    """Copy a file."""
    (source, urls_before), (target, urls_now) = _split(src), _split(dst)
    _refuse_to_overwrite(target, overwrite)
    urls = urls_before or urls_now
    if urls:
        urls.copy(source, target, is_remote)
    else:
        shutil.copyfile(source, target)


def rename(src: PathType, dst: PathType, overwrite: bool = False) -> None:
    """Move a file or a directory."""
    (source, urls_before), (target, urls_now) = _split(src), _split(dst)
    urls = urls_before or urls_now
    if not urls:
        make_way(target)
    _refuse_to_overwrite(target, overwrite)
    if urls:
        urls.rename(source, target, is_remote)
    else:
        os.replace(source, target)


def remove(path: PathType) -> None:
    """Delete a file."""
    text, urls = _split(path)
    urls.remove(text) if urls else os.remove(text)


def rmtree(path: PathType) -> None:
    """Delete a directory and all that is in it."""
    text, urls = _split(path)
    urls.rmtree(text) if urls else shutil.rmtree(text)


def _refuse_to_overwrite(target: str, overwrite: bool) -> None:
    if not overwrite and exists(target):
        raise FileExistsError(f"{target} exists. Give overwrite=True to replace it.")
