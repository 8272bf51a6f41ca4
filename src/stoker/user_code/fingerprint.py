# SPDX-License-Identifier: Apache-2.0
"""What of a user's code a step depends on: whole files, or one definition and what it uses."""

import os
from collections.abc import Sequence

from stoker.any_python import modules
from stoker.dsl.definitions import definition_in
from stoker.user_code.imports import scan

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = (_HERE, os.path.join(os.path.dirname(_HERE), "tfx"))


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
    return modules.loaded_files(_OURS)
