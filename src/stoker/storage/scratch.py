# SPDX-License-Identifier: Apache-2.0
"""The scratch folder of a run: temporary files of its steps, which nobody needs afterwards.

It lies below the root, so that nothing is left in the system's temporary folder. Sockets have names
of at most 107 bytes, and programs make them among their temporary files: where a root's path is too
long for that, these files are in the system's folder, and a link in the scratch folder says where.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator

from stoker.any_python.temporary import (
    make_temporary_dir,
    remove_abandoned_dirs,
    remove_temporary_dir,
)
from stoker.storage.locks import is_locked
from stoker.storage.root import Root

_ELSEWHERE = "elsewhere"
# multiprocessing makes <TMPDIR>/pymp-xxxxxxxx/listener-xxxxxxxx.
_LONGEST_TMPDIR = 107 - 32


@contextlib.contextmanager
def hold_scratch(root: Root, run_id: str) -> Iterator[str]:
    """Inside, a run has its scratch folder; gives where its temporary files go.

    What runs that were killed have left is removed first.
    """
    for left in find_abandoned(root):
        shutil.rmtree(left, ignore_errors=True)
    remove_abandoned_dirs()  # of other roots too, which may be gone
    folder = root.tmp_dir(run_id)
    for place in _list_places(folder):  # of the same step, if it was killed
        shutil.rmtree(place, ignore_errors=True)
    os.makedirs(folder)
    try:
        yield _choose_tmpdir(folder)
    finally:
        for place in _list_places(folder):
            remove_temporary_dir(place)


def find_abandoned(root: Root) -> list[str]:
    """The scratch folders of runs that are not alive, and what they have elsewhere."""
    # In this order: a run makes its folder after it has locked its file.
    below = root.scratch_dir
    found = [os.path.join(below, name) for name in sorted(_list_names(below))]
    locks = (name for name in _list_names(root.runs_dir) if name.endswith(".lock"))
    run_ids = (name.removesuffix(".lock") for name in locks)
    alive = {root.tmp_dir(run_id) for run_id in run_ids if is_locked(root.run_lock(run_id))}
    return [place for folder in found if folder not in alive for place in _list_places(folder)]


def _list_places(folder: str) -> list[str]:
    """Where a scratch folder's files are: those elsewhere first, since it says where they are."""
    link = os.path.join(folder, _ELSEWHERE)
    return [os.readlink(link), folder] if os.path.islink(link) else [folder]


def _choose_tmpdir(folder: str) -> str:
    if len(os.fsencode(folder)) <= _LONGEST_TMPDIR:
        return folder
    elsewhere = make_temporary_dir()
    try:
        os.symlink(elsewhere, os.path.join(folder, _ELSEWHERE))
    except OSError:  # a file system without links: only sockets need short names
        remove_temporary_dir(elsewhere)
        return folder
    return elsewhere


def _list_names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
