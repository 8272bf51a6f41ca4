# SPDX-License-Identifier: Apache-2.0
"""A mark on the datasets that `data_accessor` makes: their batches can be found again."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stoker.data.row_order import Passes

_MARK = "_stoker_from_accessor"
_PASSES = "_stoker_passes"


def mark_as_from_accessor(dataset: Any, passes: "Passes | None" = None) -> Any:
    """The same dataset, marked; what is made of it by `map`, `repeat`, … refers to it."""
    setattr(dataset, _MARK, True)
    setattr(dataset, _PASSES, passes)
    return dataset


def is_from_accessor(dataset: Any) -> bool:
    """Whether `data_accessor` made this very dataset."""
    return getattr(dataset, _MARK, False)


def passes_over(dataset: Any) -> "Iterator[Passes]":
    """The passes over what `data_accessor` made and this dataset is made of."""
    if passes := getattr(dataset, _PASSES, None):
        yield passes
    if not is_from_accessor(dataset):
        for part in getattr(dataset, "_inputs", list)():
            yield from passes_over(part)
