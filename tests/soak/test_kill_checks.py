# SPDX-License-Identifier: Apache-2.0
"""The checks of the soak complain: each is shown a root with the damage that it is for."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys

import pytest
from kill_matrix import checks, victims
from kill_matrix.chain import Chain
from kill_matrix.killed.light import create_pipeline
from kill_matrix.matrix import Progress, Row, format_table, list_rows
from kill_matrix.moments import Moment, draw_moment, watch_for
from kill_matrix.results import describe_results
from kill_matrix.victims import Victim

from stoker.launchers.in_process import InProcess
from stoker.runner import LocalDagRunner


@pytest.fixture(scope="module")
def made_root(tmp_path_factory):
    """A root in which a run of the light pipeline ended well."""
    root = tmp_path_factory.mktemp("made") / "root"
    LocalDagRunner(InProcess()).run(create_pipeline("light", str(root), "salt"))
    return root


@pytest.fixture
def root(made_root, tmp_path):
    """A copy of it, to be damaged."""
    root = shutil.copytree(made_root, tmp_path / "root")
    change_database(root, f"UPDATE Artifact SET uri = replace(uri, '{made_root}', '{root}')")
    return root


def change_database(root, statement):
    with checks.open_database(root) as database, database:
        database.execute(statement)


def overwrite_database(root):
    with open(root / "metadata.db", "r+b") as file:
        file.seek(4096)
        file.write(os.urandom(8192))


def find_model(root):
    return next(root.glob("fit/model/*/Format-Serving"))


def find_version(root):
    return next(root.glob("served/[0-9]*"))


DAMAGES = {
    "a published file is changed": lambda root: (find_model(root) / "weights-part-3").write_text(
        "0"
    ),
    "a published file is gone": lambda root: (find_model(root) / "weights-part-3").unlink(),
    "a file is added": lambda root: (find_model(root) / "more").write_text("0"),
    "a manifest is gone": lambda root: next(root.glob(".stoker/manifests/fit/*/*")).unlink(),
    "a pushed version lacks a file": lambda root: (find_version(root) / "weights-part-3").unlink(),
    "a pushed version is of no model": lambda root: shutil.copytree(
        root / "write", root / "served" / "7"
    ),
    "an execution is left open": lambda root: change_database(
        root, "UPDATE Execution SET last_known_state = 2 WHERE id = 1"
    ),
    "an output is left pending": lambda root: change_database(
        root, "UPDATE Artifact SET state = 1 WHERE id = 1"
    ),
    "an event is of nothing": lambda root: change_database(root, "DELETE FROM Execution"),
    "the store is overwritten": overwrite_database,
    "scratch is left": lambda root: (root / ".stoker" / "tmp" / "dead").mkdir(parents=True),
    "a checkpoint is left": lambda root: (root / ".stoker" / "checkpoints" / "fit" / "0").mkdir(
        parents=True
    ),
    "half a push is left": lambda root: (root / "served" / ".pushing").mkdir(),
}


def test_a_root_that_is_well_gets_no_complaint(root):
    assert checks.check_after_run(root) == []
    assert checks.check_cleaned(root) == []


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_is_seen(root, damage):
    DAMAGES[damage](root)
    try:
        assert checks.check_after_run(root)
    except sqlite3.DatabaseError:  # a store that cannot be read at all is no good news either
        assert damage == "the store is overwritten"


def test_a_step_that_was_published_twice_is_seen(root):
    steps = ["write", "fit", "Pusher"]
    assert checks.check_repeated(root, 0, steps) == []
    LocalDagRunner(InProcess()).run(create_pipeline("light", str(root), "salt"), force=["fit"])
    assert "fit was published 2 times" in checks.check_repeated(root, 0, steps)


def test_other_weights_are_seen(root):
    before = describe_results(root)
    (find_model(root) / "weights-part-3").write_text("0")
    changed = {name for name, digest in describe_results(root).items() if digest != before[name]}
    assert changed == {"model"}


@pytest.mark.parametrize("left", ["fit/model/99", ".stoker/manifests/fit/.writing-x"])
def test_what_was_not_cleaned_away_is_seen(root, left):
    (root / left).mkdir()
    assert checks.check_cleaned(root) == [f"{root / left} is not cleaned away"]


def test_a_process_that_is_left_is_seen_and_can_be_killed():
    environ = {**os.environ, **victims.mark_environment("left")}
    process = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environ
    )
    with process:
        assert victims.wait_until_gone("left", seconds=0) == [process.pid]
        assert victims.kill(Victim.EVERYTHING, process.pid, "left", random.Random(0))
        process.wait()
    assert victims.wait_until_gone("left", seconds=5) == []


def test_moments_are_the_same_for_the_same_seed_and_reach_every_step():
    durations = {"": 1.0, "write": 0.1, "fit": 0.1, "Pusher": 0.1}
    steps = [step for step in durations if step]

    def draw(seed):
        chance = random.Random(seed)
        return [draw_moment(chance, steps, durations) for _ in range(200)]

    assert draw(1) == draw(1) != draw(2)
    assert {moment.step for moment in draw(1)} == {"", *steps}
    assert {"copies", "adds a version", "has a manifest"} < {moment.sign for moment in draw(1)}


def test_a_sign_is_one_that_was_not_there_before(tmp_path):
    (tmp_path / "fit" / "model" / "1").mkdir(parents=True)
    wait = watch_for(tmp_path, Moment(step="fit", sign="begins", seconds=0))
    assert not wait(lambda: True)  # the run ended, and nothing was new
    (tmp_path / "fit" / "model" / "2").mkdir()
    assert wait(lambda: False)


def test_a_soak_goes_on_where_it_was_killed(tmp_path):
    path, row = tmp_path / "progress", list_rows(["light"], ["local"])[0]
    progress = Progress(path, {"seed": 1})
    progress.add(row, Chain(kills=5, wrong=["oh"]))
    with open(path, "a") as file:
        file.write('{"scenario": "li')  # killed in the middle of a line
    again = Progress(path, {"seed": 1})
    assert again.num_kills == 5
    again.add(row, Chain(kills=2))
    assert Progress(path, {"seed": 1}).chains == [*progress.chains, (row, Chain(kills=2))]
    with pytest.raises(SystemExit, match="another soak"):
        Progress(path, {"seed": 2})


def test_the_table_has_a_line_per_row_and_their_sum():
    row = Row(scenario="light", disk="local", victim=Victim.RUNNER)
    other = Row(scenario="light", disk="local", victim=Victim.SIGTERM)
    chains = [(row, Chain(kills=900, lost=["a"], seconds=60.2)), (other, Chain(kills=600))]
    *_, first, second, last = format_table(chains).splitlines()
    assert first == "| light | local | SIGTERM | 600 | 0 | 0 | 0 | 0 | 0 |"
    assert second == "| light | local | runner | 900 | 0 | 0 | 1 | 0 | 60 |"
    assert last == "| **all** | | | 1,500 | 0 | 0 | 1 | 0 | 60 |"
