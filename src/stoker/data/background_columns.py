# SPDX-License-Identifier: Apache-2.0
"""Columns for files that have none: small ones are decoded at once, others beside the training.

A process of the lowest priority decodes what is large, shard by shard, so that the first reading is
as fast as without it, and the next one finds columns. It ends together with the process that reads.
"""

import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Sequence

from stoker.data.columns import Columns, read_columns
from stoker.errors import BadData

_SMALL_BYTES = 4 << 20
"""What is decoded at once: a fraction of a second."""

_in_progress: set[str] = set()


def columns_for(files: Sequence[str], cache_dir: str | None) -> Columns | None:
    """The columns of some files; None if there are none, or none yet."""
    try:
        small = sum(map(os.path.getsize, files)) <= _SMALL_BYTES
        columns = read_columns(files, cache_dir, decode_missing=small)
    except BadData:  # what is wrong may be in features that nobody asks for
        return None
    if columns is None and cache_dir and not small:
        _decode_beside(files, cache_dir)
    return columns


def _decode_beside(files: Sequence[str], cache_dir: str) -> None:
    shards = [shard for shard in files if shard not in _in_progress]
    if not shards:
        return
    _in_progress.update(shards)
    command = [sys.executable, "-m", __name__, cache_dir, *shards]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    atexit.register(_end, process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()


def main() -> None:
    """Decode shards, as long as the process that asked for it is there."""
    os.nice(19)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    cache_dir, *shards = sys.argv[1:]
    for shard in shards:
        try:
            read_columns([shard], cache_dir)
        except BadData:  # read without columns, it will say so itself
            continue


def _leave_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
