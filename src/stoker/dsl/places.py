# SPDX-License-Identifier: Apache-2.0
"""The places that a pipeline names: folders and files of this machine, and buckets."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stoker.any_python.layout import is_remote
from stoker.any_python.url_files import find_lack
from stoker.dsl.component import BaseComponent, Node
from stoker.dsl.parameters import RuntimeParameter, substitute

# Of a step with an executor of the user's own: what that reads and writes is its own affair.
_READ_BY_US: tuple[str, ...] = ("module_file",)
_READ_BY_OUR_EXECUTORS = (
    *("input_base", "input_config", "anomalies_file", "schema_file", "source_uri"),
    "push_destination",
)
_PATTERNS = "input_config"


def check_places(
    pipeline_root: Any, nodes: Iterable[Node], given: Mapping[str, Any] | None = None
) -> None:
    """Raise ValueError if a place is nothing that can be read and written here.

    Without the values that the run is `given`, what they decide is passed over.
    """
    _check("Pipeline(pipeline_root=…)", pipeline_root, given)
    for node in nodes:
        for name, value in _list_places(node):
            _check(f"{node.id}: {name}", value, given)


def _list_places(node: Node) -> Iterator[tuple[str, Any]]:
    names = _READ_BY_US
    if not isinstance(node, BaseComponent) or node.executor_spec.class_path.startswith("stoker."):
        names += _READ_BY_OUR_EXECUTORS
    properties = node.exec_properties
    return ((name, properties[name]) for name in names if name in properties)


def _check(what: str, value: Any, given: Mapping[str, Any] | None) -> None:
    if isinstance(value, RuntimeParameter):
        if given is None:
            return
        value = substitute(value, given)
    if isinstance(value, str) and (found := _find_remote(value)):
        if what.endswith(_PATTERNS):
            raise ValueError(f"{what} has patterns below input_base, got {found!r}. Put it there.")
        if lack := find_lack(found):
            raise ValueError(f"{what} is {found!r}, which cannot be reached from here. {lack}")


def _find_remote(value: str) -> str | None:
    """The place itself if it is elsewhere, or the first such in a message's JSON."""
    if value.lstrip().startswith("{"):
        return next((text for text in re.findall(r'"([^"]*)"', value) if is_remote(text)), None)
    return value if is_remote(value) else None
