# SPDX-License-Identifier: Apache-2.0
"""The program's absl flags in its workers: a user's step reads FLAGS as the pipeline file does.

The runner sends what each flag was set to, not the command line: a worker loads only some of the
files that define flags, and a command line cannot be read without all of them.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Iterable, Mapping, Sequence

FlagArguments = Mapping[str, Sequence[str]]

_READ_ALL = (
    *("flag_values_dict", "flags_by_module_dict", "flags_by_module_id_dict", "flags_into_string"),
    *("get_flags_for_module", "get_key_flags_for_module", "key_flags_by_module_dict"),
)

_taken_over: FlagArguments | None = None
_listener: Callable[[str], None] | None = None


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
    _watch_flags()
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


def tell_reads(listener: Callable[[str], None] | None) -> None:
    """Tell which flags are read from now on; with None, nobody."""
    global _listener
    _listener = listener
    _watch_flags()


def _watch_flags() -> None:
    flags = _find_flags()
    if flags is not None and not hasattr(type(flags), "is_watched"):
        object.__setattr__(flags, "__class__", _make_watched_class(type(flags)))


def _make_watched_class(kind: Any) -> Any:
    class WatchedFlags(kind):  # type: ignore[misc]
        is_watched = True

        def __getattr__(self, name: str) -> Any:
            _tell(self, [name])
            return super().__getattr__(name)

        def __getitem__(self, name: str) -> Any:
            _tell(self, [name])
            return super().__getitem__(name)

    def tell_all(method: Any) -> Any:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            _tell(self, self._flags())
            return method(self, *args, **kwargs)

        return call

    for name in _READ_ALL:
        if hasattr(kind, name):
            setattr(WatchedFlags, name, tell_all(getattr(kind, name)))
    return WatchedFlags


def _tell(flags: Any, names: Iterable[str]) -> None:
    code, module = sys._getframe(2).f_code, str(sys._getframe(2).f_globals.get("__name__"))
    # absl reads flags of its own, and every flag while it is defined.
    is_absls = module.startswith("absl.") and code.co_name not in ("value", "get_flag_value")
    if _listener and not is_absls:
        for name in names:
            if name in flags:
                _listener(flags._flags()[name].name)
