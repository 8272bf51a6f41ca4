# SPDX-License-Identifier: Apache-2.0
"""How long a fully cached run takes when the store is new, and when it holds 10,000 executions.

python benchmarks/cached_run.py
"""

import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PIPELINE = REPOSITORY / "examples" / "penguin" / "pipeline.py"
EXECUTIONS = 10_000


def main() -> None:
    with tempfile.TemporaryDirectory() as root:
        wall, _ = run(root)
        print(f"penguin pipeline, first run           {wall:6.2f} s")
        imports = min(start_up() for _ in range(3))
        print(f"start-up: Python and the imports      {imports:6.2f} s")
        report("cached, 4 executions in the store", root, imports)
        fill(Path(root, "metadata.db"))
        report(f"cached, {EXECUTIONS} executions in the store", root, imports)


def run(root: str) -> tuple[float, float]:
    """Wall and CPU seconds of one run of the pipeline in a process of its own."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, str(PIPELINE), f"--root={root}"], check=True, capture_output=True
    )
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start_up() -> float:
    """What any program that uses the runner and the store pays before its first line."""
    code = "import tfx.v1, stoker.runner, stoker.metadata.store; stoker.runner.LocalDagRunner"
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.monotonic() - start


def report(what: str, root: str, imports: float) -> None:
    wall, cpu = min(run(root) for _ in range(3))
    print(f"{what:38}{wall:6.2f} s wall, {cpu:.2f} CPU s: {wall - imports:.2f} s over start-up")


def fill(database: Path) -> None:
    """Repeat the executions that are there, with properties, contexts and events, many times."""
    with sqlite3.connect(database) as store:
        originals = [row[0] for row in store.execute("SELECT id FROM Execution ORDER BY id")]
        (highest,) = store.execute("SELECT MAX(id) FROM Execution").fetchone()
        for number in range(EXECUTIONS - len(originals)):
            old, new = originals[number % len(originals)], highest + 1 + number
            store.execute(
                "INSERT INTO Execution SELECT ?, type_id, last_known_state, NULL, NULL, "
                "create_time_since_epoch, last_update_time_since_epoch FROM Execution WHERE id = ?",
                (new, old),
            )
            store.execute(
                "INSERT INTO ExecutionProperty SELECT ?, name, is_custom_property, int_value, "
                "double_value, string_value, byte_value, proto_value, bool_value "
                "FROM ExecutionProperty WHERE execution_id = ?",
                (new, old),
            )
            store.execute(
                "INSERT INTO Association (context_id, execution_id) "
                "SELECT context_id, ? FROM Association WHERE execution_id = ?",
                (new, old),
            )
            for event, artifact, kind, at in store.execute(
                "SELECT id, artifact_id, type, milliseconds_since_epoch FROM Event "
                "WHERE execution_id = ?",
                (old,),
            ).fetchall():
                copied = store.execute(
                    "INSERT INTO Event (artifact_id, execution_id, type, milliseconds_since_epoch) "
                    "VALUES (?, ?, ?, ?)",
                    (artifact, new, kind, at),
                ).lastrowid
                store.execute(
                    "INSERT INTO EventPath SELECT ?, is_index_step, step_index, step_key "
                    "FROM EventPath WHERE event_id = ?",
                    (copied, event),
                )
    store.close()


if __name__ == "__main__":
    main()
