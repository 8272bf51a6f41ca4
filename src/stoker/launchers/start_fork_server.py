# SPDX-License-Identifier: Apache-2.0
"""Starts a fork server: TensorFlow's library is loaded beside modules that are Python alone.

The library, a gigabyte, is an eighth of TensorFlow's import, and another processor can load it
meanwhile. But a process loads one library at a time: who imports a module of C waits for it. So
those come first that the modules of Python need.

Started by `processes.py` as `python -m stoker.launchers.start_fork_server FD NEEDS MODE`.
"""

import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator

_LIBRARY = "libtensorflow_cc.so.2"
_IN_C = (
    *("_asyncio", "_bisect", "_blake2", "_bz2", "_contextvars", "_csv", "_datetime", "_hashlib"),
    *("_heapq", "_lzma", "_multiprocessing", "_opcode", "_pickle", "_posixsubprocess", "_queue"),
    *("_random", "_sha512", "_socket", "_ssl", "_uuid", "array", "binascii", "fcntl"),
    *("google._upb._message", "math", "mmap", "resource", "select", "termios", "zlib"),
)
_IN_PYTHON = ("stoker.launchers.fork_server", "asyncio", "oauth2client.client", "absl.flags")
"""What a server imports in any case, if it is installed; so does TensorFlow."""


def main() -> None:
    """Import what a fork server is made of, and let it serve."""
    gc.disable()  # a fifth of the time of imports; the server enables it again
    needs_tensorflow = json.loads(sys.argv[2])["tensorflow"]
    with load_library_beside() if needs_tensorflow else contextlib.nullcontext():
        from stoker.launchers import fork_server
    fork_server.main()


@contextlib.contextmanager
def load_library_beside() -> Iterator[None]:
    """Load the library in a thread, which has ended when this has: forking is safe after it."""
    path = _find_library()
    if path is None:
        yield
        return
    _import(_IN_C)
    thread = threading.Thread(target=_load, args=(path,))
    thread.start()
    try:
        _import(_IN_PYTHON)
        yield
    finally:
        thread.join()


def _import(names: Iterable[str]) -> None:
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _find_library() -> str | None:
    spec = importlib.util.find_spec("tensorflow") if sys.platform == "linux" else None
    folders = (spec and spec.submodule_search_locations) or ()
    paths = (os.path.join(folder, _LIBRARY) for folder in folders)
    return next(filter(os.path.exists, paths), None)


def _load(path: str) -> None:
    # ctypes.CDLL(path) would hold Python's lock meanwhile. What cannot be loaded is TensorFlow's
    # to report, when it is imported.
    ctypes.CDLL(None).dlopen(path.encode(), os.RTLD_NOW)


if __name__ == "__main__":
    main()
