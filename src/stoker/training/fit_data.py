# SPDX-License-Identifier: Apache-2.0
"""What is known of the data of a `fit`: which rows a batch had, and a few rows as an example."""

import contextlib
import itertools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stoker.data.row_order import find_rows, is_from_accessor, passes_over
from stoker.training.resume.data_position import why_it_restarts

_KERAS_BATCH_SIZE = 32
_NUM_NAMED = 3
_NUM_ROWS = 2
_MOST_VALUES = 1 << 20
_SOURCES = {"Tensor", "TensorSlice"}
_READABLE = {"Batch", "Map", "Options", "ParallelBatch", "ParallelMap", "Prefetch", "Repeat"}
_TEXT, _NUMBER = "t", "n"
_END_OF_TEXT = b"."


def describe_batch(
    given: Mapping[str, Any], *, epoch: int, batch: int, steps_before: int, knows_pass: bool
) -> str:
    """Where a batch of a `fit` lies in its data, as far as that can be known.

    Rows are told for batches of `data_accessor`, whose order follows from a seed, and for arrays
    that Keras does not shuffle. `epoch` is from 0 on, `batch` from 1; `steps_before` are those of
    the epochs before. `knows_pass` says that each epoch reads the pass of its own number.
    """
    place = f"epoch {epoch + 1}, batch {batch:,}"
    data = given.get("x")
    if not _is_dataset(data):
        return f"{place}; {_describe_rows_of_arrays(given, batch)}" if _has_rows(data) else place
    reads_on = bool(given.get("steps_per_epoch"))
    index = (steps_before if reads_on else 0) + batch - 1
    shuffles = knows_pass or not any(True for _ in passes_over(data))
    rows = find_rows(data, 0 if reads_on else epoch, index) if shuffles else None
    if rows is not None and len(rows):
        return f"{place}; {_name_rows(rows)} of the examples, counted from 0"
    if why := why_it_restarts(data):
        return f"{place}; which rows it had is not known, since {why}"
    return f"{place}; of its input the batch after dataset.skip({index})"


def _describe_rows_of_arrays(given: Mapping[str, Any], batch: int) -> str:
    if given.get("shuffle", True):
        return "which rows it had is not known, since Keras shuffles arrays: fit(shuffle=False)"
    size = given.get("batch_size") or _KERAS_BATCH_SIZE
    last = min(batch * size, len(_flatten(given["x"])[0][1]))
    return f"{_name_rows(np.arange((batch - 1) * size, last))} of x, counted from 0"


def _name_rows(rows: np.ndarray) -> str:
    if len(rows) > _NUM_NAMED and (np.diff(rows) == 1).all():
        return f"rows {rows[0]:,} to {rows[-1]:,}"
    more = len(rows) - _NUM_NAMED
    names = ", ".join(f"{row:,}" for row in rows[:_NUM_NAMED])
    return f"rows {names} and {more} more" if more > 0 else f"rows {names}"


def take_rows(data: Any) -> dict[str, np.ndarray]:
    """A few rows of the input of a `fit`, by the names of its parts, or their places.

    Of arrays, and of datasets that can be read once more without a change to anything: those that
    are made of arrays or of `data_accessor`, and not shuffled. Empty if there are none.
    """
    if _is_dataset(data):
        data = _read_first(data) if _can_be_read_again(data) else None
    if not _has_rows(data):
        return {}
    rows = {name: np.asarray(part[:_NUM_ROWS]) for name, part in _flatten(data)}
    return rows if sum(part.size for part in rows.values()) <= _MOST_VALUES else {}


def save_rows(path: str, rows: Mapping[str, np.ndarray]) -> None:
    """Write rows for `load_rows`, of whatever type, without pickle."""
    arrays = {}
    for name, part in rows.items():
        if part.dtype.kind in "OSU":  # NumPy would take zeros off the end of bytes
            texts = [_as_bytes(one) + _END_OF_TEXT for one in part.ravel()]
            arrays[_TEXT + name] = np.array(texts, np.bytes_).reshape(part.shape)
        else:
            arrays[_NUMBER + name] = part
    np.savez(path, allow_pickle=False, **arrays)


def load_rows(path: str) -> dict[str, np.ndarray]:
    """The rows that were saved; none if there is no file."""
    if not os.path.exists(path):
        return {}
    with np.load(path, allow_pickle=False) as found:
        return {key.removeprefix(key[0]): _read_part(key, found[key]) for key in found.files}


def _read_part(key: str, part: np.ndarray) -> np.ndarray:
    if key[0] == _NUMBER:
        return part
    texts = np.empty(part.size, object)
    texts[:] = [text.removesuffix(_END_OF_TEXT) for text in part.ravel().tolist()]
    return texts.reshape(part.shape)


def _as_bytes(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


def _can_be_read_again(data: Any) -> bool:
    if is_from_accessor(data):
        return not why_it_restarts(data)
    kind = type(data).__name__.strip("_").removesuffix("Dataset")
    if kind in _SOURCES:
        return True
    return (
        kind in _READABLE
        and not _calls_python(data)
        and all(map(_can_be_read_again, data._inputs()))
    )


def _calls_python(data: Any) -> bool:
    function = getattr(data, "_map_func", None)
    if function is None:
        return False
    graph = function.function.graph.as_graph_def()
    nodes = itertools.chain(graph.node, *(part.node_def for part in graph.library.function))
    stateful = ("PyFunc", "EagerPyFunc", "Random", "Stateful", "Assign")
    return any(node.op.startswith(stateful) for node in nodes)


def _read_first(data: Any) -> Any:
    """What the first batch of a dataset has for the model."""
    with _count_no_pass(data):
        element = next(iter(data.take(1)), None)
    return element[0] if isinstance(element, tuple) else element


@contextlib.contextmanager
def _count_no_pass(data: Any) -> Iterator[None]:
    numbers = [(passes, passes.begin()) for passes in passes_over(data)]
    for passes, _ in numbers:
        passes.next_is(0)
    try:
        yield
    finally:
        for passes, number in numbers:
            passes.next_is(number)


def _flatten(data: Any) -> list[tuple[str, Any]]:
    """The parts of what a model is given: by name, or by their places."""
    if isinstance(data, Mapping):
        return [(str(name), part) for name, part in data.items()]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return [(str(place), part) for place, part in enumerate(data)]
    return [("0", data)]


def _has_rows(data: Any) -> bool:
    return data is not None and all(
        hasattr(part, "shape") and hasattr(part, "__array__") and len(part.shape) > 0
        for _, part in _flatten(data)
    )


def is_endless(data: Any) -> bool:
    """Whether a dataset repeats for ever."""
    return (
        _is_dataset(data)
        and int(data.cardinality()) == sys.modules["tensorflow"].data.INFINITE_CARDINALITY
    )


def _is_dataset(data: Any) -> bool:
    tf = sys.modules.get("tensorflow")
    return tf is not None and isinstance(data, tf.data.Dataset)
