# SPDX-License-Identifier: Apache-2.0
"""A mark on the datasets that `data_accessor` makes: their batches can be found again."""

from typing import Any

__all__ = ["is_from_accessor", "mark_as_from_accessor"]

_MARK = "_stoker_from_accessor"


def mark_as_from_accessor(dataset: Any) -> Any:
    """The same dataset, marked; what is made of it by `map`, `repeat`, … refers to it."""
    setattr(dataset, _MARK, True)
    return dataset


def is_from_accessor(dataset: Any) -> bool:
    """Whether `data_accessor` made this very dataset."""
    return getattr(dataset, _MARK, False)
