# SPDX-License-Identifier: Apache-2.0
"""Checkpoints in a bucket: copied there while a training runs, so that another machine can resume.

<root>/.stoker/checkpoints/<node>/<digest>/<machine>/…      what one machine has saved of that work

Each file of a checkpoint folder is written whole, and so is an object: what is there is whole. A
bucket knows no locks, so that nobody writes where another machine does: two that are at the same
work each have copies of their own, and who begins goes on from the newest. A bucket that does not
answer costs the copies, never the training.
"""

import contextlib
import os
import secrets
import shutil
import threading
from collections.abc import Iterator

from stoker.any_python.url_files import PlaceError
from stoker.storage.files import do_for_all, find_drafts, list_tree, write_whole
from stoker.storage.places import list_objects, read, remove, upload
from stoker.storage.root import Root

_SECONDS = 1.0
_LOCK = ".lock"


def name_machine(root: Root) -> str:
    """A name for this machine's copies below a root in a bucket, which no other machine has."""
    if not os.path.exists(root.machine_file):
        with write_whole(root.machine_file) as file:
            file.write(secrets.token_hex(8).encode())
    with open(root.machine_file, encoding="ascii") as kept:
        return kept.read()


def go_on_from_newest(url: str, machine: str, folder: str) -> int:
    """Bring to a folder what was saved last of this work, by whom; gives how many files came."""
    saved = max(list_objects(url), key=lambda one: one.written, default=None)
    if saved is None:
        return 0
    newest = saved.url.removeprefix(f"{url}/").partition("/")[0]
    if newest != machine:  # what is here is of an earlier time
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    return pull_checkpoints(f"{url}/{newest}", folder)


def pull_checkpoints(url: str, folder: str) -> int:
    """Bring to a folder what a machine has saved there; gives how many files that were."""
    num_new = 0
    for one in list_objects(url):
        path = os.path.join(folder, one.url.removeprefix(f"{url}/"))
        if not (os.path.exists(path) and os.path.getsize(path) == one.size):
            with write_whole(path) as file:
                file.write(read(one.url))
            num_new += 1
    return num_new


def discard_checkpoints(url: str) -> None:
    """Remove all copies, since the work has ended; who is still at it makes its own again."""
    do_for_all(remove, [one.url for one in list_objects(url)])


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
            if there == self._copied:
                return
            kept = {one.url.removeprefix(f"{self._url}/") for one in list_objects(self._url)}
            for name, stamp in there.items():
                if self._copied.get(name) != stamp or name not in kept:
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
