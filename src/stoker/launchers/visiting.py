# SPDX-License-Identifier: Apache-2.0
"""A task on a machine that shares no folder with home: its root is a bucket, which both reach.

Inputs are staged here, from the bucket. Paths of home become paths of this machine. What the task
writes goes home file by file when it has ended, and is published from there. Checkpoints go to the
bucket as they are written, and are taken from there by whoever goes on.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stoker.artifacts import every
from stoker.storage.checkpoint_mirror import CheckpointMirror, pull_checkpoints
from stoker.storage.needed import Needed
from stoker.storage.root import Root, cache_dir, output_dir
from stoker.storage.staging import Wanted, open_cache
from stoker.storage.upload import stage_output
from stoker.task import Outcome, Task

Chunk = tuple[str, int, bytes]
"""A part of a file: its path at home, where it begins, and what it says."""
_CHUNK_BYTES = 4 << 20
_LEFT_HERE = ("code-", "checkpoints", "removed")
"""In a step's temporary folder: what is of no use at home."""


def read_written(task: Task) -> dict[str, bytes]:
    """What is in the folders of a task at home, for a machine that is to go on with it."""
    return {path: b"".join(data for _, _, data in _read(path, path)) for path in _list_files(task)}


@dataclass
class Visit:
    """One task on this machine."""

    task: Task
    home: Root
    here: Root
    paths: Mapping[str, str]
    """The paths of the runner's machine, and what they are on this one."""
    mirror: CheckpointMirror | None = None
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def arrive(cls, task: Task, written: Mapping[str, bytes]) -> "Visit":
        """Make everything ready: stage the inputs, and go on from the last checkpoint."""
        assert task.away
        home = Root(task.root_dir, task.away["root"])
        here = Root.at(home.url)
        paths = {path: _stage(staged) for path, staged in task.away["inputs"].items()}
        paths[home.path] = here.path
        visit = cls(Task.from_json(_replace(task.to_json(), paths)), home, here, paths)
        for folder in filter(None, (*_list_folders(visit.task), visit.task.temporary_dir)):
            os.makedirs(folder, exist_ok=True)
        for path, data in written.items():
            there = visit._find_here(path)
            os.makedirs(os.path.dirname(there), exist_ok=True)
            with open(there, "wb") as file:
                file.write(data)
        visit._follow_checkpoints()
        visit.seen = dict(visit._list_stamps())
        return visit

    def leave(self) -> Iterator[Chunk]:
        """What the task has written, for home: of a worker group, what the chief has."""
        if self.mirror:
            self.mirror.close()
        if self.is_chief:
            for path, stamp in self._list_stamps():
                if self.seen.get(path) != stamp:
                    yield from _read(path, self._find_home(path))

    def tell(self, outcome: Outcome) -> str:
        """How the task ended, with the paths of home, as JSON."""
        return _replace(outcome.to_json(), {here: home for home, here in self.paths.items()})

    @property
    def is_chief(self) -> bool:
        """Whether what this process writes counts."""
        return self.task.member is None or self.task.member.role == "chief"

    def _follow_checkpoints(self) -> None:
        assert self.task.away
        if folder := self.task.checkpoint_dir:
            url = self.task.away["checkpoints"] or self.here.find_place(folder)
            pull_checkpoints(url, folder)
            if self.is_chief:
                self.mirror = CheckpointMirror(folder, url)

    def _find_here(self, path: str) -> str:
        return self.here.path + path.removeprefix(self.home.path)

    def _find_home(self, path: str) -> str:
        return self.home.path + path.removeprefix(self.here.path)

    def _list_stamps(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for path in _list_files(self.task):
            found = os.stat(path)
            yield path, (found.st_size, found.st_mtime_ns)


def write_chunk(chunk: Chunk, root_dir: str) -> None:
    """Write at home what was written there; nowhere but below the root."""
    path, place, data = chunk
    inside = os.path.realpath(root_dir) + os.sep
    if not os.path.realpath(path).startswith(inside):
        raise ValueError(f"{path} must be below {root_dir}.")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "r+b" if place else "wb") as file:
        file.seek(place)
        file.write(data)


def _stage(staged: Mapping[str, Any]) -> str:
    """Have an input on this machine; gives its path."""
    cache = open_cache(cache_dir())
    if files := staged.get("files"):
        wanted = [Wanted(url=url, size=size, version=version) for url, size, version in files]
        return cache.stage(staged["url"], wanted, digest=staged["digest"])
    return stage_output(cache, staged["url"], staged["digest"], Needed(**staged["needed"]))


def _replace(text: str, paths: Mapping[str, str]) -> str:
    """A text of JSON with other paths in it, the longest first: one may be below another."""
    for path in sorted(paths, key=len, reverse=True):
        text = text.replace(json.dumps(path)[1:-1], json.dumps(paths[path])[1:-1])
    return text


def _list_folders(task: Task) -> list[str]:
    outputs = [output_dir(artifact.uri) for artifact in every(task.outputs)]
    return [*outputs, task.tmp_dir, task.observed_dir, task.checkpoint_dir, task.columns_dir]


def _list_files(task: Task) -> Iterator[str]:
    """The files in the folders that are home's business."""
    outputs = [output_dir(artifact.uri) for artifact in every(task.outputs)]
    for folder in dict.fromkeys(filter(None, (*outputs, task.tmp_dir, task.observed_dir))):
        for where, names, files in os.walk(folder):
            if where == task.tmp_dir:
                names[:] = [name for name in names if not name.startswith(_LEFT_HERE)]
            yield from (os.path.join(where, name) for name in files)


def _read(path: str, name: str) -> Iterator[Chunk]:
    place = 0
    with open(path, "rb") as file:
        while (data := file.read(_CHUNK_BYTES)) or not place:
            yield name, place, data
            place += len(data)
            if not data:
                return
