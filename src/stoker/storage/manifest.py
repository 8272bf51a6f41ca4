# SPDX-License-Identifier: Apache-2.0
"""Manifests: what an artifact's files were when it was published, so that damage can be seen."""

import fnmatch
import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

__all__ = ["FileEntry", "Manifest", "describe", "manifest_file", "seal"]

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
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"digest": self.digest, "files": record}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        _sync(os.path.dirname(path))

    @classmethod
    def read(cls, path: str) -> Self:
        """The manifest that `write` wrote."""
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        return cls(tuple(FileEntry(**entry) for entry in record["files"]))


def manifest_file(uri: str) -> str:
    """Where the manifest of the artifact at `<root>/<node>/<key>/<execution id>` is.

    The URI of a value is a file in that directory.
    """
    directory = os.path.dirname(uri) if os.path.basename(uri) == "value" else uri
    folder, execution_id = os.path.split(directory)
    root, node, key = os.path.dirname(os.path.dirname(folder)), *folder.split(os.sep)[-2:]
    return os.path.join(root, ".stoker", "manifests", node, key, f"{execution_id}.json")


def describe(uri: str) -> Manifest:
    """What the files at `uri` are: a directory, or one file; empty if nothing is there.

    Caches that can be made again of the other files do not count.
    """
    root, paths = _files_at(uri)
    with ThreadPoolExecutor(max_workers=min(8, len(paths) or 1)) as pool:
        return Manifest(tuple(pool.map(lambda path: _entry(path, root), paths)))


def seal(uri: str) -> Manifest:
    """Bring the files at `uri` to the disk itself and say what they are."""
    _, paths = _files_at(uri)
    folders = [folder for folder, _, _ in os.walk(uri)]
    for path in [*paths, *folders, os.path.dirname(uri)]:
        _sync(path)
    return describe(uri)


def _files_at(uri: str) -> tuple[str, list[str]]:
    """The directory that paths are relative to, and the files."""
    if os.path.isfile(uri):
        return os.path.dirname(uri), [uri]
    found = (os.path.join(folder, name) for folder, _, names in os.walk(uri) for name in names)
    return uri, sorted(p for p in found if not fnmatch.fnmatch(os.path.relpath(p, uri), _CACHES))


def _entry(path: str, root: str) -> FileEntry:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileEntry(os.path.relpath(path, root), file.tell(), digest)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
