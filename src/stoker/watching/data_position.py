# SPDX-License-Identifier: Apache-2.0
"""Whether reading can go on in the middle of the input of a `fit`, and the input from there on.

It can if batches come from `fn_args.data_accessor`, through operations that give the same elements
in the same order whenever they are asked.
"""

import sys
from typing import Any

from stoker.examples.provenance import is_from_accessor

__all__ = ["from_batch", "why_it_restarts"]

_REPEATABLE = {
    *("AssertCardinality", "Batch", "Cache", "Concatenate", "Enumerate", "Filter", "Map"),
    *("Options", "PaddedBatch", "ParallelBatch", "ParallelMap", "Prefetch", "Rebatch", "Repeat"),
    *("Shard", "Skip", "Take", "Unbatch", "Window", "Zip"),
}
_ELSEWHERE = "its input is not from fn_args.data_accessor"
_DRAWS = {"Multinomial", "ParameterizedTruncatedNormal", "TruncatedNormal"}


def why_it_restarts(data: Any) -> str:
    """Why this input cannot be read from the middle; nothing if it can."""
    tf = sys.modules.get("tensorflow")
    if not (tf and isinstance(data, tf.data.Dataset)):
        return _ELSEWHERE
    if is_from_accessor(data):
        return "its input is shuffled from TFRecords" if _shuffles(data) else ""
    kind = type(data).__name__.strip("_").removesuffix("Dataset")
    if kind == "Range":  # as in enumerate()
        return ""
    inputs = data._inputs()
    if not inputs:
        return _ELSEWHERE
    if kind not in _REPEATABLE:
        return f"its input goes through {kind}"
    if _draws(data):
        return "its input is mapped with random numbers"
    return next(filter(None, map(why_it_restarts, inputs)), "")


def from_batch(dataset: Any, number: int) -> Any:
    """The dataset without its first batches."""
    return dataset.skip(number)


def _shuffles(dataset: Any) -> bool:
    """Whether TensorFlow shuffles: in another order every time that it is asked."""
    return "Shuffle" in type(dataset).__name__ or any(map(_shuffles, dataset._inputs()))


def _draws(dataset: Any) -> bool:
    """Whether the module's function in this operation draws random numbers."""
    function = getattr(dataset, "_map_func", None) or getattr(dataset, "_predicate", None)
    if function is None:
        return False
    graph = function.function.graph.as_graph_def()
    nodes = [*graph.node, *(node for part in graph.library.function for node in part.node_def)]
    return any(node.op.startswith("Random") or node.op in _DRAWS for node in nodes)
