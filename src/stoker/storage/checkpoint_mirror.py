# SPDX-License-Identifier: Apache-2.0
"""Checkpoints in a bucket: copied there while a training runs, so that another machine can resume.

<root>/.stoker/checkpoints/<node>/<digest>/…      as below a root on this machine

Each file of a checkpoint folder is written whole, and so is an object: what is there is whole. A
bucket that does not answer costs the copies, never the training.
"""

import contextlib
import os
import threading
from collections.abc import Iterator

from stoker.any_python.url_files import PlaceError
from stoker.storage.files import find_drafts, list_tree, write_whole
from stoker.storage.places import list_objects, read, remove, upload

_SECONDS = 1.0
_LOCK = ".lock"


def pull_checkpoints(url: str, folder: str) -> int:
    """Bring to a folder what another machine has left there; gives how many files that were."""
    num_new = 0
    for one in list_objects(url):
        path = os.path.join(folder, one.url.removeprefix(f"{url}/"))
        if not (os.path.exists(path) and os.path.getsize(path) == one.size):
            with write_whole(path) as file:
                file.write(read(one.url))
            num_new += 1
    return num_new


def discard_checkpoints(url: str) -> None:
    """Remove the copies, since the work has ended."""
    for one in list_objects(url):
        remove(one.url)


class CheckpointMirror:
    """Copies what is written to a folder, until it is closed."""

    def __init__(self, folder: str, url: str) -> None:
        self._folder, self._url = folder, url
        self._copied: dict[str, tuple[int, int]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Copy what is there now, and end."""
        self._ended.set()
        self._thread.join()
        self.copy_once()

    def copy_once(self) -> None:
        """Copy what is new; what is gone here goes there, once what replaces it has arrived."""
        with contextlib.suppress(PlaceError, FileNotFoundError):  # the next time, then
            there = dict(self._list())
            for name, stamp in there.items():
                if self._copied.get(name) != stamp:
                    upload(os.path.join(self._folder, name), f"{self._url}/{name}")
                    self._copied[name] = stamp
            for name in self._copied.keys() - there.keys():
                remove(f"{self._url}/{name}")
                del self._copied[name]

    def _follow(self) -> None:
        while not self._ended.wait(_SECONDS):
            self.copy_once()

    def _list(self) -> Iterator[tuple[str, tuple[int, int]]]:
        drafts = tuple(os.path.join(one, "") for one in find_drafts(self._folder))
        for name in list_tree(self._folder, confined=False).files:
            path = os.path.join(self._folder, name)
            if not (path.startswith(drafts) or name.endswith(_LOCK)):
                found = os.stat(path)
                yield name, (found.st_size, found.st_mtime_ns)
