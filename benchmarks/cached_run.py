# SPDX-License-Identifier: Apache-2.0
"""What a long past costs: a fully cached run, `stoker runs` and `stoker show last`.

Each in a new store, and in one that holds 20,000 executions in 5,000 runs.

python benchmarks/cached_run.py
"""

import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PIPELINE = REPOSITORY / "examples" / "penguin" / "pipeline.py"
NUM_EXECUTIONS = 20_000
IMPORTS = "import tfx.v1, stoker.runner, stoker.metadata.store; stoker.runner.LocalDagRunner"


def main() -> None:
    with tempfile.TemporaryDirectory() as root:
        pipeline = [str(PIPELINE), f"--root={root}"]
        stoker = ["-m", "stoker"]
        wall, _ = run(pipeline)
        print(f"penguin pipeline, first run: {wall:.2f} s")
        measured = {
            "a cached run": (pipeline, ["-c", IMPORTS]),
            "stoker runs": ([*stoker, "runs", "--root", root], [*stoker, "runs", "--help"]),
            "stoker show last": (
                [*stoker, "show", "last", "--root", root],
                [*stoker, "show", "--help"],
            ),
        }
        start_up = {what: fastest(imports) for what, (_, imports) in measured.items()}
        new = {what: fastest(words) for what, (words, _) in measured.items()}
        repeat_first_run(Path(root, "metadata.db"), NUM_EXECUTIONS)
        long = {what: fastest(words) for what, (words, _) in measured.items()}
    print(
        f"{'wall (CPU) s over start-up':30}{'new store':>16}{f'{NUM_EXECUTIONS:,} executions':>20}"
    )
    for what in measured:
        columns = [over(found[what], start_up[what]) for found in (new, long)]
        print(f"{what:30}{columns[0]:>16}{columns[1]:>20}")


def run(words: Sequence[str]) -> tuple[float, float]:
    """Wall and CPU seconds of a program in a process of its own."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fastest(words: Sequence[str]) -> tuple[float, float]:
    walls, cpus = zip(*(run(words) for _ in range(5)), strict=True)
    return min(walls), min(cpus)


def over(found: tuple[float, float], start_up: tuple[float, float]) -> str:
    wall, cpu = (one - other for one, other in zip(found, start_up, strict=True))
    return f"{wall:.2f} ({cpu:.2f})"


COPIES = """
INSERT INTO Context
    SELECT id + 1000 + i, type_id, name || '-' || i, NULL, create_time_since_epoch - i - 1,
        last_update_time_since_epoch - i - 1 FROM Context, copy WHERE id = :run;
INSERT INTO ContextProperty
    SELECT context_id + 1000 + i, name, is_custom_property, int_value, double_value, string_value,
        byte_value, proto_value, bool_value FROM ContextProperty, copy WHERE context_id = :run;
INSERT INTO ParentContext
    SELECT context_id + 1000 + i, parent_context_id FROM ParentContext, copy
    WHERE context_id = :run;
INSERT INTO Execution
    SELECT id + 1000 + i * :steps, type_id, last_known_state, NULL, NULL,
        create_time_since_epoch - i - 1, last_update_time_since_epoch - i - 1
    FROM Execution, copy WHERE id <= :steps;
INSERT INTO ExecutionProperty
    SELECT execution_id + 1000 + i * :steps, name, is_custom_property, int_value, double_value,
        string_value, byte_value, proto_value, bool_value FROM ExecutionProperty, copy
    WHERE execution_id <= :steps;
INSERT INTO Association (context_id, execution_id)
    SELECT context_id + (1000 + i) * (context_id = :run), execution_id + 1000 + i * :steps
    FROM Association, copy WHERE execution_id <= :steps;
INSERT INTO Event
    SELECT id + 1000 + i * :events, artifact_id, execution_id + 1000 + i * :steps, type,
        milliseconds_since_epoch FROM Event, copy WHERE id <= :events;
INSERT INTO EventPath
    SELECT event_id + 1000 + i * :events, is_index_step, step_index, step_key
    FROM EventPath, copy WHERE event_id <= :events;
"""


def repeat_first_run(database: Path, num_executions: int) -> None:
    """Write the first run into the store again and again, as older ones, with its artifacts."""
    store = sqlite3.connect(database)
    (run,) = store.execute("SELECT MIN(context_id) FROM ParentContext").fetchone()
    members = "FROM Association WHERE context_id = ?"
    (steps,) = store.execute(f"SELECT MAX(execution_id) {members}", [run]).fetchone()
    (events,) = store.execute(
        "SELECT MAX(id) FROM Event WHERE execution_id <= ?", [steps]
    ).fetchone()
    facts = {"run": run, "steps": steps, "events": events}
    store.execute("CREATE TEMP TABLE copy (i INTEGER)")
    copies = ((number,) for number in range(num_executions // steps))
    store.executemany("INSERT INTO copy VALUES (?)", copies)
    for statement in COPIES.split(";")[:-1]:
        store.execute(statement, facts)
    store.commit()
    store.close()


if __name__ == "__main__":
    main()
