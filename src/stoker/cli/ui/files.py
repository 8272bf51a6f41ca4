# SPDX-License-Identifier: Apache-2.0
"""Files of published artifacts, and of nothing else: as text, or to be saved; never as a page."""

import os

from stoker.artifacts import Artifact, State

LARGEST_TEXT = 1_000_000


def find_file(artifact: Artifact, path: str) -> str | None:
    """Where a file of an artifact really is; None for what is not below it, or was not published.

    Links are followed first: one that leads out of the artifact leads nowhere.
    """
    if artifact.state != State.LIVE or "\0" in path or os.path.isabs(path):
        return None
    folder = os.path.realpath(artifact.uri)
    real = os.path.realpath(os.path.join(folder, path)) if path else folder
    is_below = real.startswith(os.path.join(folder, "")) and folder != os.sep
    if not (is_below or (real == folder and not path)):
        return None
    return real if os.path.isfile(real) else None


def read_text(path: str) -> str | None:
    """The beginning of a text file; None for what is no text."""
    with open(path, "rb") as file:
        data = file.read(LARGEST_TEXT)
    if b"\0" in data:
        return None
    text = data.decode("utf-8", "replace")
    # Half a character at the end is no sign of anything else.
    return None if text[:-4].count("\ufffd") > len(text) // 20 else text
