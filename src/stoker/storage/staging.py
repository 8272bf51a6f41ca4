# SPDX-License-Identifier: Apache-2.0
"""The staging cache: objects of buckets as local files, downloaded once and shared by all runs.

<cache>/files/ab/abcd…          a file, named by the SHA-256 of its content
<cache>/files/.part-…           one that is being downloaded, and locked by whoever does
<cache>/locks/abc               held while a file whose name begins so is fetched
<cache>/versions/<digest>       the SHA-256 of an object, by its URL and version
<cache>/trees/<digest>/s3/…     objects below their URL, as links to these files; what they are is
                                said by the digest, so that a tree never changes
<cache>/trees/<digest>.lock     locked by the runs that use the tree
<cache>/trees/.drafts/          links that are about to get their names
<cache>/roots/<digest>/         what a pipeline root in a bucket has on this machine

A file is verified before it gets its name, and nobody may write to it then. Whoever does all the
same moves its time of modification, which is one for all files here: it is fetched again.
"""

import contextlib
import errno
import functools
import hashlib
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

from stoker.any_python.layout import is_remote
from stoker.any_python.url_files import split_url
from stoker.storage.files import clone_file, do_for_all, write_whole
from stoker.storage.locks import hold_lock, is_locked, share_lock, try_to_hold
from stoker.storage.places import Object, PlaceError, download, look_at
from stoker.storage.root import Root, cache_dir
from stoker.storage.scratch import find_abandoned

MAX_BYTES = "STOKER_CACHE_BYTES"
_DEFAULT_MAX_BYTES = 50 * 10**9
_PART = ".part-"
_MTIME_NS = 946_684_800 * 10**9
"""The time of modification of every file here: the beginning of the year 2000."""
_NUM_TRIES = 3
_NUM_DIGITS = 16
"""Of a digest, in the name of a tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An object that is to be here as a file."""

    url: str
    size: int
    sha256: str = ""
    """Empty where only the object's version is known."""
    version: str = ""

    @classmethod
    def of(cls, found: Object) -> Self:
        """An object that no manifest tells of."""
        return cls(url=found.url, size=found.size, version=found.version)


def digest_objects(objects: Iterable[Object], below: str) -> str:
    """One digest for some objects, by their versions, wherever they lie together."""
    start = below.rstrip("/")
    lines = [f"{one.version} {one.size} {one.url.removeprefix(start)}\n" for one in objects]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def find_url(path: str) -> str:
    """The URL that a path in the cache stands for; the path itself if it stands for none."""
    trees = os.path.join(cache_dir(), "trees", "")
    if not path.startswith(trees):
        return path
    _, _, inside = path.removeprefix(trees).partition(os.sep)
    scheme, _, rest = inside.partition(os.sep)
    return f"{scheme}://{rest}"


@dataclass(kw_only=True)
class StagingCache:
    """The cache, as one run uses it: what it has been given stays until it is closed."""

    folder: str = field(default_factory=cache_dir)
    max_bytes: int = field(default_factory=lambda: _read_limit())
    report: Callable[[int, int], None] = lambda done, total: None  # noqa: ARG005
    """Is told how many bytes are here, and how many there are to be."""
    num_downloaded: int = 0
    _held: dict[str, int] = field(default_factory=dict)
    """The descriptors of the trees that are in use."""
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def close(self) -> None:
        """Let go of everything."""
        for descriptor in self._held.values():
            os.close(descriptor)
        self._held.clear()

    def stage(self, url: str, wanted: Sequence[Wanted], *, digest: str) -> str:
        """Have objects below a URL as files in a tree of this digest; gives where the URL is."""
        tree = self._hold_tree(digest)
        place = os.path.join(tree, *_split_path(url))
        missing = [one for one in wanted if not _is_intact(_path_in(tree, one.url), one.size)]
        if missing:
            self._make_room(missing)
            total, done = sum(one.size for one in missing), 0

            def bring(one: Wanted) -> None:
                nonlocal done
                self._give(one, _path_in(tree, one.url))
                with self._counting:
                    done += one.size
                    self.report(done, total)

            do_for_all(bring, list({one.url: one for one in missing}.values()))
        return place

    def find_path(self, url: str, digest: str) -> str:
        """Where `stage` has a URL in a tree of this digest."""
        tree = os.path.join(self.folder, "trees", digest[:_NUM_DIGITS])
        return _path_in(tree, url)

    def adopt(self, path: str, sha256: str, size: int) -> None:
        """Keep a file that was made here, so that nobody has to download it.

        Its name may go; whoever has it open for writing is trusted to have ended.
        """
        kept = self._file(sha256)
        if _is_intact(kept, size):
            return
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        draft = os.path.join(self._files_dir, f"{_PART}{os.getpid()}-{sha256}")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        try:
            os.link(path, draft)
        except OSError:  # the cache is on another file system
            return
        _seal_file(draft)
        os.replace(draft, kept)

    def clear_left(self) -> Iterator[tuple[str, int]]:
        """Each file that a download which died has left, with its size."""
        with contextlib.suppress(FileNotFoundError):
            for one in list(os.scandir(self._files_dir)):
                if one.name.startswith(_PART) and not is_locked(one.path):
                    yield one.path, one.stat().st_size

    @property
    def _files_dir(self) -> str:
        return os.path.join(self.folder, "files")

    @property
    def _drafts_dir(self) -> str:
        return os.path.join(self.folder, "trees", ".drafts")

    def _file(self, sha256: str) -> str:
        return os.path.join(self._files_dir, sha256[:2], sha256)

    def _hold_tree(self, digest: str) -> str:
        name = digest[:_NUM_DIGITS]
        tree = os.path.join(self.folder, "trees", name)
        lock = f"{tree}.lock"
        if name in self._held and not os.path.exists(lock):  # somebody has emptied the cache
            os.close(self._held.pop(name))
        if name not in self._held:
            os.makedirs(os.path.dirname(tree), exist_ok=True)
            self._held[name] = share_lock(lock)  # waits while the tree is being removed
        os.makedirs(tree, exist_ok=True)
        os.utime(lock)
        return tree

    def _give(self, one: Wanted, target: str) -> None:
        """Put a file at a place, from the cache or from the bucket."""
        for folder in (os.path.dirname(target), self._drafts_dir):
            os.makedirs(folder, exist_ok=True)
        for _ in range(_NUM_TRIES):
            kept = self._fetch(one)
            # Not beside it: whoever lists a folder of examples takes every file there for one.
            draft = os.path.join(self._drafts_dir, f"{os.getpid()}-{threading.get_ident()}")
            try:
                _link(kept, draft)
                os.replace(draft, target)
            except FileNotFoundError:
                os.makedirs(self._drafts_dir, exist_ok=True)
                continue  # another run has just evicted it
            return
        raise PlaceError(
            f"{one.url} cannot be kept in {self.folder}: another run removes it. Run again."
        )

    def _fetch(self, one: Wanted) -> str:
        """A file in the cache; downloaded if it is not there."""
        sha256 = one.sha256 or self._recall(one)
        if sha256 and _is_intact(kept := self._file(sha256), one.size):
            os.utime(kept, ns=(time.time_ns(), _MTIME_NS))
            return kept
        name = sha256 or hashlib.sha256(f"{one.url} {one.version}".encode()).hexdigest()
        lock = os.path.join(self.folder, "locks", name[:3])
        os.makedirs(os.path.dirname(lock), exist_ok=True)
        with hold_lock(lock):
            sha256 = one.sha256 or self._recall(one)
            if sha256 and _is_intact(kept := self._file(sha256), one.size):
                return kept
            return self._download(one)

    def _download(self, one: Wanted) -> str:
        os.makedirs(self._files_dir, exist_ok=True)
        descriptor, part = tempfile.mkstemp(dir=self._files_dir, prefix=_PART)
        os.close(descriptor)
        try:
            with hold_lock(part):
                sha256 = _download_verified(one, part)
                kept = self._file(sha256)
                os.makedirs(os.path.dirname(kept), exist_ok=True)
                _seal_file(part)
                os.replace(part, kept)
        except OSError as error:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)
            if error.errno == errno.ENOSPC:
                raise PlaceError(
                    f"{self.folder} has no room for {one.url}, of {one.size:,} bytes: its disk is "
                    f"full. Make room, or name a folder elsewhere: STOKER_CACHE_DIR."
                ) from error
            raise
        if not one.sha256:
            with write_whole(self._note_of(one), durable=False) as note:
                note.write(sha256.encode())
        with self._counting:
            self.num_downloaded += one.size
        return kept

    def _note_of(self, one: Wanted) -> str:
        name = hashlib.sha256(f"{one.url} {one.version}".encode()).hexdigest()
        return os.path.join(self.folder, "versions", name)

    def _recall(self, one: Wanted) -> str:
        """What an object's content was when it had this version; empty if nobody knows."""
        if one.version:
            with contextlib.suppress(FileNotFoundError), open(self._note_of(one)) as note:
                return note.read()
        return ""

    def _make_room(self, missing: Sequence[Wanted]) -> None:
        """Evict what was not used for longest; raises PlaceError if that is not enough."""
        new = {one.sha256 or one.url: one for one in missing}.values()
        needed = sum(
            one.size
            for one in new
            if not (one.sha256 and _is_intact(self._file(one.sha256), one.size))
        )
        if not needed:
            return
        os.makedirs(self.folder, exist_ok=True)
        with hold_lock(os.path.join(self.folder, "evict.lock")):
            for left, _ in list(self.clear_left()):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(left)
            excess = self._evict(sum(self._list_sizes().values()) + needed - self.max_bytes)
        if excess > 0:
            raise PlaceError(
                f"The staging cache {self.folder} is full: {needed:,} bytes are to be staged, and "
                f"{self.max_bytes - needed + excess:,} of the {self.max_bytes:,} that it may have "
                f"are in use by runs. Give it more room: {MAX_BYTES}=…, or another folder."
            )

    def _list_sizes(self) -> dict[str, int]:
        sizes = {}
        for folder, _, names in os.walk(self._files_dir):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    path = os.path.join(folder, name)
                    sizes[path] = os.stat(path).st_size
        return sizes

    def _evict(self, excess: int) -> int:
        """Remove files until so many bytes are gone; gives how many are still too many."""
        if excess <= 0:
            return 0
        excess = self._evict_unused(excess)
        trees = os.path.join(self.folder, "trees")
        names = os.listdir(trees) if os.path.isdir(trees) else []
        locks = [os.path.join(trees, name) for name in names if name.endswith(".lock")]
        shutil.rmtree(self._drafts_dir, ignore_errors=True)  # who has lost one makes another
        for root in _list_roots(self.folder):
            for left in find_abandoned(root):
                shutil.rmtree(left, ignore_errors=True)
        for lock in sorted(locks, key=lambda path: os.stat(path).st_mtime):
            if excess <= 0:
                break
            tree = lock.removesuffix(".lock")
            if os.path.isdir(tree) and _remove_tree(tree, lock):
                excess = self._evict_unused(excess)
        return excess

    def _evict_unused(self, excess: int) -> int:
        """Evict files that no tree has, which have no other name; gives the excess that is left."""
        unused = []
        for folder, _, names in os.walk(self._files_dir):
            for name in names:
                path = os.path.join(folder, name)
                with contextlib.suppress(FileNotFoundError):
                    found = os.stat(path)
                    if found.st_nlink == 1 and not name.startswith(_PART):
                        unused.append((found.st_atime_ns, path, found.st_size))
        for _, path, size in sorted(unused):
            if excess <= 0:
                break
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            excess -= size
        return excess


@functools.cache
def open_cache(folder: str) -> StagingCache:
    """The staging cache of this process, in a folder: what it uses stays as long as it lives."""
    return StagingCache(folder=folder)


def _download_verified(one: Wanted, part: str) -> str:
    """Download an object; gives its SHA-256, which is the one that is wanted if one is."""
    for number in range(_NUM_TRIES):
        try:
            download(one.url, part)
        except FileNotFoundError as error:
            raise PlaceError(f"{one.url} is gone. Put it back, or run again.") from error
        with open(part, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            size = os.fstat(file.fileno()).st_size
        if one.sha256:
            if found == one.sha256:
                return found
        else:
            now = look_at(one.url)
            if now and size == one.size and now.version == one.version:
                return found
        if number + 1 < _NUM_TRIES:
            time.sleep(0.1)
    what = "the one that was published" if one.sha256 else "the one that was there before"
    raise PlaceError(
        f"{one.url} is not {what}: somebody has changed it. Run the pipeline again, and what "
        "depends on it is made anew."
    )


def _is_intact(path: str, size: int) -> bool:
    """Whether a file is in the cache, and nobody has written to it since."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return found.st_size == size and found.st_mtime_ns == _MTIME_NS


def _seal_file(path: str) -> None:
    os.chmod(path, stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
    os.utime(path, ns=(time.time_ns(), _MTIME_NS))


def _link(kept: str, target: str) -> None:
    """Another name for a file: a copy that shares its blocks if that can be, else a hard link."""
    if clone_file(kept, target):
        _seal_file(target)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(target)  # of a process that was killed, and had the same number
    os.link(kept, target)


def _remove_tree(tree: str, lock: str) -> bool:
    """Remove a tree, unless a run uses it."""
    with try_to_hold(lock) as is_held:
        if not is_held:
            return False
        gone = tempfile.mkdtemp(dir=os.path.dirname(tree), prefix=".gone-")
        with contextlib.suppress(FileNotFoundError):
            os.rename(tree, os.path.join(gone, "tree"))
    shutil.rmtree(gone, ignore_errors=True)
    return True


def _list_roots(folder: str) -> list[Root]:
    roots = os.path.join(folder, "roots")
    names = os.listdir(roots) if os.path.isdir(roots) else []
    return [Root(os.path.join(roots, name)) for name in sorted(names)]


def _split_path(url: str) -> list[str]:
    """Where a URL is in a tree."""
    if not is_remote(url):
        raise ValueError(f"It takes a URL, got {url!r}.")
    scheme, rest = split_url(url)
    parts = [part for part in rest.split("/") if part]
    if os.pardir in parts:
        raise PlaceError(f"{url} leads out of its bucket. Name it without '..'.")
    return [scheme, *parts]


def _path_in(tree: str, url: str) -> str:
    return os.path.join(tree, *_split_path(url))


def _read_limit() -> int:
    text = os.environ.get(MAX_BYTES, "")
    try:
        return int(float(text)) if text else _DEFAULT_MAX_BYTES
    except ValueError:
        raise PlaceError(f"{MAX_BYTES} is a number of bytes, got {text!r}.") from None
