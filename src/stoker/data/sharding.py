# SPDX-License-Identifier: Apache-2.0
"""How files of a step are cut into shards: by their sizes alone, so that it is the same everywhere.

There are about eight shards, unless that would make them too small to be worth it, or so large
that a process that is lost with one is a loss.
"""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

SHARD_BYTES = "STOKER_SHARD_BYTES"
"""The variable that says how large shards are, instead."""

_USUAL_NUMBER = 8
_LEAST_BYTES = 4 << 20
_MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Some whole files, or every `num_parts`-th batch of one."""

    files: tuple[str, ...]
    part: int = 0
    num_parts: int = 1


def plan_shards(
    files: Sequence[str], *, cut: bool = False, least: int = _LEAST_BYTES, most: int = _MOST_BYTES
) -> list[Shard]:
    """Shards of neighbouring files, in their order; with `cut`, large files are cut into parts.

    A shard has between `least` and `most` bytes, as far as files allow.
    """
    sizes = [_find_size(path) for path in files]
    size = min(max(sum(sizes) // _USUAL_NUMBER, least), most)
    size = int(os.environ.get(SHARD_BYTES, size))
    shards: list[Shard] = []
    begun: list[str] = []
    num_bytes = 0
    for path, num_more in zip(files, sizes, strict=True):
        num_parts = 1 + num_more // size if cut else 1
        if begun and (num_parts > 1 or num_bytes + num_more > size):
            shards.append(Shard(files=tuple(begun)))
            begun, num_bytes = [], 0
        if num_parts > 1:
            shards += [
                Shard(files=(path,), part=one, num_parts=num_parts) for one in range(num_parts)
            ]
        else:
            begun.append(path)
            num_bytes += num_more
    return [*shards, Shard(files=tuple(begun))] if begun else shards


def _find_size(path: str) -> int:
    """In bytes; columns know that of records that are not here. A query counts as nothing."""
    with contextlib.suppress(OSError):
        return os.path.getsize(path)
    from stoker.data.column_file import ColumnFile, DamagedColumns, columns_path  # loads pyarrow

    with contextlib.suppress(OSError, DamagedColumns):
        return ColumnFile(columns_path(path), path).shard_size
    return 0
