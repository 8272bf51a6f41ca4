# SPDX-License-Identifier: Apache-2.0
"""What a pass over the data gathers: one accumulation per analyzer, in each process that reads.

Beam would have collections where we have lists. The elements that an accumulation ends in are
those of Beam's collection: one accumulator, or a pair per key or per token.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from tensorflow_transform import analyzer_nodes
from tensorflow_transform.analyzers import QuantilesCombiner, WeightedMeanAndVarCombiner

from stoker.transform.internals import Ordering, means_per_token

_Value = TypeVar("_Value")
Values = tuple[np.ndarray, ...]
"""The tensors that an analyzer reads, for one batch."""


class Accumulation(Protocol):
    """How the batches of a shard are gathered, and the shards put together. It can be pickled."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The tensors that are read."""
        ...

    def start(self) -> Any:
        """What there is before the first batch."""
        ...

    def add(self, accumulator: Any, values: Values) -> Any:
        """The accumulator with one more batch in it."""
        ...

    def pack(self, accumulator: Any) -> Any:
        """The accumulator made small, at the end of a shard."""
        ...

    def merge(self, shards: list[Any]) -> Any:
        """Some shards as one."""
        ...

    def elements(self, shards: list[Any]) -> list[Any]:
        """All shards together."""
        ...


@dataclass(frozen=True, slots=True)
class Combined:
    """One accumulator of a combiner."""

    keys: tuple[str, ...]
    combiner: analyzer_nodes.Combiner

    def start(self) -> Any:
        """An empty accumulator."""
        return self.combiner.create_accumulator()

    def add(self, accumulator: Any, values: Values) -> Any:
        """The accumulator with one more batch in it."""
        return self.combiner.add_input(accumulator, values)

    def pack(self, accumulator: Any) -> Any:
        """The accumulator made small."""
        return self.combiner.compact(accumulator)

    def merge(self, shards: list[Any]) -> Any:
        """One accumulator of some."""
        return merge_accumulators(self.combiner, shards)

    def elements(self, shards: list[Any]) -> list[Any]:
        """The one accumulator of all."""
        return [self.merge(shards)]


@dataclass(frozen=True, slots=True)
class CombinedPerKey:
    """An accumulator per key; the keys are the first tensor."""

    keys: tuple[str, ...]
    combiner: analyzer_nodes.Combiner

    def start(self) -> dict[bytes, Any]:
        """No key yet."""
        return {}

    def add(self, accumulator: dict[bytes, Any], values: Values) -> dict[bytes, Any]:
        """Each row, or each group of rows, added to its key."""
        keys, *columns = values
        for key, rows in self._rows_per_key(keys):
            _add_to_key(self.combiner, accumulator, key, [column[rows] for column in columns])
        return accumulator

    def pack(self, accumulator: dict[bytes, Any]) -> dict[bytes, Any]:
        """Every accumulator made small."""
        return {key: self.combiner.compact(part) for key, part in accumulator.items()}

    def merge(self, shards: list[dict[bytes, Any]]) -> dict[bytes, Any]:
        """One accumulator per key."""
        pairs = [pair for shard in shards for pair in shard.items()]
        return combine_per_key(self.combiner, pairs)

    def elements(self, shards: list[dict[bytes, Any]]) -> list[tuple[bytes, Any]]:
        """A pair of a key and its accumulator for each key."""
        return list(self.merge(shards).items())

    def _rows_per_key(self, keys: np.ndarray) -> Iterable[tuple[bytes, Any]]:
        """Row by row; but quantiles take all rows of a key at once, which is much faster."""
        rows = zip(keys.tolist(), range(len(keys)), strict=True)
        if not isinstance(self.combiner, QuantilesCombiner):
            return rows
        return group_by_key(rows).items()


def _add_to_key(
    combiner: analyzer_nodes.Combiner, accumulators: dict[Any, Any], key: Any, values: Any
) -> None:
    before = accumulators[key] if key in accumulators else combiner.create_accumulator()
    accumulators[key] = combiner.add_input(before, values)


def group_by_key(pairs: Iterable[tuple[Any, _Value]]) -> dict[Any, list[_Value]]:
    """The values of each key, in their order."""
    values: dict[Any, list[_Value]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values


def combine_per_key(
    combiner: analyzer_nodes.Combiner, pairs: Iterable[tuple[Any, Any]]
) -> dict[Any, Any]:
    """The accumulators of each key, or token, merged."""
    return {key: merge_accumulators(combiner, many) for key, many in group_by_key(pairs).items()}


def merge_accumulators(combiner: analyzer_nodes.Combiner, accumulators: list[Any]) -> Any:
    """One accumulator of all; it starts from an empty one, so that none of them is changed."""
    return combiner.merge_accumulators([combiner.create_accumulator(), *accumulators])


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A count, a sum of weights, or the means of the label for each token."""

    keys: tuple[str, ...]
    ordering: int

    def start(self) -> Counter[Any] | dict[Any, Any]:
        """No token yet."""
        return Counter() if self.ordering == Ordering.FREQUENCY else {}

    def add(self, accumulator: Any, values: Values) -> Any:
        """The tokens of one more batch added to those before."""
        if self.ordering == Ordering.FREQUENCY:
            accumulator.update(values[0].tolist())
        elif self.ordering == Ordering.WEIGHTED_FREQUENCY:
            tokens, weights = values
            _add_weights(accumulator, zip(tokens.tolist(), weights.tolist(), strict=True))
        else:
            combiner = _means_combiner(self.ordering)
            for token, means in means_per_token(values, _is_weighted(self.ordering)):
                _add_to_key(combiner, accumulator, token, means)
        return accumulator

    def pack(self, accumulator: Any) -> Mapping[Any, Any]:
        """The tokens as a plain dictionary."""
        return dict(accumulator)

    def merge(self, shards: list[Mapping[Any, Any]]) -> Mapping[Any, Any]:
        """Every token once, with what can still be added to."""
        pairs = (pair for shard in shards for pair in shard.items())
        if is_mutual(self.ordering):
            return combine_per_key(_means_combiner(self.ordering), pairs)
        return merge_vocabularies(pairs, self.ordering)

    def elements(self, shards: list[Mapping[Any, Any]]) -> list[tuple[Any, Any]]:
        """A pair of a token and its value for each token."""
        pairs = (pair for shard in shards for pair in shard.items())
        if len(shards) == 1 and not is_mutual(self.ordering):
            return list(pairs)
        return list(merge_vocabularies(pairs, self.ordering).items())


def merge_vocabularies(pairs: Iterable[tuple[Any, Any]], ordering: int) -> dict[Any, Any]:
    """The values of each token put together."""
    if not is_mutual(ordering):
        total: dict[Any, Any] = {}
        _add_weights(total, pairs)
        return total
    combiner = _means_combiner(ordering)
    merged = combine_per_key(combiner, pairs)
    return {token: combiner.extract_output(part) for token, part in merged.items()}


def is_mutual(ordering: int) -> bool:
    """Whether tokens are ordered by what they tell about the label."""
    return ordering in (Ordering.MUTUAL_INFORMATION, Ordering.WEIGHTED_MUTUAL_INFORMATION)


def _is_weighted(ordering: int) -> bool:
    """Whether the means of the label are weighted."""
    return bool(ordering == Ordering.WEIGHTED_MUTUAL_INFORMATION)


def _means_combiner(ordering: int) -> WeightedMeanAndVarCombiner:
    """What puts the means of a label together, for one token."""
    return WeightedMeanAndVarCombiner(
        np.float32,
        output_shape=(None,),
        compute_variance=False,
        compute_weighted=_is_weighted(ordering),
    )


def _add_weights(total: dict[Any, Any], pairs: Iterable[tuple[Any, Any]]) -> None:
    for token, weight in pairs:
        total[token] = total.get(token, 0) + weight
