# SPDX-License-Identifier: Apache-2.0
"""Which files a pattern means: the first thing that every reader of examples asks."""

import contextlib
import glob
import os
import stat
from collections.abc import Iterable, Sequence
from typing import IO, Any

from isal import isal_zlib

from stoker.any_python import fileio
from stoker.any_python.layout import is_remote
from stoker.errors import BadData
from stoker.storage.by_path import bring_here

_GZIP = b"\x1f\x8b"
_SAMPLE_BYTES = 1 << 20
_KINDS = {stat.S_ISFIFO: "a named pipe", stat.S_ISSOCK: "a socket"}
UNREADABLE: Any = (OSError, EOFError, isal_zlib.error)
"""What reading a file that `open_any` has opened may raise."""


def matching_files(patterns: str | Iterable[str]) -> list[str]:
    """The files that match each pattern, sorted; a pattern that matches none is an error.

    A pattern may be a glob, a file, or a directory, which means all files in it.
    """
    found: dict[str, None] = {}
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        files = _matching_one(pattern)
        if not files:
            raise BadData(f"No file matches {pattern!r}. Check the path and the pattern.")
        found.update(dict.fromkeys(files))
    return list(found)


def bring_files(patterns: str | Iterable[str]) -> list[str]:
    """The files that match each pattern, on this machine: objects of buckets are downloaded."""
    return list(map(bring_here, matching_files(patterns)))


def find_files(pattern: str) -> list[str]:
    """The files that match a pattern; where only folders do, all files in them. It may be none."""
    with contextlib.suppress(BadData):
        return matching_files(pattern)
    if is_remote(pattern):
        return _find_objects(pattern)
    below = (os.walk(folder) for folder in sorted(glob.glob(pattern)) if os.path.isdir(folder))
    found = [
        os.path.join(folder, name)
        for walk in below
        for folder, _, names in walk
        for name in sorted(names)
    ]
    return sorted(path for path in found if os.path.isfile(path))


def _find_objects(pattern: str) -> list[str]:
    """The URLs that match a pattern; where only folders do, all below them."""
    found = fileio.glob(pattern)
    below = (fileio.walk(one) for one in found if fileio.isdir(one))
    return sorted(
        f"{folder}/{name}" for walk in below for folder, _, names in walk for name in names
    )


def _matching_one(pattern: str) -> list[str]:
    if is_remote(pattern):
        from stoker.storage.places import find_matching  # not for those whose files are all here

        return find_matching(pattern)
    if os.path.isfile(pattern):  # a name may hold characters that glob would read as a pattern
        return [pattern]
    if os.path.isdir(pattern):
        pattern = os.path.join(glob.escape(pattern), "*")
    return sorted(path for path in glob.glob(pattern) if _is_data(path))


def _is_data(path: str) -> bool:
    """Whether a path is that of a file; folders are passed over, whatever else is there is not."""
    if os.path.isfile(path) or os.path.isdir(path):
        return os.path.isfile(path)
    raise BadData(
        f"{path} is {_name_kind(path)}, and no file with data. Remove it, or give a pattern that "
        "does not match it."
    )


def _name_kind(path: str) -> str:
    if not os.path.exists(path):
        return f"a link to {os.readlink(path)}, which is not there"
    mode = os.stat(path).st_mode
    return next((name for test, name in _KINDS.items() if test(mode)), "a device")


def fingerprint(split: str, files: Iterable[str]) -> str:
    """What identifies the input of a split, in the form in which TFX records it."""
    stats = [fileio.stat(path) for path in files]
    seconds = [int(stat.st_mtime) for stat in stats]
    xor = 0
    for second in seconds:
        xor ^= second
    return (
        f"split:{split},num_files:{len(stats)},total_bytes:{sum(s.st_size for s in stats)},"
        f"xor_checksum:{xor},sum_checksum:{sum(seconds)}"
    )


def read_sample(path: str) -> tuple[bytes, float]:
    """The beginning of a file, decompressed, and which share of the file that is.

    What is wrong with a file is for whoever reads all of it to say: of such there is no sample.
    """
    with contextlib.suppress(*UNREADABLE), open(path, "rb") as file:
        start = file.read(_SAMPLE_BYTES)
        share = len(start) / max(1, os.fstat(file.fileno()).st_size)
        if start.startswith(_GZIP):
            start = isal_zlib.decompressobj(isal_zlib.MAX_WBITS | 16).decompress(start)
        return start, share
    return b"", 0.0


def estimate_lines(files: Sequence[str]) -> int | None:
    """About how many lines some files have, if they are all like the beginning of the first."""
    sample, share = read_sample(files[0])
    return scale_up(sample.count(b"\n"), share, files)


def scale_up(num_in_sample: int, share: float, files: Sequence[str]) -> int | None:
    """What all files have of something, if the sample of the first is like the rest."""
    sizes = [os.path.getsize(path) for path in files]
    return round(num_in_sample / share * sum(sizes) / sizes[0]) if share else None


def open_any(path: str) -> IO[bytes]:
    """A file of text, decompressed if its content says that it is gzip."""
    from isal import igzip

    with open(path, "rb") as file:
        compressed = file.read(len(_GZIP)) == _GZIP
    return igzip.open(path, "rb") if compressed else open(path, "rb")
