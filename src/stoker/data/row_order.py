# SPDX-License-Identifier: Apache-2.0
"""Which row comes when: an endless stream of epochs over the rows of a split, read from anywhere.

A stream is a pure function of its seed, so that reading can go on where it stopped, at once: what
has to be remembered is a Position.
"""

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

_MARK = "_stoker_from_accessor"
_PASSES = "_stoker_passes"
_ROWS = "_stoker_rows"
_SAME_ELEMENTS = {"AssertCardinality", "Map", "Options", "ParallelMap", "Prefetch", "Take"}
"""Operations whose n-th element is made of the n-th one of their input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in a stream of rows: the next row to read is number `row` of epoch `epoch`."""

    seed: int | None = None
    """What the order depends on; None stands for the order of the files."""
    epoch: int = 0
    row: int = 0

    def __post_init__(self) -> None:
        if self.epoch < 0 or self.row < 0:
            raise ValueError(f"A Position is never negative, got {self}.")

    def after(self, num_batches: int, *, batch_size: int, num_rows: int) -> "Position":
        """The position when so many batches more have been read of a split of `num_rows` rows."""
        epoch, row = divmod(self.row + num_batches * batch_size, num_rows)
        return Position(seed=self.seed, epoch=self.epoch + epoch, row=row)


class Passes:
    """Which pass over a dataset that ends comes next: each has epochs, and so orders, of its own.

    Every pass is the one after the last that was begun, unless somebody says which comes next.
    """

    def __init__(self) -> None:
        self._next = 0
        self._lock = threading.Lock()

    def next_is(self, number: int) -> None:
        """Say which pass comes next."""
        with self._lock:
            self._next = number

    def begin(self) -> int:
        """The number of the pass that begins now."""
        with self._lock:
            self._next += 1
            return self._next - 1


RowsOfBatch: TypeAlias = Callable[[int, int], np.ndarray]
"""The numbers of the rows of a batch, by the pass and the number of the batch, both from 0 on."""


def mark_as_from_accessor(
    dataset: Any, passes: Passes | None = None, rows: RowsOfBatch | None = None
) -> Any:
    """The same dataset, marked; what is made of it by `map`, `repeat`, … refers to it."""
    setattr(dataset, _MARK, True)
    setattr(dataset, _PASSES, passes)
    setattr(dataset, _ROWS, rows)
    return dataset


def find_rows(dataset: Any, number: int, batch: int) -> np.ndarray | None:
    """The rows that a batch of a pass was made of; None if that cannot be told.

    It can for batches of `data_accessor` that were mapped, but not joined, dropped or shuffled.
    """
    while not is_from_accessor(dataset):
        kind = type(dataset).__name__.strip("_").removesuffix("Dataset")
        if kind not in _SAME_ELEMENTS:
            return None
        (dataset,) = dataset._inputs()
    rows: RowsOfBatch | None = getattr(dataset, _ROWS, None)
    return rows(number, batch) if rows else None


def is_from_accessor(dataset: Any) -> bool:
    """Whether `data_accessor` made this very dataset."""
    return getattr(dataset, _MARK, False)


def passes_over(dataset: Any) -> Iterator[Passes]:
    """The passes over what `data_accessor` made and this dataset is made of."""
    if passes := getattr(dataset, _PASSES, None):
        yield passes
    if not is_from_accessor(dataset):
        for part in getattr(dataset, "_inputs", list)():
            yield from passes_over(part)


class RowOrder:
    """The numbers of the rows in the order in which they are read, epoch after epoch."""

    def __init__(
        self, num_rows: int, *, seed: int | None = None, in_order: np.ndarray | None = None
    ) -> None:
        """A seed gives a new permutation of all rows in every epoch; `in_order` is used without."""
        self.num_rows = num_rows
        self._seed = seed
        self._in_order = in_order
        self._lock = threading.Lock()
        self._shuffled = functools.lru_cache(maxsize=2)(self._permutation)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """The rows at the places `start` to `stop` of the stream; epochs may end in between."""
        pieces = []
        while start < stop:
            epoch, first = divmod(start, self.num_rows)
            last = min(self.num_rows, first + stop - start)
            pieces.append(self._in_epoch(epoch, first, last))
            start += last - first
        return np.concatenate(pieces) if pieces else np.empty(0, np.int64)

    def _in_epoch(self, epoch: int, first: int, last: int) -> np.ndarray:
        if self._seed is not None:
            with self._lock:
                return self._shuffled(epoch)[first:last].astype(np.int64)
        if self._in_order is not None:
            return self._in_order[first:last]
        return np.arange(first, last, dtype=np.int64)

    def _permutation(self, epoch: int) -> np.ndarray:
        rng = np.random.default_rng([(self._seed or 0) % 2**64, epoch])
        small = self.num_rows < 2**32
        return rng.permutation(np.arange(self.num_rows, dtype=np.uint32 if small else np.int64))


def interleave_rows(sizes: Sequence[int], cycle_length: int) -> np.ndarray | None:
    """The order in which tf.data's `interleave` reads files of these sizes, by number of row.

    A row of each open file in turn. A file that turns out to be at its end is replaced by the next,
    which waits for its turn. None if that is one file after another.
    """
    if cycle_length == 1 or len(sizes) == 1:
        return None
    firsts = np.concatenate(([0], np.cumsum(sizes)))
    waiting = iter(zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True))
    slots = [next(waiting, None) for _ in range(cycle_length)]
    pieces = []
    while any(slots):
        # As many whole rounds as the shortest open file allows, then one round that may end files.
        starts = [slot[0] for slot in slots if slot]
        rounds = min(slot[1] - slot[0] for slot in slots if slot)
        pieces.append(np.add.outer(np.arange(rounds), starts).ravel())
        slots = [slot and (slot[0] + rounds, slot[1]) for slot in slots]
        for place, slot in enumerate(slots):
            if slot and slot[0] < slot[1]:
                pieces.append(np.array([slot[0]]))
                slots[place] = (slot[0] + 1, slot[1])
            elif slot:
                slots[place] = next(waiting, None)
    return np.concatenate(pieces).astype(np.int64)
