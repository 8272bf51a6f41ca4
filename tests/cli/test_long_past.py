# SPDX-License-Identifier: Apache-2.0
"""With 20,000 executions in the store, nobody waits for them.

What is counted are calls of functions, which are the same on every machine;
benchmarks/cached_run.py has the seconds.
"""

import contextlib
import runpy
import sqlite3
import sys
from pathlib import Path

import note_pipeline
import pytest

pytestmark = pytest.mark.slow  # to fill a store with 20,000 executions takes ten seconds

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "cached_run.py"


def put_into_few_runs(database):
    """Leave 5 runs of those that were copied, and give them the executions of all."""
    with contextlib.closing(sqlite3.connect(database)) as store, store:
        (first,) = store.execute("SELECT MIN(id) FROM Context WHERE id >= 1000").fetchone()
        store.execute("DELETE FROM Context WHERE id >= ?", [first + 5])
        few = "UPDATE Association SET context_id = ? + context_id % 5 WHERE context_id >= ?"
        store.execute(few, [first, first])


def count_calls(work):
    """How many functions, of Python and of C, a piece of work calls; and what it returns."""
    num_calls = 0

    def count(_frame, event, _argument):
        nonlocal num_calls
        num_calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        result = work()
    finally:
        sys.setprofile(None)
    return num_calls, result


def look(stoker, root):
    """The calls of a cached run and of two commands; they all see the run that was made last."""
    running, run = count_calls(lambda: note_pipeline.run_notes(root))
    listing, runs = count_calls(lambda: stoker("runs", "--json").record)
    showing, shown = count_calls(lambda: stoker("show", "last", "--json").record)
    assert shown["run"] == run.id == runs[0]["run"]
    return running, listing, showing


def test_a_long_past_is_not_waited_for(stoker, root):
    note_pipeline.run_notes(root)
    look(stoker, root)  # what is imported once is start-up
    new = look(stoker, root)
    repeat = runpy.run_path(str(BENCHMARK))["repeat_first_run"]
    repeat(root / "metadata.db", 20_000)
    check_that_nobody_waits(look(stoker, root), new)
    put_into_few_runs(root / "metadata.db")
    check_that_nobody_waits(look(stoker, root), new)


def check_that_nobody_waits(calls, calls_with_a_new_store):
    """A call per execution would be a hundred times as many."""
    for many, few in zip(calls, calls_with_a_new_store, strict=True):
        assert many < 2 * few
