# SPDX-License-Identifier: Apache-2.0
"""From counted tokens to a vocabulary file: merged, pruned, ordered, written."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow_transform import analyzer_nodes, analyzers, tf_utils

from stoker.data.tfrecord import write_records
from stoker.transform.accumulate import group_by_key, is_mutual, merge_vocabularies
from stoker.transform.internals import count_and_token, mutual_information

Entry = tuple[Any, Any]
"""A token after what it is ordered by: its frequency, or information and frequency."""

_SENTINELS = (tf_utils.GLOBAL_Y_COUNT_SENTINEL_STRING, tf_utils.GLOBAL_Y_COUNT_SENTINEL_INT)
_NO_THRESHOLD = float("-inf")


def merge(operation: analyzer_nodes.VocabularyMerge, pairs: Iterable[Entry]) -> list[Entry]:
    """Every token once, after its frequency, or after its information and frequency."""
    total = merge_vocabularies(pairs, operation.vocab_ordering_type)
    if not is_mutual(operation.vocab_ordering_type):
        return [(value, token) for token, value in total.items()]
    everything = next((total.pop(token) for token in _SENTINELS if token in total), None)
    min_diff = operation.min_diff_from_avg
    if min_diff is None and everything is not None:
        num_rows = everything.count * everything.weight
        min_diff = analyzers.calculate_recommended_min_diff_from_avg(num_rows)
    entries = []
    for pair in total.items():
        token, (information, _, frequency) = mutual_information(
            pair, everything, operation.use_adjusted_mutual_info, min_diff
        )
        entries.append(((information, frequency), token))
    return entries


def prune(operation: analyzer_nodes.VocabularyPrune, entries: list[Entry]) -> list[Entry]:
    """The entries that are frequent and informative enough, the largest first if there is a top_k.

    With a key_fn, also those that are so among the tokens of the same key.
    """
    for name in ("top_k", "frequency_threshold", "coverage_top_k", "coverage_frequency_threshold"):
        limit = getattr(operation, name)
        if limit is not None and limit < 0:
            raise ValueError(f"{name} of a vocabulary must be 0 or more, or None; got {limit}.")
    kept = _above(entries, operation.frequency_threshold, operation.informativeness_threshold)
    kept = _simple(kept, operation.input_dtype)
    if operation.top_k is not None:
        kept = sorted(kept, reverse=True)[: operation.top_k]
        kept = kept or _dummy(operation.input_dtype)
    if operation.key_fn is None:
        return kept
    covering = _above(
        entries,
        operation.coverage_frequency_threshold,
        operation.coverage_informativeness_threshold,
    )
    covering = _simple(covering, operation.input_dtype)
    if operation.coverage_top_k is not None:
        covering = _top_per_key(covering, operation.coverage_top_k, operation.key_fn)
    return list(dict.fromkeys([*kept, *covering]))


def size(entries: Sequence[Entry]) -> np.int64:
    """How many tokens there are; an empty vocabulary is written with a dummy in it."""
    return np.int64(max(len(entries), 1))


def order(
    operation: analyzer_nodes.VocabularyOrderAndWrite,
    entries: Sequence[Entry],
    reserved: Sequence[bytes] | None = None,
) -> list[bytes]:
    """The lines of the file: reserved tokens, then the others, each once."""
    ordered: list[Entry] = [(entry[0], entry[1]) for entry in entries]
    if not operation.input_is_sorted or reserved is not None:
        taken = set(() if reserved is None else reserved)
        ordered = [entry for entry in ordered if entry[1] not in taken]
        if operation.fingerprint_shuffle:
            ordered.sort(key=lambda entry: hashlib.sha1(entry[1]).digest())
        else:
            ordered.sort(reverse=True)
        ordered[:0] = [(-1, token) for token in (() if reserved is None else reserved)]
        ordered = ordered or _dummy(operation.input_dtype)
    if operation.store_frequency:
        return [count_and_token(count, token) for count, token in ordered]
    return [tf.compat.as_bytes(token) for _, token in ordered]


def write(operation: analyzer_nodes.VocabularyOrderAndWrite, lines: list[bytes], dir: str) -> str:
    """Write the file, and say where it is."""
    path = Path(dir, operation.vocab_filename)
    path.parent.mkdir(parents=True, exist_ok=True)
    if operation.file_format == "text":
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return str(path)
    compressed = f"{path}.tfrecord.gz"
    write_records(compressed, lines)
    return compressed


def _above(entries: list[Entry], min_frequency: float, min_information: float) -> list[Entry]:
    if min_frequency <= 0 and min_information == _NO_THRESHOLD:
        return entries
    return [
        entry
        for entry in entries
        if _frequency(entry) >= min_frequency and _information(entry) >= min_information
    ]


def _frequency(entry: Entry) -> Any:
    return entry[0][1] if isinstance(entry[0], tuple) else entry[0]


def _information(entry: Entry) -> Any:
    return entry[0][0] if isinstance(entry[0], tuple) else float("inf")


def _simple(entries: list[Entry], dtype: str) -> list[Entry]:
    """Each token after the one number that it is ordered by, and as the bytes of its text."""
    simple = [(value[0] if isinstance(value, tuple) else value, token) for value, token in entries]
    if dtype == tf.string.name:
        return simple
    return [(value, str(token).encode()) for value, token in simple]


def _top_per_key(entries: list[Entry], num: int, key_fn: Callable[[bytes], Any]) -> list[Entry]:
    of_key = group_by_key((key_fn(entry[1]), entry) for entry in entries)
    return [entry for many in of_key.values() for entry in sorted(many, reverse=True)[:num]]


def _dummy(dtype: str) -> list[Entry]:
    return [analyzers.get_empy_vocabulary_dummy_value(dtype)]
