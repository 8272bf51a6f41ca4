# SPDX-License-Identifier: Apache-2.0
"""What lies where below a pipeline root.

A root in a bucket has its outputs and manifests there, by the same names. All else that is below it
is on this machine, in a folder of the user's cache: there steps write their outputs, which are
uploaded when they are published.

<root>/<node>/<key>/<execution id>/     an output; a value is the file `value` in it
<root>/.stoker/
    runs/<run id>.lock                  locked by a run that is alive
    runs/<run id>@<node>.lock           locked by a step that is alive, of a run that steps join
    tmp/<digest of run id>/             what its steps need as long as they run
        progress.json                   what the step that runs has last reported
    logs/<node>/<execution id>.txt      what a step printed
    checkpoints/<node>/<digest>/        how far work was that has not ended
    checkpoints/<node>/<digest>.lock    locked by the run that is at that work
    columns/                            columns of examples that came without
    manifests/<node>/<key>/<execution id>.json
    sources/<digest>                    the code of steps, as it was when they ran
    digests.json                        of files that no step made
    machine                             a name for this one, of a root in a bucket
    writable                            written, in a bucket, to see whether one may write there
    pushes/<digest of folder>/last      the last version that was pushed to a served folder
"""

import glob
import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from stoker.any_python.layout import is_remote

CACHE_DIR = "STOKER_CACHE_DIR"
OWN_DIR = ".stoker"
"""What is Stoker's own in a root, beside the outputs."""
_VALUE = "value"


def cache_dir() -> str:
    """The user's folder for what can be had again: files of buckets, above all."""
    if chosen := os.environ.get(CACHE_DIR):
        return os.path.abspath(chosen)
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(caches, "stoker")


@dataclass(frozen=True, slots=True)
class Root:
    """A pipeline root, and the paths below it."""

    path: str
    url: str = ""
    """Where the outputs are kept, if that is no folder of this machine."""

    @classmethod
    def at(cls, place: str) -> Self:
        """The root at a path, or at a URL."""
        if not is_remote(place):
            return cls(os.path.abspath(place))
        url = place.rstrip("/")
        name = hashlib.sha256(url.encode()).hexdigest()[:16]
        return cls(os.path.join(cache_dir(), "roots", name), url)

    @property
    def place(self) -> str:
        """Where the outputs are kept: what is recorded, and told."""
        return self.url or self.path

    def find_place(self, path: str) -> str:
        """Where what is written to a path below the root is kept."""
        inside = os.path.join(self.path, "")
        if self.url and path.startswith(inside):
            return f"{self.url}/{path.removeprefix(inside)}"
        return path

    def find_path(self, place: str) -> str:
        """Where on this machine that is written which is kept at a place; the inverse."""
        inside = f"{self.url}/"
        if self.url and place.startswith(inside):
            return os.path.join(self.path, place.removeprefix(inside))
        return place

    @property
    def own_dir(self) -> str:
        """What is Stoker's own, beside the outputs."""
        return os.path.join(self.path, OWN_DIR)

    @property
    def runs_dir(self) -> str:
        """The lock files of runs."""
        return os.path.join(self.own_dir, "runs")

    @property
    def scratch_dir(self) -> str:
        """What the steps of all runs need as long as they run."""
        return os.path.join(self.own_dir, "tmp")

    @property
    def checkpoints_dir(self) -> str:
        """How far work was that has not ended, of all nodes."""
        return os.path.join(self.own_dir, "checkpoints")

    @property
    def columns_dir(self) -> str:
        """The columns of examples that came without."""
        return os.path.join(self.own_dir, "columns")

    @property
    def digests_file(self) -> str:
        """The digests of files that no step made."""
        return os.path.join(self.own_dir, "digests.json")

    @property
    def machine_file(self) -> str:
        """The name that this machine has among those that share a root in a bucket."""
        return os.path.join(self.own_dir, "machine")

    @property
    def writable_file(self) -> str:
        """What is written to see whether one may write to a root in a bucket."""
        return os.path.join(self.own_dir, "writable")

    def last_push_file(self, base_directory: str) -> str:
        """The last version that was pushed to a served folder."""
        place = base_directory if is_remote(base_directory) else os.path.realpath(base_directory)
        name = hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
        return os.path.join(self.own_dir, "pushes", name, "last")

    def run_lock(self, run_id: str) -> str:
        """The file that a run locks while it is alive."""
        return os.path.join(self.runs_dir, f"{_as_file_name(run_id)}.lock")

    def tmp_dir(self, run_id: str) -> str:
        """What the steps of a run may write and nobody needs afterwards; its name is short."""
        name = hashlib.sha256(_as_file_name(run_id).encode()).hexdigest()[:8]
        return os.path.join(self.scratch_dir, name)

    def progress_file(self, run_id: str) -> str:
        """What the step that runs has last reported, for those who look from outside."""
        return os.path.join(self.tmp_dir(run_id), "progress.json")

    def source_file(self, digest: str) -> str:
        """A file of the user's code, by the digest of what it said when a step loaded it."""
        return os.path.join(self.own_dir, "sources", digest)

    def log_file(self, node_id: str, execution_id: int) -> str:
        """What a step printed."""
        return os.path.join(self.own_dir, "logs", node_id, f"{execution_id}.txt")

    def checkpoint_dir(self, node_id: str, digest: str) -> str:
        """How far work was that has not ended."""
        return os.path.join(self.checkpoints_dir, node_id, digest)

    def outputs_dir(self, node_id: str, key: str) -> str:
        """The outputs of one key, each in the folder of its execution."""
        return os.path.join(self.path, node_id, key)

    def output_uri(self, node_id: str, key: str, execution_id: int, *, is_value: bool) -> str:
        """Where an execution writes an output: a directory, or the file of a value in it."""
        directory = os.path.join(self.outputs_dir(node_id, key), str(execution_id))
        return os.path.join(directory, _VALUE) if is_value else directory

    def list_shared_dirs(self, node_ids: Iterable[str]) -> list[str]:
        """The directories that every run of some nodes writes into, as far as they are there."""
        own = ("runs", "tmp", "columns", "pushes/*")
        below = [OWN_DIR, *(f"{OWN_DIR}/{name}" for name in own)]
        for node in map(glob.escape, node_ids):
            below += [f"{node}/*", f"{OWN_DIR}/manifests/{node}/*"]
            below += [f"{OWN_DIR}/{kind}/{node}" for kind in ("logs", "checkpoints")]
        patterns = (os.path.join(glob.escape(self.path), one) for one in below)
        return [path for pattern in patterns for path in glob.glob(pattern) if os.path.isdir(path)]

    def has_output(self, directory: str) -> bool:
        """Whether a directory is that of an output: only such are ours."""
        parts = os.path.relpath(self.find_path(directory), self.path).split(os.sep)
        return len(parts) == 3 and os.pardir not in parts and parts[2].isdigit()


def _as_file_name(run_id: str) -> str:
    """A run's id without colons, which exFAT, FAT and shares of Windows have not in names."""
    return run_id.replace(":", "-")


def name_step(run_id: str, node_id: str) -> str:
    """What a step of a run that steps join has instead of the run's id, for files of its own."""
    return f"{run_id}@{node_id}"


def step_lock(run_lock: str, node_id: str) -> str:
    """The file that such a step locks while it is alive, beside that of its run."""
    return name_step(run_lock.removesuffix(".lock"), f"{_as_file_name(node_id)}.lock")


def name_report(run_id: str) -> str:
    """The name of the file with the report on a run."""
    return f"report-{_as_file_name(run_id)}.html"


def output_dir(uri: str) -> str:
    """The directory of an output; the URI of a value is a file in it."""
    return os.path.dirname(uri) if os.path.basename(uri) == _VALUE else uri


def root_of(uri: str) -> Root:
    """The root that an output is below, by its path."""
    return Root(os.path.abspath(os.path.join(output_dir(uri), *[os.pardir] * 3)))


def find_moved_root(root: str, store_file: str, store_file_now: str) -> str:
    """Where a root lies that was moved or copied together with its store; itself if it was not.

    `store_file` is where the store was; empty where that is not known: then it was in the root.
    """
    if store_file_now == store_file or is_remote(root):
        return root
    folder = os.path.dirname(store_file_now)
    if store_file:
        way = os.path.relpath(root, os.path.dirname(store_file))
        return os.path.normpath(os.path.join(folder, way))
    is_moved = not os.path.isdir(root) and os.path.isdir(Root(folder).own_dir)
    return folder if is_moved else root


def move_path(path: str, moved_roots: Mapping[str, str]) -> str:
    """Where a path lies that was in a root, by where that root is now; empty if it was in none."""
    for before, now in moved_roots.items():
        inside = os.path.join(before, "")
        if path == before or path.startswith(inside):
            return os.path.join(now, path[len(inside) :])
    return ""


def manifest_file(uri: str) -> str:
    """Where it is kept what the files of an output were when it was published."""
    folder, execution_id = os.path.split(output_dir(uri))
    node_dir, key = os.path.split(folder)
    root, node_id = os.path.split(node_dir)
    return os.path.join(Root(root).own_dir, "manifests", node_id, key, f"{execution_id}.json")
