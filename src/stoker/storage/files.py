# SPDX-License-Identifier: Apache-2.0
"""Files that are written whole or not at all, brought to the disk itself, and taken away."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from typing import BinaryIO

_DRAFT, _ASIDE = ".writing-", ".damaged-"
_PATIENCE_SECONDS = 1.0


@contextlib.contextmanager
def write_whole(path: str, *, durable: bool = True) -> Iterator[BinaryIO]:
    """A file to write to, which gets its name when all of it is written.

    What is `durable` is on the disk when this ends; a cache, which can be made again, need not be.
    """
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    # In a folder of its own, where `open` gives it the permissions that files have here.
    with make_scratch_dir(folder, prefix=_DRAFT) as scratch:
        draft = os.path.join(scratch, os.path.basename(path))
        with open(draft, "wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, path)
    if durable:
        sync(folder)


@contextlib.contextmanager
def make_scratch_dir(folder: str, *, prefix: str) -> Iterator[str]:
    """A directory for what is made, until it gets its name in `folder`; removed in the end."""
    scratch = tempfile.mkdtemp(dir=folder, prefix=prefix)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        until = time.monotonic() + _PATIENCE_SECONDS
        while os.path.lexists(scratch) and time.monotonic() < until:
            time.sleep(0.01)  # FUSE hears a moment later that a file was closed
            shutil.rmtree(scratch, ignore_errors=True)


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


def remove_drafts(folder: str) -> None:
    """Take away what a process that died has begun in a folder; nobody may be writing there."""
    for name in os.listdir(folder):
        if name.startswith(_DRAFT):
            shutil.rmtree(os.path.join(folder, name))


def set_aside(path: str) -> str:
    """Rename something damaged, so that it is not in the way; gives its new name."""
    number = 1
    while os.path.lexists(aside := f"{path}{_ASIDE}{number}"):
        number += 1
    os.rename(path, aside)
    return aside


def is_set_aside(path: str) -> bool:
    """Whether something was damaged, by its name."""
    return _ASIDE in os.path.basename(path)


def remove_dir(directory: str, *, by_way_of: str) -> None:
    """Let a directory be gone at once, whoever has a file in it open.

    It gets the name `by_way_of` first. What cannot be removed there is left: FUSE and NFS hide what
    is open, and the files of other users are theirs.
    """
    if not os.path.lexists(directory):
        return
    os.makedirs(os.path.dirname(by_way_of), exist_ok=True)
    shutil.rmtree(by_way_of, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.rename(directory, by_way_of)
        directory = by_way_of
    shutil.rmtree(directory, ignore_errors=True)
