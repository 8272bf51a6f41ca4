# SPDX-License-Identifier: Apache-2.0
"""What of a user's code a step depends on: whole files, or a definition and what it depends on."""

import hashlib
import os
from collections.abc import Sequence

from stoker.any_python import modules
from stoker.user_code.dependencies import source_that_counts
from stoker.user_code.imports import scan

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = (_HERE, os.path.join(os.path.dirname(_HERE), "tfx"))


def files_of(module_file: str, import_paths: Sequence[str] = ()) -> list[str]:
    """A module file and the user's own files that it imports, however indirectly."""
    return list(scan(module_file, import_paths).files)


def digest_definition(file: str, name: str) -> str:
    """The digest of one definition in a file, with all of the file that it depends on.

    So that a step that a pipeline file defines does not depend on the rest of the pipeline file.
    """
    with open(file, "rb") as opened:
        source = source_that_counts(opened.read(), name.partition(".")[0])
    return hashlib.sha256(source.encode() if isinstance(source, str) else source).hexdigest()


def list_loaded_files() -> list[str]:
    """The user's own files that this process has loaded as modules, the pipeline file apart."""
    return modules.list_loaded_files(_OURS)
