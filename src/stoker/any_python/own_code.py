# SPDX-License-Identifier: Apache-2.0
"""Where Stoker's own code lies: what is in there is not the user's."""

from __future__ import annotations

import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
STOKER_DIR = os.path.dirname(HERE)
PACKAGES_DIR = os.path.dirname(STOKER_DIR)
"""The folder that both packages are in, and maybe others."""
OUR_PACKAGES = ("stoker", "tfx")
OUR_PLACES = tuple(os.path.join(PACKAGES_DIR, name, "") for name in OUR_PACKAGES)
"""What the paths of files of ours begin with."""
_NOT_USERS = (os.path.dirname(os.__file__), "<frozen ", *OUR_PLACES)
_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")


def is_users_file(path: str) -> bool:
    """Whether a file is of nobody's package: neither installed, nor of Python's own, nor ours."""
    return not (_INSTALLED.search(path) or path.startswith(_NOT_USERS))
