# SPDX-License-Identifier: Apache-2.0
"""How long a model of 20,000 files takes to be published, looked at and pushed.

python benchmarks/many_files.py [FOLDER]

The folder is on the file system to be measured; by default it is where temporary files are. The
ratios are to the plain way, one fsync for each file in a row.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from measuring import Clock

from stoker.components.pusher import push
from stoker.storage.digests import find_problems, seal
from stoker.storage.files import copy_tree, sync
from stoker.storage.root import manifest_file

FILES = 20_000
FILES_IN_FOLDER = 500
BYTES = 2_000


def main() -> None:
    with tempfile.TemporaryDirectory(dir=next(iter(sys.argv[1:]), None)) as folder:
        plain = write_model(Path(folder, "Trainer", "model", "1"))
        in_a_row = measure("synced in a row", lambda: sync_in_a_row(plain))
        model = write_model(Path(folder, "Trainer", "model", "2"))
        parts = {
            "published: synced, hashed": lambda: seal(model).write(manifest_file(model)),
            "looked at: sizes, times": lambda: find_problems(model),
            "verified by digest": lambda: find_problems(model, by_digest=True),
            "copied": lambda: copy_tree(model, os.path.join(folder, "copy")),
            "pushed: copied, synced, hashed": lambda: push(
                model,
                os.path.join(folder, "served"),
                last_push=os.path.join(folder, "last_push.txt"),
                scratch_dir=folder,
            ),
        }
        for what, do in parts.items():
            measure(what, do, in_a_row)


def write_model(folder: Path) -> str:
    for number in range(FILES):
        path = folder / str(number // FILES_IN_FOLDER) / f"shard-{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(BYTES))
    return str(folder)


def sync_in_a_row(folder: str) -> None:
    for path in Path(folder).rglob("*"):
        sync(str(path))


def measure(what: str, do: Callable[[], object], in_a_row: float | None = None) -> float:
    clock = Clock()
    do()
    wall, cpu = clock.since()
    ratio = f"   ratio {wall / in_a_row:6.3f}" if in_a_row else ""
    print(f"{what:32} wall {wall:6.2f} s   CPU {cpu:5.2f} s{ratio}", flush=True)
    return wall


if __name__ == "__main__":
    main()
