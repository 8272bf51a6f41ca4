# SPDX-License-Identifier: Apache-2.0
"""Whether reading can go on in the middle of the input of a `fit`, and the input from there on.

It can if batches come from `fn_args.data_accessor`, through operations that give the same elements
in the same order whenever they are asked.
"""

import sys
from collections.abc import Mapping
from typing import Any

from stoker.data.row_order import is_from_accessor, passes_over

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


class DataPasses:
    """The passes of a `fit` over its data: the same in every run, however often it is begun."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        trained_on = list(passes_over(given.get("x")))
        # With a number of steps, Keras reads on in the next epoch; without, it begins again.
        self._read_on = trained_on if given.get("steps_per_epoch") else []
        self._begun_again = [
            *([] if self._read_on else trained_on),
            *passes_over(given.get("validation_data")),
        ]
        self._has_begun = False
        self.rewind()

    def begin_epoch(self, epoch: int) -> None:
        """Every epoch that begins again reads the pass of its own number."""
        if not self._has_begun:
            self.rewind()  # building the model may have read some
            self._has_begun = True
        for passes in self._begun_again:
            passes.next_is(epoch)

    def end_epoch(self, epoch: int) -> None:
        """Whoever opens the next epoch's data early reads that epoch's pass, too."""
        for passes in self._begun_again:
            passes.next_is(epoch + 1)

    def rewind(self) -> None:
        """Begin with the first pass."""
        for passes in (*self._read_on, *self._begun_again):
            passes.next_is(0)


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
    return any(map(draws_random_numbers, nodes))


def draws_random_numbers(node: Any) -> bool:
    """Whether a node of a graph draws from a state of its own, which nobody can read."""
    return node.op.startswith("Random") or node.op in _DRAWS
