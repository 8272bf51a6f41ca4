# SPDX-License-Identifier: Apache-2.0
"""The program's absl flags in its workers: a user's step reads FLAGS as the pipeline file does.

The runner sends what each flag was set to, not the command line: a worker loads only some of the
files that define flags, and a command line cannot be read without all of them.
"""

from __future__ import annotations

import sys
from typing import Any, Mapping, Sequence

FlagArguments = Mapping[str, Sequence[str]]

_taken_over: FlagArguments | None = None


def flags_of_this_program() -> FlagArguments | None:
    """The arguments that give each flag its present value, by name; None without flags.

    What a program sets without a command line counts too: `logging.set_verbosity` sets a flag.
    """
    flags = _find_flags()
    changed = [name for name in flags or () if _is_set(name, flags[name])]
    if changed or (flags is not None and flags.is_parsed()):
        return {name: _make_arguments(flags[name]) for name in changed}
    return None


def take_over_flags(arguments: FlagArguments | None) -> None:
    """Remember the program's flags, for `fill_in_flags`."""
    global _taken_over
    _taken_over = arguments


def fill_in_flags() -> None:
    """Give flags that a newly loaded file has defined the values that they have in the program."""
    flags = _find_flags()
    if flags is None or _taken_over is None:
        return
    new = [name for name in _taken_over if name in flags and flags[name].using_default_value]
    flags([sys.argv[0], *(argument for name in new for argument in _taken_over[name])])


def _find_flags() -> Any:
    """The flags of this process; None if nothing has imported absl's."""
    absl_flags = sys.modules.get("absl.flags")
    return absl_flags and absl_flags.FLAGS


def _is_set(name: str, flag: Any) -> bool:
    """Whether a flag has a value of its own; a short name is the flag's second one."""
    return name == flag.name and not flag.using_default_value


def _make_arguments(flag: Any) -> list[str]:
    """`--name=value`, once for each value; nothing for None, which has no argument."""
    option = f"--{flag.name}="
    first, *more = flag.serialize().split(f"\n{option}")
    return [first, *(option + value for value in more)] if first else []
