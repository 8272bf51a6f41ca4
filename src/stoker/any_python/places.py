# SPDX-License-Identifier: Apache-2.0
"""Whose a file is, and on whose behalf something is read: the user's, or a library's own."""

from __future__ import annotations

import contextlib
import enum
import os
import sys
import tempfile
from types import FrameType
from typing import AbstractSet, Iterable, Sequence

from .failures import HERE
from .modules import is_installed, package_of

# Where files are nobody's, unless the user's own code lies deeper in there.
_OF_THE_SYSTEM = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/run", "/sbin", "/snap"),
    *("/sys", "/tmp", "/usr", "/var", "/private", "/System", "/Library"),
)
_INSTALLED = ("/site-packages/", "/dist-packages/")
_OURS = tuple(
    os.path.join(folder, "")
    for folder in (
        os.path.dirname(HERE),
        os.path.join(os.path.dirname(os.path.dirname(HERE)), "tfx"),
    )
)
_WATCHERS = tuple(os.path.join(HERE, name) for name in ("places.py", "observing.py", "flags.py"))
# They stand between whoever reads a variable and the variable.
_PASSED_THROUGH = ("/os.py", "/_collections_abc.py", "<frozen os>", "<frozen _collections_abc>")


class Reader(enum.IntEnum):
    """Who reads something: not the user's code, that code itself, or what it has called."""

    OTHER = 0
    DIRECT = 1
    INDIRECT = 2


class Places:
    """Where the user's own code and files are: what lies in a folder of nobody's does not count.

    Of folders inside of each other the innermost decides: a program in /tmp has files of its own.
    """

    def __init__(self, users: Iterable[str] = (), others: Iterable[str] = ()) -> None:
        folders = [*_OF_THE_SYSTEM, sys.prefix, sys.base_prefix, *others]
        self._others = (*_as_prefixes([*folders, *map(os.path.realpath, folders)]), *_OURS)
        self._users = tuple(
            folder
            for folder in _as_prefixes(users)
            if folder != "/" and not folder.startswith(_OURS)
        )
        self.never_users = tuple(
            folder
            for folder in self._others
            if not any(users.startswith(folder) for users in self._users)
        )
        self._hidden = os.path.join(os.path.expanduser("~"), ".")
        self.is_preloading = False
        """Whether what installed packages read counts while we import them for the user's code."""

    def is_users(self, path: str) -> bool:
        """Whether a file, by its absolute path, counts."""
        others = max(_measure(self._others, path), self._measure_apart(path))
        return not others or _measure(self._users, path) > others

    def _measure_apart(self, path: str) -> int:
        """How deep a folder lies of installed packages, or one that is hidden in the home."""
        if "/__pycache__/" in path or "/.git/" in path:
            return len(path)
        ends = [path.find(name) + len(name) for name in _INSTALLED if name in path]
        if path.startswith(self._hidden) and "/" in path[len(self._hidden) :]:
            ends.append(len(self._hidden))
        return max(ends, default=0)

    def find_reader(self, apart: AbstractSet[str]) -> Reader:
        """Who is reading in this thread; packages that are `apart` read for their own ends."""
        frame: FrameType | None = sys._getframe(1)
        reader, passed_package = Reader.DIRECT, False
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(_OURS):
                if file not in _WATCHERS:
                    counts = self.is_preloading and passed_package
                    return Reader.INDIRECT if counts else Reader.OTHER
            elif str(frame.f_globals.get("__name__")).partition(".")[0] in apart:
                return Reader.OTHER
            elif self._is_users_code(file):
                return reader
            elif not file.endswith(_PASSED_THROUGH):
                reader = Reader.INDIRECT
                passed_package = passed_package or any(name in file for name in _INSTALLED)
            frame = frame.f_back
        return Reader.OTHER

    def _is_users_code(self, file: str) -> bool:
        """Whether a line of this file is the user's; what AutoGraph writes of it is, too."""
        if file.startswith("<"):
            return False
        return not is_installed(file) or _measure(self._users, file) > self._measure_apart(file)


def find_users_places(
    import_paths: Sequence[str], code_files: Iterable[str], others: Iterable[str]
) -> Places:
    """The places of a step whose code is in some files; what lies in `others` is not the user's."""
    users = [path for path in import_paths if not is_installed(os.path.join(path, ""))]
    for file in code_files:
        folder = os.path.dirname(os.path.abspath(file))
        users += [folder] if is_installed(folder) else [folder, package_of(file)[0]]
    with contextlib.suppress(FileNotFoundError):  # where the program was started may be gone
        users.append(os.getcwd())
    return Places(users, [*others, tempfile.gettempdir()])


def _as_prefixes(folders: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.join(os.path.abspath(one), "") for one in folders if one))


def _measure(folders: Iterable[str], path: str) -> int:
    """How long the path is of the innermost folder that a path is or lies in; 0 for none."""
    path += os.sep
    return max((len(folder) for folder in folders if path.startswith(folder)), default=0)
