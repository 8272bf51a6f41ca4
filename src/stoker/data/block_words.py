# SPDX-License-Identifier: Apache-2.0
"""The words of a block of rows on their way into TensorFlow: each once, and numbers for the values.

TensorFlow takes many bytes fastest as the values of one serialized Example, several times as fast
as objects of Python or a TensorProto; and it copies a word by its number in a few nanoseconds. So
columns of few words cost a block no more than their words.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import tensorflow as tf

from stoker.data.encode import as_integers, contents, example_header
from stoker.data.packed_rows import Cells

CODE = np.dtype(np.int32)
"""The number of a word within a block."""
_NAME = "words"
_MOST_SERIALIZED = 1 << 30
"""How many bytes are handed over as one message, of which none may have 2 GB."""
_EMPTY, _NOTHING = np.array(b"", object), np.empty(0, object)


class BlockWords:
    """Collects the words of a block."""

    def __init__(self) -> None:
        self._pieces: list[pa.LargeBinaryArray | np.ndarray] = []
        self._num_words = 0

    def add(self, cells: Cells) -> np.ndarray:
        """Take the words of a column; the answer is the number of each value's."""
        values, words = cells.values, cells.words
        if words is not None and len(words) <= len(values):
            return self._put(words) + values.astype(CODE)
        piece = values if words is None else words.take(as_integers(values))
        return self._put(piece) + np.arange(len(values), dtype=CODE)

    def add_objects(self, words: np.ndarray) -> np.ndarray:
        """Take some words; the answer is their numbers."""
        return self._put(words) + np.arange(len(words), dtype=CODE)

    def arrays(self) -> list[np.ndarray]:
        """All words as one serialized Example or, if that is empty, as objects."""
        fields = [piece for piece in self._pieces if isinstance(piece, pa.Array)]
        num_bytes = sum(len(contents(piece)) for piece in fields)
        if len(fields) < len(self._pieces) or num_bytes > _MOST_SERIALIZED:
            return [_EMPTY, np.concatenate([_NOTHING, *map(_as_objects, self._pieces)])]
        message = b"".join([example_header(_NAME, num_bytes), *map(contents, fields)])
        return [np.array(message, object), _NOTHING]

    def _put(self, piece: pa.LargeBinaryArray | np.ndarray) -> np.int32:
        first = CODE.type(self._num_words)
        self._pieces.append(piece)
        self._num_words += len(piece)
        return first


def parse_words(serialized: Any, objects: Any) -> Any:
    """The words of a block, of what `BlockWords` gave for them."""
    serialized, objects = tf.ensure_shape(serialized, []), tf.ensure_shape(objects, [None])

    def parse() -> Any:
        found = tf.raw_ops.ParseSingleExample(
            serialized=serialized,
            dense_defaults=[],
            num_sparse=1,
            sparse_keys=[_NAME],
            sparse_types=[tf.string],
            dense_keys=[],
            dense_shapes=[],
        )
        return found.sparse_values[0]

    return tf.cond(tf.strings.length(serialized) > 0, parse, lambda: objects)


def _as_objects(words: pa.LargeBinaryArray | np.ndarray) -> np.ndarray:
    if isinstance(words, np.ndarray):
        return words
    objects = np.empty(len(words), object)
    objects[:] = tf.train.BytesList.FromString(contents(words).tobytes()).value
    return objects
