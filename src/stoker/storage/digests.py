# SPDX-License-Identifier: Apache-2.0
"""What files are, by SHA-256: digests of files that no step made, and manifests of artifacts.

A user's file is read again only when its stat has changed. A manifest says what an artifact's files
were when it was published, so that damage can be seen.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from io import FileIO
from typing import Any, Self

from stoker.any_python.layout import is_remote
from stoker.storage.files import (
    Tree,
    do_for_all,
    list_caches,
    list_folders,
    list_tree,
    set_aside,
    show_path,
    sync,
    write_whole,
)
from stoker.storage.root import manifest_file, output_dir

# A file that changed just before it was read may change again without its times moving on.
_SETTLED_SECONDS = 2.0


class DamagedManifest(ValueError):
    """A manifest that something has changed, by its path."""

    def __str__(self) -> str:
        return (
            f"The manifest {self.args[0]} is damaged. Run the pipeline again: it is written anew, "
            "and so are the files if they are damaged too."
        )


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of an artifact."""

    path: str
    size: int
    sha256: str
    ctime_ns: int = 0
    """When the file last changed, in any way; 0 in manifests that did not tell."""
    version: str = ""
    """Of the object, if it is in a bucket."""

    def to_record(self) -> dict[str, Any]:
        """As manifests have it."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return record if self.version else {k: v for k, v in record.items() if k != "version"}


@dataclass(frozen=True, slots=True)
class Manifest:
    """Every file of an artifact, by its path below the artifact's URI."""

    files: tuple[FileEntry, ...]
    empty_folders: tuple[str, ...] | None = None
    """None in manifests that did not tell."""

    @property
    def folders(self) -> list[str]:
        """Every folder, the artifact's own first, whose name is empty."""
        return list_folders((entry.path for entry in self.files), self.empty_folders or ())

    @property
    def digest(self) -> str:
        """One SHA-256 for the content of the whole artifact."""
        lines = [f"{entry.sha256}  {_on_one_line(entry.path)}\n" for entry in self.files]
        lines += [f"folder  {_on_one_line(folder)}\n" for folder in self.empty_folders or ()]
        return hashlib.sha256(os.fsencode("".join(lines))).hexdigest()

    def write(self, path: str, *, durable: bool = True) -> None:
        """Write the manifest to `path`, and to the disk itself if it is to be `durable`."""
        with write_whole(path, durable=durable) as file:
            file.write(json.dumps(self.to_record(), indent=1).encode())

    def to_record(self) -> dict[str, Any]:
        """What is written."""
        files = [entry.to_record() for entry in self.files]
        return {"digest": self.digest, "files": files, "empty_folders": self.empty_folders}

    @classmethod
    def read(cls, path: str) -> Self:
        """The manifest that `write` wrote; DamagedManifest if it is another by now."""
        with open(path, "rb") as file:
            return cls.from_json(file.read(), path)

    @classmethod
    def from_json(cls, text: bytes, path: str) -> Self:
        """The manifest in a text that was read from `path`."""
        try:
            record = json.loads(text)
            folders = record.get("empty_folders")
            manifest = cls(
                tuple(FileEntry(**entry) for entry in record["files"]),
                None if folders is None else tuple(folders),
            )
            is_whole = manifest.digest == record["digest"]
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise DamagedManifest(path) from error
        if not is_whole:
            raise DamagedManifest(path)
        return manifest

    def below(self, folder: str) -> Self:
        """What of it is in a folder, by paths below that folder."""
        if folder in ("", os.curdir):
            return self
        start = folder + os.sep
        return replace(
            self,
            files=tuple(
                replace(entry, path=entry.path.removeprefix(start))
                for entry in self.files
                if entry.path.startswith(start)
            ),
            empty_folders=self.empty_folders
            and tuple(
                path.removeprefix(start) for path in self.empty_folders if path.startswith(start)
            ),
        )


def describe(uri: str) -> Manifest:
    """What the files at `uri` are: a directory, or one file; empty if nothing is there.

    Caches that can be made again of the other files do not count. Links may lead anywhere: files
    that no step made are where their owner wants them.
    """
    tree = list_tree(uri, confined=False)
    tree.refuse_misfits()
    return _read_files(tree)


def seal(uri: str) -> Manifest:
    """Bring the files at `uri` to the disk itself and say what they are."""
    tree = list_tree(uri)
    tree.refuse_misfits()
    manifest = _read_files(tree, durable=True)
    folders = [os.path.join(tree.root, folder) for folder in tree.folders]
    do_for_all(sync, [*folders, os.path.dirname(uri)])
    return manifest


def describe_caches(folder: str) -> tuple[FileEntry, ...]:
    """The caches in an artifact's folder, such as the columns of examples."""
    return _read_files(list_caches(folder)).files


def find_problems(uri: str, *, by_digest: bool = False) -> list[tuple[str, str]]:
    """Each file of a published artifact that is not what it was: its path, and how it differs.

    Only files whose size or time of change is another are read; with `by_digest`, all are.
    """
    path = manifest_file(uri)
    if not os.path.exists(path):
        return [(path, "the manifest is missing")]
    try:
        manifest, tree = Manifest.read(path), list_tree(uri)
        now = _read_files(tree, () if by_digest else manifest.files)
    except DamagedManifest:
        return [(path, "the manifest is damaged")]
    except OSError as error:
        return [(show_path(error.filename or uri), f"cannot be read: {error.strerror}")]
    found = dict(tree.misfits)
    for name, problem in find_differences(manifest, now):
        found.setdefault(os.path.join(output_dir(uri), name), problem)
    if not found and now.files != manifest.files:
        _remember_times(manifest, now, path)
    return [(show_path(path), problem) for path, problem in found.items()]


def restore_manifest(uri: str, digest: str) -> bool:
    """Write a lost manifest anew, if the files at `uri` are those that had this digest."""
    with contextlib.suppress(OSError):  # who may not write cannot mend either
        found = seal(uri)
        without_folders = replace(found, empty_folders=None)  # as digests were once taken
        for manifest in (found, without_folders):
            if manifest.digest == digest:
                manifest.write(manifest_file(uri))
                return True
    return False


def find_differences(before: Manifest, now: Manifest) -> Iterator[tuple[str, str]]:
    """Each path that is not what it was before, and how it differs."""
    found = {entry.path: entry for entry in now.files}
    for entry in before.files:
        there = found.pop(entry.path, None)
        if not there:
            yield entry.path, "missing"
        elif there.size != entry.size:
            yield entry.path, f"resized: {there.size} bytes, was {entry.size}"
        elif there.sha256 != entry.sha256:
            yield entry.path, "changed"
    for path in found:
        yield path, "added"
    if before.empty_folders is not None and now.empty_folders is not None:
        for folder in sorted({*before.empty_folders} - {*now.folders}):
            yield folder, "missing"
        for folder in sorted({*now.empty_folders} - {*before.folders}):
            yield folder, "added"


def _remember_times(manifest: Manifest, now: Manifest, path: str) -> None:
    """Keep the times of files that are as they were, such as copies of them, for the next look."""
    with contextlib.suppress(OSError):  # who may only read the root reads its files every time
        replace(manifest, files=now.files).write(path)


def _read_files(tree: Tree, known: Iterable[FileEntry] = (), *, durable: bool = False) -> Manifest:
    """What is in the files of a tree; those that are `known` are read only if they changed."""
    there = set(tree.files)
    entries = {
        entry.path: entry
        for entry in known
        if entry.path in there and _has_same_times(os.path.join(tree.root, entry.path), entry)
    }

    def read(name: str) -> FileEntry:
        with open(os.path.join(tree.root, name), "rb") as file:
            if durable:
                os.fsync(file.fileno())
            now = os.fstat(file.fileno())  # what changes from here on has another time
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileEntry(name, now.st_size, digest, now.st_ctime_ns)

    for entry in do_for_all(read, [name for name in tree.files if name not in entries]):
        entries[entry.path] = entry
    return Manifest(tuple(entries[name] for name in tree.files), tree.empty_folders)


def _has_same_times(path: str, entry: FileEntry) -> bool:
    now = os.stat(path)
    return (entry.size, entry.ctime_ns) == (now.st_size, now.st_ctime_ns)


def _on_one_line(path: str) -> str:
    return path.replace("\\", "\\\\").replace("\n", "\\n")


def read_stamp(path: str) -> str:
    """What changes with a file: size, times and inode; "missing" if there is no such file.

    The time of change is among them. No program can set it back, as `touch -r` and `cp -p` do with
    the time of modification.
    """
    try:
        return _describe_stat(os.stat(path))
    except OSError:
        return "missing"


class FileDigests:
    """SHA-256 of files; what is known is kept in a JSON file from run to run."""

    def __init__(self, memory_file: str) -> None:
        self._memory_file = memory_file
        self._known: dict[str, tuple[str, str]] = {}
        self._changed = False
        self.set_aside = ""
        """The new name of a memory file that was damaged: all is then read again."""
        try:
            self._known = _read_memory(memory_file)
        except (FileNotFoundError, PermissionError):  # another user's, which `save` will replace
            pass
        except (OSError, ValueError, RecursionError):
            self.set_aside = set_aside(memory_file)

    def __call__(self, path: str) -> str:
        """The digest of a file's content; "missing" or "not a file" where it has none.

        Of an object in a bucket, what tells its versions apart: it is not downloaded for this.
        """
        if is_remote(path):
            return _describe_object(path)
        path = os.path.abspath(path)
        if os.path.exists(path) and not os.path.isfile(path):
            return "not a file"  # to open a pipe is to wait for somebody who writes
        try:
            # Opened first: a network file system asks its server then, and not at every stat.
            with FileIO(path) as file:
                return self._digest(path, file)
        except (FileNotFoundError, NotADirectoryError):
            return "missing"

    def _digest(self, path: str, file: FileIO) -> str:
        found = os.fstat(file.fileno())
        known, digest = self._known.get(path, ("", ""))
        if known == _describe_stat(found):
            return digest
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        now = os.fstat(file.fileno())
        if _describe_stat(now) == _describe_stat(found) and _is_settled(now):
            self._known[path] = (_describe_stat(now), digest)
            self._changed = True
        return digest

    def save(self) -> None:
        """Keep what is known; another run that saves at the same time loses nothing but time."""
        if not self._changed:
            return
        with write_whole(self._memory_file, durable=False) as file:
            file.write(json.dumps(self._known).encode())
        self._changed = False


def _describe_object(url: str) -> str:
    from stoker.storage.places import look_at  # not for those whose files are all here

    found = look_at(url)
    return f"version {found.version} of {found.size} bytes" if found else "missing"


def _read_memory(path: str) -> dict[str, tuple[str, str]]:
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    if not isinstance(record, dict):
        raise ValueError(f"{path} holds no JSON object")
    known = {}
    for name, value in record.items():
        match value:
            case [str(stat), str(digest)]:
                known[name] = stat, digest
            case _:
                raise ValueError(f"{path} holds {value!r} for {name}")
    return known


def _describe_stat(found: os.stat_result) -> str:
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino} {found.st_dev}"


def _is_settled(found: os.stat_result) -> bool:
    """Whether a file's next change is sure to have another time than its last one.

    By the time of change: that of modification may be anything. One in the future, after the clock
    was set back, is never settled.
    """
    return time.time() - found.st_ctime > _SETTLED_SECONDS
