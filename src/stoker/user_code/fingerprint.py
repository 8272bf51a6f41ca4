# SPDX-License-Identifier: Apache-2.0
"""What of a user's code a step depends on: whole files, or one definition and what it uses."""

import os
import sys
from collections.abc import Sequence

from stoker.dsl.definitions import definition_in
from stoker.user_code.imports import is_installed, scan

__all__ = ["definition_source", "files_of", "loaded_files"]


def files_of(module_file: str, import_paths: Sequence[str] = ()) -> list[str]:
    """A module file and the user's own files that it imports, however indirectly."""
    return list(scan(module_file, import_paths).files)


def definition_source(file: str, name: str) -> str:
    """The source of one definition in a file, with that of every name in the file that it uses.

    So that a step that a pipeline file defines does not depend on the rest of the pipeline file.
    The whole text where the file cannot be parsed or has no such name.
    """
    with open(file, encoding="utf-8") as opened:
        text = opened.read()
    return definition_in([text], name.partition(".")[0]) or text


def loaded_files() -> list[str]:
    """The user's own files that this process has loaded as modules, the pipeline file apart."""
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    beside = os.path.join(os.path.dirname(ours), "tfx")
    found = set()
    for name, module in sys.modules.copy().items():  # other threads may be importing
        file = getattr(module, "__file__", None)
        if not file or name.startswith(("__main__", "__stoker_main__")):
            continue
        path = os.path.abspath(file)
        if not is_installed(path) and not path.startswith((ours + os.sep, beside + os.sep)):
            found.add(path)
    return sorted(found)
