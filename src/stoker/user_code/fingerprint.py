# SPDX-License-Identifier: Apache-2.0
"""What of a user's code a step depends on: whole files, or a definition and what it depends on."""

import hashlib
from collections.abc import Sequence

from stoker.user_code.dependencies import source_that_counts
from stoker.user_code.imports import scan


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
