# SPDX-License-Identifier: Apache-2.0
"""What a notebook's cells define, written to a file of its own, from which a worker loads it."""

import functools
import hashlib
import os
import sys

from stoker.any_python.temporary import make_temporary_dir
from stoker.dsl.definitions import find_definition


def file_of_cells(name: str) -> str | None:
    """A file with the definition of `name` in the cells run so far, and all that it uses.

    None if this is no notebook, or no cell defines it.
    """
    cells = getattr(sys.modules["__main__"], "In", None)  # where IPython keeps what was run
    text = find_definition(cells, name) if isinstance(cells, list) else None
    return text and _write(text)


def _write(text: str) -> str:
    """One file for one text: a worker that loads it later finds what it was to find."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    path = os.path.join(_folder(), digest, "cells.py")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{text}\n")
    return path


_folder = functools.cache(make_temporary_dir)
