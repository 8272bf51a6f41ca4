# SPDX-License-Identifier: Apache-2.0
"""Which split an example belongs to: TFX's rule, so that the same rows land in the same splits."""

import bisect
import hashlib
import itertools
from collections.abc import Iterable, Sequence

__all__ = ["split_indices"]


def split_indices(keys: Iterable[bytes], hash_buckets: Sequence[int]) -> list[int]:
    """For each key the index of its split; a split's share is its number of buckets.

    The key is the serialized example, or the serialized feature that examples are partitioned by.
    """
    ends = list(itertools.accumulate(hash_buckets))
    total = ends[-1]
    return [
        bisect.bisect(ends, int.from_bytes(hashlib.sha256(key).digest(), "big") % total)
        for key in keys
    ]
