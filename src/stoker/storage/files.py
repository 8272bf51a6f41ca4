# SPDX-License-Identifier: Apache-2.0
"""Files that are written whole or not at all, and brought to the disk itself."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

_DRAFT = ".writing-"


@contextlib.contextmanager
def write_whole(path: str, *, replace: bool = True, durable: bool = True) -> Iterator[BinaryIO]:
    """A file to write to, which gets its name when all of it is written.

    Without `replace`, the first to write it wins, and the others get FileExistsError. What is
    `durable` is on the disk when this ends; a cache, which can be made again, need not be.
    """
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    # In a folder of its own, where `open` gives it the permissions that files have here.
    with tempfile.TemporaryDirectory(dir=folder, prefix=_DRAFT) as scratch:
        draft = os.path.join(scratch, os.path.basename(path))
        with open(draft, "wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        (os.replace if replace else os.link)(draft, path)
    if durable:
        sync(folder)


def sync(path: str) -> None:
    """Bring a file, or the names in a directory, to the disk itself."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def show_path(path: str) -> str:
    """A path as it can be printed and stored: bytes in it that are no UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def find_drafts(folder: str) -> list[str]:
    """What has been begun below a folder and not been given its name, whoever writes it."""
    return [
        os.path.join(where, name)
        for where, names, _ in os.walk(folder)
        for name in names
        if name.startswith(_DRAFT)
    ]
