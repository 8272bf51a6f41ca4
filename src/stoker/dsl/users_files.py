# SPDX-License-Identifier: Apache-2.0
"""Files that a pipeline names: below the working folder, or beside the file that names them."""

import glob
import os
import sys

from stoker.any_python.own_code import OUR_PLACES


def find_declaring_folder() -> str:
    """The folder of the user's file whose line is running."""
    frame = sys._getframe()
    while frame.f_back and frame.f_code.co_filename.startswith(OUR_PLACES):
        frame = frame.f_back
    return os.path.dirname(os.path.abspath(frame.f_code.co_filename))


def find_users_path(path: str, declaring_folder: str) -> str:
    """The path as it is, unless there is something of this name only beside the pipeline's files.

    Those are the file that names it, and the program that runs.
    """
    if not path or os.path.isabs(path) or "://" in path or _leads_somewhere(path):
        return path
    program = getattr(sys.modules["__main__"], "__file__", None)
    folders = [declaring_folder, *([os.path.dirname(os.path.abspath(program))] if program else [])]
    found = (os.path.join(folder, path) for folder in folders)
    return next(filter(_leads_somewhere, found), path)


def _leads_somewhere(path: str) -> bool:
    return os.path.exists(path) or bool(glob.glob(path))
