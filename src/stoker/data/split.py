# SPDX-License-Identifier: Apache-2.0
"""Which split an example belongs to: TFX's rule, so that the same rows land in the same splits."""

import hashlib
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

_WORDS = 4  # of 64 bits in a SHA-256


def split_indices(keys: Iterable[bytes], hash_buckets: Sequence[int]) -> np.ndarray:
    """For each key the index of its split; a split's share is its number of buckets.

    The key is the serialized example, or the serialized feature that examples are partitioned by.
    """
    ends = list(itertools.accumulate(hash_buckets))
    digests = b"".join([hashlib.sha256(key).digest() for key in keys])
    words = np.frombuffer(digests, ">u8").astype(np.uint64).reshape(-1, _WORDS)
    return np.searchsorted(ends, _remainders(words, ends[-1]), side="right")


def _remainders(words: np.ndarray, total: int) -> np.ndarray:
    """Each row of words, read as one number, modulo `total`: by long division."""
    if total >= 2**32:
        raise ValueError(f"hash_buckets add up to {total}; they may be at most {2**32 - 1}.")
    divisor, shift = np.uint64(total), np.uint64(2**64 % total)
    remainder = np.zeros(len(words), np.uint64)
    for word in words.T:
        remainder = (remainder * shift + word % divisor) % divisor
    return remainder
