# SPDX-License-Identifier: Apache-2.0
"""Buckets for code that knows only paths, such as TFDV's and TFMA's calls in a notebook."""

import contextlib
import os
import tempfile
from collections.abc import Iterator

from stoker.any_python.layout import is_remote


def bring_here(path: str) -> str:
    """Where a file or a folder is read on this machine; what is in a bucket is downloaded first."""
    if not is_remote(path):
        return path
    from stoker.storage.root import cache_dir
    from stoker.storage.staging import open_cache
    from stoker.storage.upload import stage_external

    return stage_external(open_cache(cache_dir()), path)


@contextlib.contextmanager
def send_there(path: str) -> Iterator[str]:
    """Where to write, on this machine, a file or a folder that is to be at a path or a URL."""
    if not is_remote(path):
        yield path
        return
    from stoker.storage.places import upload

    url = path.rstrip("/")
    with tempfile.TemporaryDirectory() as scratch:
        here = os.path.join(scratch, os.path.basename(url))
        yield here
        if os.path.isfile(here):
            upload(here, url)
        for folder, _, names in os.walk(here):
            for name in names:
                written = os.path.join(folder, name)
                upload(written, f"{url}/{os.path.relpath(written, here)}")
