# SPDX-License-Identifier: Apache-2.0
"""The share of training time spent waiting for input, as tf.data itself measures it.

Keras reads its input inside the compiled train step, where Python's clock does not reach. But
tf.data notes, for the latest hundred elements, how long its consumer was away between two of them.
The rest of the time the consumer was waiting.
"""

from typing import Any

_INSIDE = ("_iterators", "_iterator", "_device_iterators")


def waiting_share(away_seconds: list[float], num_elements: int, seconds: float) -> float | None:
    """The share of `seconds` spent waiting for `num_elements`, given the latest times away."""
    recent = away_seconds[-num_elements:]
    if not recent or seconds <= 0:
        return None
    away = sum(recent) / len(recent) * num_elements
    return min(1.0, max(0.0, 1.0 - away / seconds))


class InputWait:
    """Follows the iterator that a train step reads from."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = _plain_iterator(iterator)

    def share(self, num_elements: int, seconds: float) -> float | None:
        """The share of the last `seconds`, in which `num_elements` were read; None if unknown."""
        if self._iterator is None:
            return None
        import tensorflow as tf

        try:
            model = tf.data.experimental.get_model_proto(self._iterator)
        except tf.errors.NotFoundError:  # the user turned tf.data's autotuning off
            self._iterator = None
            return None
        return waiting_share([usec / 1e6 for usec in model.gap_times], num_elements, seconds)


def _plain_iterator(iterator: Any) -> Any:
    """The tf.data iterator inside a distributed one; None for what tf.data does not know."""
    while iterator is not None and not hasattr(iterator, "_iterator_resource"):
        inside = next(
            (getattr(iterator, name) for name in _INSIDE if hasattr(iterator, name)), None
        )
        iterator = inside[0] if isinstance(inside, list | tuple) else inside
    return iterator
