# SPDX-License-Identifier: Apache-2.0
"""The split of an example is TFX's: golden cases worked out with hashlib alone."""

import hashlib

from stoker.data.shards import split_indices

KEYS = [b"a", b"b", b"c", b"d", b"e", b"f"]


def test_a_key_falls_into_the_bucket_of_its_sha256():
    # int(sha256(key).hexdigest(), 16) % 3 for each key, by hand: buckets 0 and 1 are train.
    remainders = [int(hashlib.sha256(key).hexdigest(), 16) % 3 for key in KEYS]
    assert split_indices(KEYS, [2, 1]).tolist() == [0 if one < 2 else 1 for one in remainders]


def test_golden_splits():
    assert split_indices(KEYS, [2, 1]).tolist() == [0, 1, 0, 0, 0, 1]
    assert split_indices(KEYS, [6, 1, 3]).tolist() == [2, 0, 2, 0, 0, 2]


def test_the_order_of_the_splits_counts():
    assert split_indices(KEYS, [1, 2]).tolist() != (1 - split_indices(KEYS, [2, 1])).tolist()


def test_one_split_takes_all():
    assert split_indices(KEYS, [7]).tolist() == [0] * 6
