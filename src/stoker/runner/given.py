# SPDX-License-Identifier: Apache-2.0
"""What a step's code may read besides its inputs and parameters, as it is now.

A worker notes what it really reads (`any_python/notes.py`). Here the same is looked up again before
an earlier execution is reused, or a training resumed.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from stoker.any_python.flags import flags_of_this_program
from stoker.any_python.notes import (
    COMMAND_LINE,
    FILE,
    FLAG,
    FOLDER,
    PRESENCE,
    VARIABLE,
    VARIABLES,
    describe_file,
    describe_folder,
    describe_presence,
    digest_text,
)
from stoker.any_python.variables import is_users
from stoker.metadata.secret_names import is_secret
from stoker.storage.root import Root

Notes = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What this program was given, and where files are that are not the user's."""

    values: Notes
    """The flags that were set, the command line, and every variable, as notes have them."""
    not_users: Sequence[str]
    digest: Callable[[str], str]

    @classmethod
    def to_this_program(cls, root: Root, digest: Callable[[str], str]) -> Self:
        """What there is to read now; a secret is not kept, only its digest."""
        flags = flags_of_this_program() or {}
        counted = sorted(filter(is_users, os.environ))
        values = {
            **{FLAG + name: _hide_secret(name, arguments) for name, arguments in flags.items()},
            **{VARIABLE + name: digest_text(value) for name, value in os.environ.items()},
            VARIABLES: digest_text("\n".join(counted)),
            COMMAND_LINE: digest_text("\n".join(sys.argv[1:])),
        }
        return cls(values=values, not_users=(root.path, tempfile.gettempdir()), digest=digest)

    def describe_changes(self, notes: Notes) -> list[str]:
        """What is not as it was when it was noted, in words."""
        now = {name: self._look_up(name) for name in notes}
        return [_say(name, then, now[name]) for name, then in notes.items() if now[name] != then]

    def _look_up(self, name: str) -> str:
        for kind, look in (
            (FILE, lambda path: describe_file(path, self.digest)),
            (FOLDER, lambda path: describe_folder(path, self.not_users)),
            (PRESENCE, describe_presence),
        ):
            if name.startswith(kind):
                return look(name.removeprefix(kind))
        return self.values.get(name, "")


def _hide_secret(flag: str, arguments: Sequence[str]) -> str:
    text = " ".join(argument.removeprefix(f"--{flag}=") for argument in arguments)
    return f"digest {digest_text(text)}" if is_secret(flag) else text


def _say(name: str, then: str, now: str) -> str:
    """What is not as it was noted."""
    if name == COMMAND_LINE:
        return "the command line, which the code reads, changed"
    if name == VARIABLES:
        return "there are other environment variables, and the code lists them"
    kind = next(one for one in (FLAG, VARIABLE, FOLDER, PRESENCE, FILE) if name.startswith(one))
    what = name.removeprefix(kind)
    if kind == FLAG:
        values = "" if is_secret(what) else f": {now or 'not set'}, was {then or 'not set'}"
        return f"flag --{what} changed{values}"
    if kind == VARIABLE:
        return f"environment variable {what} changed"
    if kind == FOLDER:
        return f"folder {what}, which the code lists, has other files"
    if kind == PRESENCE:
        return f"{what} is {'there' if now == 'there' else 'gone'} now"
    return f"file {what} {'is gone' if now == 'missing' else 'changed'}"
