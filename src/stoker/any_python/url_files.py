# SPDX-License-Identifier: Apache-2.0
"""Files by their URLs, with fsspec: what `fileio` does where a path is no place of this machine.

The only door to fsspec, which is imported when the first URL is met. Listings are never kept:
somebody else may write to a bucket at any time. What passes by itself (a server that is busy, a
connection that breaks) is tried again; what does not (no such bucket, no right, no credentials, no
network) is told at once, as an OSError with the next move.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import posixpath
import shutil
import socket
import stat as _stat
import time
from typing import Any, Callable, Iterator, TypeVar

_EXTRAS = {
    "s3": "stoker[s3]",
    "s3a": "stoker[s3]",
    "gs": "stoker[gcs]",
    "gcs": "stoker[gcs]",
    "az": "stoker[azure]",
    "abfs": "stoker[azure]",
    "abfss": "stoker[azure]",
}
"""What brings the package for a scheme."""
FOLDERLESS = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss")
"""Where a folder is nothing but the beginning of names: to make one is to do nothing."""


_NUM_TRIES = 6
_FIRST_WAIT_SECONDS = 0.1
_FOR_GOOD = (IsADirectoryError, NotADirectoryError, ValueError, TypeError, ImportError)
_WITHOUT_CREDENTIALS = ("NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError")
_SERVERS = {"gs": "storage.googleapis.com", "gcs": "storage.googleapis.com"}
"""Of clients that look for credentials and their server for minutes where there is no network."""
_EMULATOR = "STORAGE_EMULATOR_HOST"
_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
_RIGHTS = "docs/team.md lists the rights that a run needs."
_Result = TypeVar("_Result")


class PlaceError(OSError):
    """What cannot be done in a bucket, in words."""


def attempt(do: Callable[[], _Result], url: str, doing: str) -> _Result:
    """Do something with a URL, again if it fails for a reason that may pass."""
    wait = _FIRST_WAIT_SECONDS
    left = _NUM_TRIES
    while True:
        left -= 1
        try:
            return do()
        except (PlaceError, FileExistsError):
            raise
        except FileNotFoundError as error:
            if doing != "written":
                raise
            told = f"there is no such bucket ({_one_line(error)}). Make it, or name another one."
            raise PlaceError(f"{url} cannot be written: {told}") from error
        except Exception as error:  # of any client library: it is told by its kind, or tried again
            told = _explain(error)
            if told or isinstance(error, _FOR_GOOD) or not left:
                last = f"{type(error).__name__}: {_one_line(error)}. Run the same command again."
                raise PlaceError(f"{url} cannot be {doing}: {told or last}") from error
        time.sleep(wait)
        wait *= 2


def _explain(error: BaseException) -> str:
    """What does not pass by itself, and what to do about it; empty for all else."""
    if type(error).__name__ in _WITHOUT_CREDENTIALS:
        tools = "Set them up as for the provider's own tools."
        return f"there are no credentials ({_one_line(error)}). {tools} {_RIGHTS}"
    if isinstance(error, PermissionError):
        rights = f"Check the credentials and their rights. {_RIGHTS}"
        return f"it is not allowed ({_one_line(error)}). {rights}"
    if _is_for_no_server(error):
        return f"its server is not found ({_one_line(error)}). Check the network."
    return ""


def _is_for_no_server(error: BaseException | None) -> bool:
    """Whether no server has such a name; a resolver that does not answer may do so later."""
    while error is not None:
        if isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME:
            return True
        error = error.__cause__ or error.__context__
    return False


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300].rstrip(".")


def split_url(url: str) -> tuple[str, str]:
    """A URL's scheme, in small letters, and what comes after it."""
    scheme, _, rest = url.partition("://")
    return scheme.lower(), rest


def find_lack(url: str) -> str:
    """Why URLs of this kind cannot be used here, and what to do about it; empty if they can be."""
    scheme, _ = split_url(url)
    try:
        registry = importlib.import_module("fsspec.registry")
    except ImportError:
        wanted = _EXTRAS.get(scheme, "fsspec")
        return f"Install what reads it: pip install '{wanted}'."
    known = registry.known_implementations.get(scheme)
    if known is None and scheme not in registry.registry:
        return (
            f"{scheme}:// is not known here; s3://, gs://, az:// and others of fsspec are. Copy or "
            "mount it, and name the folder."
        )
    # Not imported yet: a pipeline is declared more often than it is run.
    module = known["class"].rpartition(".")[0] if known else "fsspec"
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        wanted = _EXTRAS.get(scheme, module.partition(".")[0])
        return f"Install what reads it: pip install '{wanted}'."
    return ""


def connect(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there."""
    lack = find_lack(url)
    if lack:
        raise ValueError(f"{url} cannot be read or written here. {lack}")
    fsspec = importlib.import_module("fsspec")
    scheme, rest = split_url(url)
    require_place(url)
    files, path = fsspec.core.url_to_fs(f"{scheme}://{rest}", use_listings_cache=False)
    return files, path


def require_place(url: str) -> None:
    """Raise PlaceError if the server of a URL has no address here; none is asked anything."""
    fsspec = importlib.import_module("fsspec")
    scheme, _ = split_url(url)
    server = _SERVERS.get(scheme)
    if server and not (os.environ.get(_EMULATOR) or fsspec.config.conf.get(scheme)):
        try:
            require_server(server)
        except PlaceError as error:
            raise PlaceError(f"{url} cannot be reached: {error}") from error


@functools.lru_cache(maxsize=None)  # an error is not kept
def require_server(server: str) -> None:
    """Raise PlaceError if a server has no address here, unless a proxy is asked for it."""
    if any(map(os.environ.get, _PROXIES)):
        return
    try:
        socket.getaddrinfo(server, 443)
    except OSError as error:
        raise PlaceError(
            f"{server} is not found ({_one_line(error)}). Check the network."
        ) from error


def open_url(url: str, mode: str) -> Any:
    """An open file of fsspec's: of bytes, or of text as TensorFlow reads it."""
    files, path = connect(url)
    options = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    return attempt(lambda: files.open(path, mode, **options), url, "opened")


class UrlStat:
    """What is known of an object, by the names of `os.stat` and of TensorFlow."""

    def __init__(self, info: dict[str, Any]) -> None:
        self.is_directory = info["type"] == "directory"
        self.length = self.st_size = int(info.get("size") or 0)
        self.st_mode = _stat.S_IFDIR if self.is_directory else _stat.S_IFREG
        self.mtime_nsec = self.st_mtime_ns = int(find_time(info) * 1e9)
        self.st_mtime = self.st_mtime_ns / 1e9


def find_time(info: dict[str, Any]) -> float:
    """When an object was written, by the clock of its server; 0 if nothing tells."""
    found: Any
    for name in ("LastModified", "mtime", "updated", "last_modified", "created"):
        found = info.get(name)
        if hasattr(found, "timestamp"):
            return float(found.timestamp())
        if isinstance(found, (int, float)):
            return float(found)
        if isinstance(found, str):
            from datetime import datetime

            return datetime.fromisoformat(found.replace("Z", "+00:00")).timestamp()
    return 0.0


def exists(url: str) -> bool:
    """Whether there is an object, or any below such a name."""
    files, path = connect(url)
    return attempt(lambda: bool(files.exists(path)), url, "looked at")


def isdir(url: str) -> bool:
    """Whether there are objects below such a name."""
    files, path = connect(url)
    return attempt(lambda: bool(files.isdir(path)), url, "looked at")


def listdir(url: str) -> list[str]:
    """The names of what is directly below a URL, sorted."""
    files, path = connect(url)
    found = attempt(lambda: files.ls(path, detail=False), url, "listed")
    here = path.rstrip("/")
    names = {posixpath.basename(one.rstrip("/")) for one in found if one.rstrip("/") != here}
    if not names and not files.isdir(path):
        raise FileNotFoundError(f"There is no folder {url}. Check the URL.")
    return sorted(names)


def glob(pattern: str) -> list[str]:
    """The URLs that match a pattern."""
    files, path = connect(pattern)
    found = attempt(lambda: files.glob(path), pattern, "listed")
    return [as_url(pattern, one) for one in found]


def walk(
    url: str, topdown: bool, onerror: Callable[[OSError], object] | None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder below a URL, with the names of its folders and files."""
    files, path = connect(url)
    try:
        for folder, folders, names in files.walk(path, topdown=topdown):
            yield as_url(url, folder), sorted(folders), sorted(filter(None, names))
    except OSError as error:
        if onerror:
            onerror(error)


def stat(url: str) -> UrlStat:
    """Size and time of an object."""
    files, path = connect(url)
    return UrlStat(attempt(lambda: files.info(path), url, "looked at"))


def mkdir(url: str) -> None:
    """Make a folder, where there are any."""
    files, path = connect(url)
    if files.exists(path):
        raise FileExistsError(f"{url} exists. Choose another name.")
    if split_url(url)[0] not in FOLDERLESS:
        files.mkdir(path, create_parents=False)


def makedirs(url: str) -> None:
    """Make a folder and those above it, where there are any."""
    files, path = connect(url)
    if split_url(url)[0] not in FOLDERLESS:
        files.makedirs(path, exist_ok=True)


def copy(source: str, target: str, is_remote: Callable[[str], bool]) -> None:
    """Copy a file, whichever of the two is here."""
    with _open_any(source, "rb", is_remote) as one, _open_any(target, "wb", is_remote) as other:
        shutil.copyfileobj(one, other, 1 << 20)


def rename(source: str, target: str, is_remote: Callable[[str], bool]) -> None:
    """Copy a file or a folder, then remove it: a bucket knows no renaming."""
    if not (isdir(source) if is_remote(source) else os.path.isdir(source)):
        copy(source, target, is_remote)
        remove(source) if is_remote(source) else os.remove(source)
        return
    walking = walk(source, True, None) if is_remote(source) else os.walk(source)
    for folder, _, names in list(walking):
        inside = folder[len(source) :].strip("/")
        for name in names:
            there = posixpath.join(target, inside, name)
            if not is_remote(target):
                os.makedirs(os.path.dirname(there), exist_ok=True)
            copy(posixpath.join(folder, name), there, is_remote)
    rmtree(source) if is_remote(source) else shutil.rmtree(source)


def remove(url: str) -> None:
    """Delete an object."""
    files, path = connect(url)
    attempt(lambda: files.rm_file(path), url, "deleted")


def rmtree(url: str) -> None:
    """Delete all that is below a URL."""
    files, path = connect(url)
    attempt(lambda: files.rm(path, recursive=True), url, "deleted")


def as_url(like: str, path: str) -> str:
    """A path of a file system as a URL, with the scheme of another one."""
    return "{}://{}".format(split_url(like)[0], path.lstrip("/"))


def _open_any(path: str, mode: str, is_remote: Callable[[str], bool]) -> Any:
    return open_url(path, mode) if is_remote(path) else open(path, mode)
