# SPDX-License-Identifier: Apache-2.0
"""Manifests: what an artifact's files were when it was published, so that damage can be seen."""

import fnmatch
import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

from stoker.storage.files import sync, write_whole
from stoker.storage.root import manifest_file, output_dir

# Columns beside the examples are a cache: they can be deleted, or made again, at any time.
_CACHES = "columns/Split-*/*.arrow"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of an artifact."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Every file of an artifact, by its path below the artifact's URI."""

    files: tuple[FileEntry, ...]

    @property
    def digest(self) -> str:
        """One SHA-256 for the content of the whole artifact."""
        lines = "".join(f"{entry.sha256}  {entry.path}\n" for entry in self.files)
        return hashlib.sha256(lines.encode()).hexdigest()

    def write(self, path: str) -> None:
        """Write the manifest to `path`, and to the disk itself."""
        record = [{"path": f.path, "size": f.size, "sha256": f.sha256} for f in self.files]
        with write_whole(path) as file:
            file.write(json.dumps({"digest": self.digest, "files": record}, indent=1).encode())

    @classmethod
    def read(cls, path: str) -> Self:
        """The manifest that `write` wrote."""
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        return cls(tuple(FileEntry(**entry) for entry in record["files"]))


def describe(uri: str) -> Manifest:
    """What the files at `uri` are: a directory, or one file; empty if nothing is there.

    Caches that can be made again of the other files do not count.
    """
    root, paths = _list_files(uri)
    with ThreadPoolExecutor(max_workers=min(8, len(paths) or 1)) as pool:
        return Manifest(tuple(pool.map(lambda path: _describe_file(path, root), paths)))


def find_problems(uri: str, *, only_sizes: bool = False) -> Iterator[tuple[str, str]]:
    """Each file of a published artifact that is not what it was: its path, and how it differs."""
    path = manifest_file(uri)
    if not os.path.exists(path):
        yield path, "the manifest is missing"
        return
    for entry in Manifest.read(path).files:
        path = os.path.join(output_dir(uri), entry.path)
        if problem := _find_problem(path, entry, only_size=only_sizes):
            yield path, problem


def _find_problem(path: str, entry: FileEntry, *, only_size: bool) -> str:
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        return "missing"
    if size != entry.size:
        return f"resized: {size} bytes, was {entry.size}"
    same = only_size or _describe_file(path, path).sha256 == entry.sha256
    return "" if same else "changed"


def seal(uri: str) -> Manifest:
    """Bring the files at `uri` to the disk itself and say what they are."""
    _, paths = _list_files(uri)
    folders = [folder for folder, _, _ in os.walk(uri)]
    for path in [*paths, *folders, os.path.dirname(uri)]:
        sync(path)
    return describe(uri)


def _list_files(uri: str) -> tuple[str, list[str]]:
    """The directory that paths are relative to, and the files."""
    if os.path.isfile(uri):
        return os.path.dirname(uri), [uri]
    found = (os.path.join(folder, name) for folder, _, names in os.walk(uri) for name in names)
    return uri, sorted(p for p in found if not fnmatch.fnmatch(os.path.relpath(p, uri), _CACHES))


def _describe_file(path: str, root: str) -> FileEntry:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileEntry(os.path.relpath(path, root), file.tell(), digest)
