# SPDX-License-Identifier: Apache-2.0
"""Files: written whole or not at all, brought to the disk itself, listed one and all, copied.

Of the files below a folder, links are followed, and count as what they lead to. What is no file is
never opened: to open a FIFO can take for ever.
"""

import contextlib
import errno
import fcntl
import fnmatch
import glob
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from stoker.storage.root import output_dir

_DRAFT, _ASIDE = ".writing-", ".damaged-"
_PATIENCE_SECONDS = 1.0
S = TypeVar("S")
T = TypeVar("T")
# A file system brings many files to the disk in one go, if it is asked for them at once.
_NUM_THREADS = 16
# Columns beside the examples are a cache: they can be deleted, or made again, at any time.
_CACHES = "columns/Split-*/*.arrow"
_CACHE_FOLDERS = ("columns", "columns/Split-*")
# What NFS and FUSE call a file that was deleted while a process had it open.
_DELETED = re.compile(r"\.nfs[0-9a-f]{24}|\.fuse_hidden[0-9a-f]{16}")
_FILE, _EMPTY_FOLDER = "a file", "an empty folder"
_KINDS = {
    stat.S_IFREG: _FILE,
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_LINK_ERRORS = {errno.ENOENT: "a link to nothing", errno.ELOOP: "a link to itself"}
_CLONE = 0x40049409  # Linux calls it FICLONE
_CHUNK_BYTES = 1 << 20


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


def begin_draft(folder: str) -> str:
    """A new directory in a folder, for what gets its name there when others are ready too.

    `remove_drafts` takes it away.
    """
    os.makedirs(folder, exist_ok=True)
    return tempfile.mkdtemp(dir=folder, prefix=_DRAFT)


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


class UnfitFile(OSError):
    """Something that cannot be part of an artifact: no file, or a link that leads out of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """What is at a path: a folder with all that is below it, or one file, or nothing."""

    root: str
    """The folder that files and empty folders are relative to."""
    files: tuple[str, ...]
    empty_folders: tuple[str, ...]
    misfits: Mapping[str, str]
    """What cannot be read as a file: its whole path, and what it is."""

    @property
    def folders(self) -> list[str]:
        """Every folder, the root first, whose name is empty."""
        return list_folders(self.files, self.empty_folders)

    def refuse_misfits(self) -> None:
        """Raise UnfitFile if there is anything that does not fit."""
        for path, what in self.misfits.items():
            raise UnfitFile(
                f"{show_path(path)} is {what}. An artifact is made of files, of folders, and of "
                "links that stay inside it: remove this one, or keep it elsewhere."
            )


def list_tree(uri: str, *, confined: bool = True) -> Tree:
    """What is at `uri`; links that lead out of it do not fit, unless it is not `confined`."""
    uri = os.path.abspath(uri)
    root = uri if os.path.isdir(uri) else os.path.dirname(uri)
    leaves: dict[str, list[str]] = {_FILE: [], _EMPTY_FOLDER: []}
    misfits = {}
    for path, what in _walk(uri, confined=confined):
        if what in leaves:
            leaves[what].append(path[len(root) + 1 :])
        else:
            misfits[path] = what
    return Tree(
        root=root,
        files=tuple(sorted(one for one in leaves[_FILE] if not fnmatch.fnmatch(one, _CACHES))),
        empty_folders=tuple(
            sorted(
                one
                for one in leaves[_EMPTY_FOLDER]
                if not any(fnmatch.fnmatch(one, cache) for cache in _CACHE_FOLDERS)
            )
        ),
        misfits=misfits,
    )


def list_caches(folder: str) -> Tree:
    """The caches in a folder, which are no part of what it is."""
    found = glob.glob(os.path.join(glob.escape(folder), _CACHES))
    files = sorted(path[len(folder) + 1 :] for path in found if os.path.isfile(path))
    return Tree(root=folder, files=tuple(files), empty_folders=(), misfits={})


def _walk(uri: str, *, confined: bool) -> Iterator[tuple[str, str]]:
    """Each path that ends there, and what it is."""
    home = os.path.join(os.path.realpath(os.path.dirname(uri)), os.path.basename(uri))
    border = output_dir(home) if confined else os.sep
    todo: list[tuple[str, str, tuple[str, ...]]] = [(uri, home, ())]
    while todo:
        path, place, way = todo.pop()  # where it is really, and the folders on the way to it
        if os.path.islink(path):
            place = os.path.realpath(path)
        try:
            kind = stat.S_IFMT(os.stat(path).st_mode)
        except OSError as error:
            if way or os.path.lexists(path):  # else nothing was ever there
                yield path, _LINK_ERRORS.get(error.errno or 0, f"not readable: {error.strerror}")
            continue
        if not f"{place}{os.sep}".startswith(f"{border.rstrip(os.sep)}{os.sep}"):
            yield path, f"a link to {show_path(place)}, which is not part of the artifact"
        elif kind != stat.S_IFDIR:
            yield path, _KINDS.get(kind, "no file")
        elif place in way:
            yield path, "a link to a folder that it is in itself"
        else:
            inside = [one for one in os.scandir(path) if not _DELETED.fullmatch(one.name)]
            if way and not inside:
                yield path, _EMPTY_FOLDER
            deeper = (*way, place)
            for one in inside:
                if one.is_file(follow_symlinks=False):
                    yield one.path, _FILE
                else:
                    todo.append((one.path, os.path.join(place, one.name), deeper))


def copy_tree(source: str, target: str) -> None:
    """Copy all that is below the folder `source` to the folder `target`; links become files.

    The copies share the blocks of the originals where the file system can, until one is written:
    to change a copy never changes the original, as it would with hard links.
    """
    tree = list_tree(source, confined=False)
    tree.refuse_misfits()
    for folder in tree.folders:
        os.makedirs(os.path.join(target, folder), exist_ok=True)
    do_for_all(
        lambda name: _copy(os.path.join(source, name), os.path.join(target, name)), tree.files
    )
    for folder in reversed(tree.folders):  # last, since it may say that nobody writes here
        shutil.copymode(os.path.join(source, folder), os.path.join(target, folder))


def list_folders(files: Iterable[str], empty_folders: Iterable[str]) -> list[str]:
    """The folders that these are in, and the empty ones; the first is that of all, without name."""
    folders = {""}
    for folder in [*map(os.path.dirname, files), *empty_folders]:
        while folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    return sorted(folders)


def do_for_all(do: Callable[[S], T], many: Sequence[S]) -> list[T]:
    """Call a function for many files at once; what it raises for one of them is raised."""
    with ThreadPoolExecutor(min(_NUM_THREADS, len(many) or 1)) as pool:
        return list(pool.map(do, many))


def clone_file(source: str, target: str) -> bool:
    """Copy a file if its blocks can be shared; whether they could."""
    with open(source, "rb", buffering=0) as original, open(target, "wb", buffering=0) as copy:
        try:
            fcntl.ioctl(copy, _CLONE, original.fileno())
        except OSError:  # not on this file system
            os.unlink(target)
            return False
    return True


def _copy(source: str, target: str) -> None:
    with open(source, "rb", buffering=0) as original, open(target, "wb", buffering=0) as copy:
        try:
            fcntl.ioctl(copy, _CLONE, original.fileno())
        except OSError:  # not on this file system, or not between these two
            shutil.copyfileobj(original, copy, _CHUNK_BYTES)
        os.fchmod(copy.fileno(), stat.S_IMODE(os.fstat(original.fileno()).st_mode))
