# SPDX-License-Identifier: Apache-2.0
"""`stoker clean`: removes what failed and killed runs left behind, and nothing else."""

import contextlib
import glob
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click

from stoker.any_python.layout import is_remote
from stoker.artifacts import State
from stoker.cli.lookup import find_roots
from stoker.cli.options import json_option, with_store
from stoker.cli.printing import print_answer
from stoker.metadata.store import Store
from stoker.storage.files import do_for_all, find_drafts
from stoker.storage.locks import is_dir_held, is_locked
from stoker.storage.root import Root, manifest_file, output_dir
from stoker.storage.scratch import find_abandoned
from stoker.views.table import Table, readable_path, readable_size

# A run that is just starting has made its lock file, and holds it a moment later.
_UNENDED = "checkpoints of work that did not end"
_STARTING_SECONDS = 60
_REMOVED_WHOLE = ("checkpoints", "tmp")
"""Folders whose drafts go with what they are in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A file or directory that nothing refers to any more."""

    path: str
    what: str
    num_bytes: int


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@json_option
@with_store()
def clean(store: Store, dry_run: bool, as_json: bool) -> int:
    """Remove the files of outputs that were never published, and what killed runs left behind.

    Published outputs stay, and so does all that a running run is writing.
    """
    found = list(find_leftovers(store))
    kept = [] if dry_run else [one for one in found if not _remove(one.path)]
    found = [one for one in found if one not in kept]
    num_bytes = sum(leftover.num_bytes for leftover in found)
    record = {
        "removed": not dry_run,
        "num_bytes": num_bytes,
        "leftovers": [asdict(leftover) for leftover in found],
        "kept": [asdict(leftover) for leftover in kept],
    }
    rows = [(readable_path(one.path), one.what, readable_size(one.num_bytes)) for one in found]
    tables = [Table(columns=("path", "what", "size"), rows=rows)] if found else []
    verb = "Would free" if dry_run else "Freed"
    places = "1 place" if len(found) == 1 else f"{len(found)} places"
    freed = f"{verb} {readable_size(num_bytes)} in {places}."
    print_answer(record, *tables, freed, *map(_describe_kept, kept), as_json=as_json)
    return 1 if kept else 0


def _describe_kept(leftover: Leftover) -> str:
    return f"{readable_path(leftover.path)} could not be removed: parts of it are not yours."


def find_leftovers(store: Store) -> Iterator[Leftover]:
    """Everything in the store's pipeline roots that may be removed."""
    known = [Root.at(place) for place in find_roots(store)]
    kept = {
        output_dir(artifact.uri) for artifact in store.artifacts(states=(State.LIVE, State.PENDING))
    }
    abandoned = {output_dir(one.uri): one for one in store.artifacts(states=(State.ABANDONED,))}
    for directory, artifact in abandoned.items():
        root = next((root for root in known if root.has_output(directory)), None)
        if root and directory not in kept:
            what = f"{artifact.type_name} that was not published"
            yield from _if_there(root.find_path(directory), what)
            if root.url:
                yield from _if_in_bucket(directory, what)
                yield from _if_in_bucket(manifest_file(artifact.uri), "its manifest")
            else:
                yield from _if_there(manifest_file(artifact.uri), "its manifest")
    for root in known:
        yield from _find_leftovers_of_dead_runs(root)
    if any(root.url for root in known):
        from stoker.storage.staging import StagingCache

        for path, num_bytes in StagingCache().clear_left():
            yield Leftover(path=path, what="download that was killed", num_bytes=num_bytes)


def _find_leftovers_of_dead_runs(root: Root) -> Iterator[Leftover]:
    yield from _find_left_drafts(root)
    for path in find_abandoned(root):
        yield from _if_there(path, "scratch files of a run that ended")
    for path in sorted(_list_locks(root)):
        if not is_locked(path) and time.time() - os.stat(path).st_mtime > _STARTING_SECONDS:
            yield from _if_there(path, "lock of a run that was killed")
    for path in sorted(glob.glob(os.path.join(glob.escape(root.checkpoints_dir), "*", "*"))):
        if not is_dir_held(path.removesuffix(".lock")):
            yield from _if_there(path, _UNENDED)
    if root.url and os.path.exists(root.machine_file):
        yield from _find_left_copies(root)


def _find_left_copies(root: Root) -> Iterator[Leftover]:
    """This machine's copies of checkpoints; of other machines nobody here knows what they do."""
    from stoker.storage.checkpoint_mirror import name_machine
    from stoker.storage.places import list_objects

    machine = name_machine(root)
    below = root.find_place(root.checkpoints_dir)
    own = [one.url for one in list_objects(below) if f"/{machine}/" in one.url]
    for folder in sorted({url.partition(f"/{machine}/")[0] for url in own}):
        if not is_dir_held(root.find_path(folder)):
            yield from _if_in_bucket(f"{folder}/{machine}", _UNENDED)


def _find_left_drafts(root: Root) -> Iterator[Leftover]:
    """Files that were not written to their end, if no run is alive that could be writing one."""
    drafts = find_drafts(root.own_dir)
    # In this order: a run holds its lock before it writes.
    if any(map(is_locked, _list_locks(root))):
        return
    for path in drafts:
        folder, *_ = os.path.relpath(path, root.own_dir).split(os.sep)
        if folder not in _REMOVED_WHOLE:
            yield from _if_there(path, "file that was not written to its end")


def _list_locks(root: Root) -> list[str]:
    return glob.glob(os.path.join(glob.escape(root.runs_dir), "*.lock"))


def _if_there(path: str, what: str) -> Iterator[Leftover]:
    if os.path.lexists(path):
        yield Leftover(path=path, what=what, num_bytes=_size(path))


def _if_in_bucket(url: str, what: str) -> Iterator[Leftover]:
    from stoker.storage.places import list_objects

    if objects := list_objects(url):
        yield Leftover(path=url, what=what, num_bytes=sum(one.size for one in objects))


def _size(path: str) -> int:
    if not os.path.isdir(path):
        return os.lstat(path).st_size
    files = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
    return sum(os.lstat(file).st_size for file in files)


def _remove(path: str) -> bool:
    """Remove a file or directory, as far as that is allowed; whether nothing is left of it."""
    if is_remote(path):
        from stoker.storage.places import list_objects, remove

        do_for_all(remove, [one.url for one in list_objects(path)])
        return True
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.unlink(path)
    return not os.path.lexists(path)
