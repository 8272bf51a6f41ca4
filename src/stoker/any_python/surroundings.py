# SPDX-License-Identifier: Apache-2.0
"""What a worker's process finds around it: the program's own paths, arguments and flags."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Sequence

from .flags import FlagArguments, take_over_flags


def take_over_program(
    import_paths: Sequence[str], argv: Sequence[str], flags: FlagArguments | None
) -> None:
    """Let this process import what the program could, and see its command line."""
    sys.path[:] = list(dict.fromkeys([*import_paths, *sys.path]))
    if argv:
        sys.argv = list(argv)
    take_over_flags(flags)


def use_temporary_dir(folder: str) -> None:
    """Let this process, and those that it starts, make their temporary files in a folder.

    One that is not there, as on a machine that does not share it, leaves everything as it is.
    """
    if os.path.isdir(folder):
        os.environ["TMPDIR"] = tempfile.tempdir = folder
