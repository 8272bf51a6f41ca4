# SPDX-License-Identifier: Apache-2.0
"""Lines of our own: what they quote from data, names or errors cannot steer a terminal.

What the user's code prints is its own, colours and all, and does not come here.
"""

from __future__ import annotations

import contextlib
import difflib
import re
import sys
from typing import Iterable

# Controls, but for the ends of lines and tabs; marks that turn the direction of text, or hide in
# it; halves of characters, which no terminal can be sent.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def escape_controls(text: str) -> str:
    """A text with `\\x1b` and the like for what a terminal would obey instead of showing it."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def say(text: object, *, error: bool = False) -> None:
    """Print a line of our own, on standard output or standard error."""
    # The user's code may have closed the stream, or put something else in its place.
    with contextlib.suppress(AttributeError, OSError, ValueError):
        print(escape_controls(str(text)), file=sys.stderr if error else sys.stdout, flush=True)


def did_you_mean(name: str, known: Iterable[str], closeness: float = 0.6) -> str:
    """A hint at the known name that is nearest, if one is near."""
    near = difflib.get_close_matches(name, list(known), 1, closeness)
    return f" Did you mean {near[0]!r}?" if near else ""


def describe_unknown_argument(called: str, name: str, known: Iterable[str]) -> str:
    """That what is called has no argument of a name, and those that it takes."""
    known = list(known)
    hint = did_you_mean(name, known)
    return f"{called} has no argument {name!r}.{hint} It takes {', '.join(known)}."
