# SPDX-License-Identifier: Apache-2.0
"""Manifests: what an artifact's files were when it was published, so that damage can be seen."""

import fnmatch
import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

from stoker.storage.files import sync, write_whole

__all__ = ["FileEntry", "Manifest", "describe", "seal"]

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
