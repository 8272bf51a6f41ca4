# SPDX-License-Identifier: Apache-2.0
"""Another name for a pipeline root whose path has brackets in it.

TensorFlow looks for the variables of a model by a pattern, which is the path itself: it cannot load
what lies below a folder such as `run[1]`. A worker sees such a root through a link without
brackets, and tells the runner of the paths that the runner knows.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile

_OWN_DIR = os.path.join("", ".stoker", "")


class PlainRoot:
    """What a root is called in a worker; it keeps its name unless there are brackets in it."""

    def __init__(self, tmp_dir: str) -> None:
        """Find the root in the path of a task's temporary folder, and name it."""
        root = tmp_dir.partition(os.sep + _OWN_DIR)[0]
        has_brackets = "[" in root and tmp_dir != root
        self._root = root if has_brackets else ""
        self._link = _make_link(root) if has_brackets else ""

    @property
    def is_renamed(self) -> bool:
        """Whether there is another name for it."""
        return bool(self._root)

    def enter(self, text: str) -> str:
        """The JSON of a task, with the paths that the worker is to see."""
        if not self._root:
            return text
        return re.sub(re.escape(_quote(self._root)) + r'(?=[/"])', lambda _: self._link, text)

    def leave(self, text: str) -> str:
        """The JSON of an outcome, with the paths that the runner knows."""
        return text.replace(self._link, _quote(self._root)) if self._root else text


def _quote(path: str) -> str:
    return json.dumps(path)[1:-1]


def _make_link(root: str) -> str:
    """A link to the root that all its workers share: what a checkpoint names is there again."""
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    for folder in ("/tmp", "/var/tmp", tempfile.gettempdir()):
        link = os.path.join(folder, f"stoker-{os.getuid()}-{name}")
        with contextlib.suppress(FileExistsError):
            os.symlink(root, link)
        # Where everybody may write, somebody else may have made it.
        if os.lstat(link).st_uid == os.getuid() and os.readlink(link) == root:
            return link
    raise OSError(f"No other name can be made for {root}, which TensorFlow needs. Rename the root.")
