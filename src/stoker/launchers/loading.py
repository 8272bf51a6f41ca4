# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's library, a gigabyte, is loaded beside the modules that TensorFlow imports.

To load it is an eighth of TensorFlow's import, and needs nothing of Python: another processor can
do that meanwhile.
"""

import contextlib
import ctypes
import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator

_LIBRARY = "libtensorflow_cc.so.2"
_MEANWHILE = ("numpy", "pandas", "scipy.sparse", "h5py")
"""What TensorFlow and Keras import where it is installed: it takes as long as the library."""


@contextlib.contextmanager
def load_library_beside() -> Iterator[None]:
    """Load the library in a thread, which has ended when this has: forking is safe after it."""
    path = _find_library()
    if path is None:
        yield
        return
    thread = threading.Thread(target=_load, args=(path,))
    thread.start()
    try:
        for name in _MEANWHILE:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        yield
    finally:
        thread.join()


def _find_library() -> str | None:
    spec = importlib.util.find_spec("tensorflow") if sys.platform == "linux" else None
    folders = (spec and spec.submodule_search_locations) or ()
    paths = (os.path.join(folder, _LIBRARY) for folder in folders)
    return next(filter(os.path.exists, paths), None)


def _load(path: str) -> None:
    # ctypes.CDLL(path) would hold Python's lock meanwhile. What cannot be loaded is TensorFlow's
    # to report, when it is imported.
    ctypes.CDLL(None).dlopen(path.encode(), os.RTLD_NOW)
