# SPDX-License-Identifier: Apache-2.0
"""Names that users give: those of files may not lead out of a root, and some are misspelt."""

from __future__ import annotations

import difflib
import re
from typing import Iterable

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_MOST_BYTES = 200
"""A file system takes 255 in one name, and some of ours have an ending."""


def check_file_name(name: str, what: str) -> str:
    """The name itself, if it can be that of a file; else an error about `what` it names."""
    if not isinstance(name, str):
        raise TypeError(f"{what} is text, got {name!r}.")
    if not _is_file_name(name):
        raise ValueError(
            f"{what} is the name of a file or folder: it takes letters, digits, spaces and "
            f"signs such as '.', '_' and '-', {_MOST_BYTES} bytes at most, but no '/', no '\\', no "
            f"control character, and no '.' at its beginning; got {name!r}."
        )
    return name


def _is_file_name(name: str) -> bool:
    return (
        name.isprintable()  # which lone surrogates are not, and '' is
        and 0 < len(name.encode()) <= _MOST_BYTES
        and not name.startswith(".")
        and not set("/\\") & set(name)
    )


def is_remote(path: str) -> bool:
    """Whether a path is a URL, such as that of a bucket, and no place on this machine."""
    return _REMOTE.match(path) is not None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint at the known name that is nearest, if one is near."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f" Did you mean {near[0]!r}?" if near else ""
