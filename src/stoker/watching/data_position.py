# SPDX-License-Identifier: Apache-2.0
"""Where in its data a training was, and the same data from there on.

Batches can be found again if they come from `fn_args.data_accessor`, through operations that give
the same elements in the same order whenever they are asked.
"""

from typing import Any

__all__ = ["from_batch", "why_it_restarts"]


def why_it_restarts(data: Any) -> str:
    """Why reading cannot go on in the middle of this input of `fit`; nothing if it can."""
    return "its input is not from fn_args.data_accessor"


def from_batch(dataset: Any, number: int) -> Any:
    """The dataset without its first batches."""
    return dataset.skip(number)
