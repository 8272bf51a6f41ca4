# SPDX-License-Identifier: Apache-2.0
"""What arguments and outputs were called in earlier editions of TFX, where a table says so.

class StatisticsGenSpec(ComponentSpec):
    OLDER_NAMES = {"input_data": "examples", "output": "statistics"}

class StatisticsGen(BaseComponent):
    @take_older_names
    def __init__(self, examples, …):

statistics_gen = StatisticsGen(input_data=example_gen.outputs.examples, name="of_taxis")
statistics_gen.outputs.output
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stoker.any_python.lines import describe_unknown_argument
from stoker.dsl.channel import Channel
from stoker.dsl.component import BaseComponent, Node
from stoker.dsl.executor import ExecutorClassSpec

__all__ = ["has_older_names", "list_older_names", "take_older_names"]

_OF_EVERY_STEP = {
    "name": "instance_name",
    "unique_name": "instance_name",
    "executor_class": "custom_executor_spec",
    "executor_spec": "custom_executor_spec",
}
_CACHE = "enable_cache"
"""What every step of TFX 0.22 to 0.25 took for itself, before what the pipeline says."""


def take_older_names(construct: Callable[..., None]) -> Callable[..., None]:
    """Let a constructor take older names of its arguments, and channels for its outputs."""
    signature = inspect.signature(construct)
    known = set(signature.parameters)

    @functools.wraps(construct)
    def construct_with_older_names(self: BaseComponent, *args: Any, **given: Any) -> None:
        older = _list_older_names(self.SPEC_CLASS.OLDER_NAMES, known)
        given = {name: value for name, value in given.items() if name in known or value is not None}
        self.has_older_names |= any(given.get(name) is not None for name in (*older, "input"))
        today = _rename(type(self).__name__, given, older)
        enable_cache = None if _CACHE in known else today.pop(_CACHE, None)
        outputs = [key for key in self.SPEC_CLASS.OUTPUTS if key in today and key not in known]
        channels = {key: today.pop(key) for key in outputs}
        _refuse_unknown(type(self).__name__, today, signature.parameters)
        _refuse_misfit(signature, self, *args, **today)
        construct(self, *args, **today)
        if enable_cache is not None:
            self.enable_cache = enable_cache
        for key, channel in channels.items():
            self.replace_output(key, channel)

    return construct_with_older_names


def list_older_names(step: type[BaseComponent]) -> set[str]:
    """The arguments that a step takes besides those of its constructor."""
    if not hasattr(step.__init__, "__wrapped__"):
        return set()
    known = set(inspect.signature(step.__init__).parameters)
    older = _list_older_names(step.SPEC_CLASS.OLDER_NAMES, known)
    return {*older, *step.SPEC_CLASS.OUTPUTS, _CACHE}


def has_older_names(channel: Channel | None) -> bool:
    """Whether a step before a channel was given arguments that later editions dropped."""
    waiting: list[Node] = [channel.producer] if channel and channel.producer else []
    while waiting:
        node = waiting.pop()
        if node.has_older_names:
            return True
        waiting += node.upstream_nodes
    return False


def _list_older_names(of_table: Mapping[str, str], known: set[str]) -> dict[str, str]:
    every = {name: today for name, today in _OF_EVERY_STEP.items() if today in known}
    return {name: today for name, today in {**every, **of_table}.items() if name not in known}


def _refuse_unknown(
    step: str, given: Iterable[str], parameters: Mapping[str, inspect.Parameter]
) -> None:
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return
    if unknown := [name for name in given if name not in parameters]:
        known = [name for name in parameters if name != "self"]
        raise TypeError(describe_unknown_argument(step, unknown[0], known))


def _refuse_misfit(
    signature: inspect.Signature, step: BaseComponent, *args: Any, **given: Any
) -> None:
    try:
        signature.bind(step, *args, **given)
    except TypeError as error:
        known = [name for name in signature.parameters if name != "self"]
        raise TypeError(f"{type(step).__name__}: {error}. It takes {', '.join(known)}.") from None


def _rename(step: str, given: Mapping[str, Any], older: Mapping[str, str]) -> dict[str, Any]:
    renamed = {name: value for name, value in given.items() if name not in older}
    for name in older.keys() & given.keys():
        today = older[name]
        if renamed.get(today) is not None:
            raise TypeError(f"{step} takes {today} or {name}, which is its older name, not both.")
        value = given[name]
        is_class = today == "custom_executor_spec" and isinstance(value, type)
        renamed[today] = ExecutorClassSpec(value) if is_class else value
    return renamed
