# SPDX-License-Identifier: Apache-2.0
"""tensorflow-transform as modules for 0.11 to 1.7 called it: arguments and names that it lost.

tft.bucketize(x, 10, always_return_num_quantiles=False)    today's always returns that many
tft.compute_and_apply_vocabulary(x, -1, 1000)              arguments must be named today
tft.string_to_int(x, top_k=1000)                           compute_and_apply_vocabulary today
"""

import functools
import weakref
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from stoker.patches.changes import after_import, replace
from stoker.patches.registry import PATCHES

_DROPPED = dict.fromkeys(
    ("bucketize", "bucketize_per_key", "quantiles"), "always_return_num_quantiles"
)
_ONCE_BY_POSITION = {
    "apply_vocabulary": (2, ("default_value", "num_oov_buckets", "lookup_fn")),
    "compute_and_apply_vocabulary": (
        1,
        ("default_value", "top_k", "frequency_threshold", "num_oov_buckets", "vocab_filename"),
    ),
    "vocabulary": (1, ("top_k", "frequency_threshold", "vocab_filename", "store_frequency")),
}
"""How many arguments are still taken by position, and which followed them."""
RENAMED = {
    "apply_vocab": "apply_vocabulary",
    "string_to_int": "compute_and_apply_vocabulary",
    "uniques": "vocabulary",
}
"""Functions by the names that they lost."""

_changed: "weakref.WeakSet[Any]" = weakref.WeakSet()
"""The functions that were changed; the library wraps its own, so that a wrapper says nothing."""


def take_older_calls() -> None:
    """Let functions be called as they once were; it takes effect once the library is imported."""
    after_import("tensorflow_transform", _change_functions)


def _change_functions(package: ModuleType) -> None:
    patch = PATCHES["transform-arguments"]
    patch.check_version()
    patch.check_names(package, *_DROPPED, *_ONCE_BY_POSITION)
    for name, argument in _DROPPED.items():
        _change(package, name, functools.partial(_drop, argument=argument))
    for name, (count, names) in _ONCE_BY_POSITION.items():
        _change(package, name, functools.partial(_name_arguments, num_positions=count, names=names))
    for old, new in RENAMED.items():
        vars(package).setdefault(old, vars(package)[new])


def _change(
    package: ModuleType, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    from tensorflow import autograph

    function = vars(package)[name]
    if function not in _changed:
        changed = autograph.experimental.do_not_convert(wrap(function))
        _changed.add(changed)
        replace(package, name, changed)


def _drop(function: Callable[..., Any], argument: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call_without(*args: Any, **given: Any) -> Any:
        given.pop(argument, None)
        return function(*args, **given)

    return call_without


def _name_arguments(
    function: Callable[..., Any], num_positions: int, names: Sequence[str]
) -> Callable[..., Any]:
    @functools.wraps(function)
    def call_with_names(*args: Any, **given: Any) -> Any:
        by_position, older = args[:num_positions], args[num_positions:]
        if len(older) > len(names) or given.keys() & set(names[: len(older)]):
            return function(*args, **given)  # whose error says what is wrong
        return function(*by_position, **dict(zip(names, older, strict=False)), **given)

    return call_with_names
