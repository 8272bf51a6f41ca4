# SPDX-License-Identifier: Apache-2.0
"""Places that are not folders: the objects below a URL, one by one, read and written whole."""

import contextlib
import fnmatch
import glob
import os
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from stoker.any_python.url_files import (
    FOLDERLESS,
    PlaceError,
    as_url,
    attempt,
    connect,
    find_time,
    split_url,
)

_VERSIONS = (
    "generation",
    "ETag",
    "etag",
    "VersionId",
    "content_md5",
    "md5Hash",
    "created",
    "mtime",
)
"""What file systems call that which changes with an object, the most telling first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """One object: what a listing tells of it."""

    url: str
    size: int
    version: str
    """What is another one as soon as the content is: an ETag, or whatever the place has."""
    written: float = field(default=0.0, compare=False)
    """When, by the clock of the place."""


__all__ = [
    "Object",
    "PlaceError",
    "download",
    "find_matching",
    "list_folder",
    "list_objects",
    "look_at",
    "look_once",
    "read",
    "remove",
    "upload",
    "write",
]


def list_objects(url: str) -> list[Object]:
    """All objects below a URL, or the one that it names; none if there is nothing."""
    scheme, _ = split_url(url)

    def look() -> list[Object]:
        files, path = connect(url)
        found = files.find(path, detail=True)
        return [
            _describe(as_url(url, name), info)
            for name, info in sorted(found.items())
            if info["type"] == "file" and not name.endswith("/")
        ]

    with contextlib.suppress(FileNotFoundError):
        return attempt(look, url, "listed")
    _require_bucket(url, scheme)
    return []


Listing = dict[str, Object | None]
_listings: ContextVar[dict[str, Listing] | None] = ContextVar("listings", default=None)


@contextlib.contextmanager
def look_once() -> Iterator[None]:
    """Inside, a folder is listed once, however often it is asked for: for one decision."""
    token = _listings.set({})
    try:
        yield
    finally:
        _listings.reset(token)


def list_folder(url: str) -> Listing:
    """What is directly below a URL, by its name: objects, and None for folders.

    Of a URL that names an object, it is that object.
    """
    known = _listings.get()
    if known is None:
        return _list_now(url)
    if url not in known:
        known[url] = _list_now(url)
    return known[url]


def _list_now(url: str) -> Listing:
    def look() -> Listing:
        files, path = connect(url)
        found: Listing = {}
        for info in files.ls(path, detail=True):
            name = info["name"].rstrip("/")
            if info["type"] == "file" and not info["name"].endswith("/"):
                found[os.path.basename(name)] = _describe(as_url(url, name), info)
            elif name != path.rstrip("/"):
                found[os.path.basename(name)] = None
        return found

    with contextlib.suppress(FileNotFoundError):
        return attempt(look, url, "listed")
    return {}


def find_matching(pattern: str) -> list[str]:
    """The URLs of the objects that a pattern matches, or that are directly in a folder, sorted."""
    folder, _, name = pattern.rpartition("/")
    if not glob.has_magic(pattern):
        return sorted(one.url for one in list_folder(pattern).values() if one)
    if not (glob.has_magic(folder) or "**" in name):  # one request
        there = {key: one.url for key, one in list_folder(folder).items() if one}
        return sorted(there[key] for key in fnmatch.filter(there, name))
    return attempt(lambda: _glob(pattern), pattern, "listed")


def _glob(pattern: str) -> list[str]:
    files, path = connect(pattern)
    found = files.glob(path, detail=True)
    return sorted(as_url(pattern, name) for name in found if found[name]["type"] == "file")


def look_at(url: str) -> Object | None:
    """One object; None if there is none of this name."""

    def look() -> Object | None:
        files, path = connect(url)
        info = files.info(path)
        return _describe(url, info) if info["type"] == "file" else None

    with contextlib.suppress(FileNotFoundError):
        return attempt(look, url, "looked at")
    return None


def read(url: str) -> bytes:
    """The content of an object."""

    def get() -> bytes:
        files, path = connect(url)
        return bytes(files.cat_file(path))

    return attempt(get, url, "read")


def write(url: str, data: bytes, *, new: bool = False) -> None:
    """Write an object, whole or not at all; one that is to be `new` must not be there yet."""

    def put() -> None:
        files, path = connect(url)
        if new and _can_create(files):
            files.pipe_file(path, data, mode="create")
        else:
            _make_folder(url, files, path)
            files.pipe_file(path, data)

    attempt(put, url, "written")


def download(url: str, path: str) -> None:
    """Copy an object to a file, which is there."""

    def get() -> None:
        files, there = connect(url)
        files.get_file(there, path)

    attempt(get, url, "read")


def upload(path: str, url: str) -> None:
    """Copy a file to an object, whole or not at all."""

    def put() -> None:
        files, there = connect(url)
        _make_folder(url, files, there)
        # Google's client compares checksums only if it is asked to; Amazon's always sends one.
        extra = {"consistency": "md5"} if split_url(url)[0] in ("gs", "gcs") else {}
        files.put_file(path, there, **extra)

    attempt(put, url, "written")


def remove(url: str) -> None:
    """Delete an object, if it is there."""

    def delete() -> None:
        files, path = connect(url)
        files.rm_file(path)

    with contextlib.suppress(FileNotFoundError):
        attempt(delete, url, "deleted")


def _describe(url: str, info: dict[str, Any]) -> Object:
    found = next((info[name] for name in _VERSIONS if info.get(name)), "")
    version = found.timestamp() if isinstance(found, datetime) else found
    return Object(
        url=url,
        size=int(info.get("size") or 0),
        version=str(version).strip('"'),
        written=find_time(info),
    )


def _make_folder(url: str, files: Any, path: str) -> None:
    """Make the folder of a file, where there are folders."""
    if split_url(url)[0] not in FOLDERLESS:
        files.makedirs(os.path.dirname(path), exist_ok=True)


def _can_create(files: Any) -> bool:
    """Whether this file system can refuse to write over what is there."""
    return "s3" in files.protocol


def _require_bucket(url: str, scheme: str) -> None:
    """Tell a bucket that is not there from one in which nothing has this name."""
    if scheme not in ("s3", "s3a", "gs", "gcs"):
        return
    bucket = split_url(url)[1].partition("/")[0]
    files, _ = connect(url)
    try:
        attempt(lambda: files.ls(bucket, detail=False), url, "listed")
    except FileNotFoundError as error:
        raise PlaceError(
            f"{url}: there is no bucket {bucket!r}. Make it, or name another one."
        ) from error
