# SPDX-License-Identifier: Apache-2.0
"""One run, whose steps are started by whoever comes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import pytest

from stoker.metadata.config import sqlite_metadata_connection_config
from stoker.metadata.standings import run_state, step_state
from stoker.metadata.store import Store

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
STEPS = ["number", "slow", "big", "after_big"]
LIGHT = """
from tfx import v1 as tfx

@tfx.dsl.components.component
def number() -> tfx.dsl.components.OutputDict(out=int):
    return {"out": 1}

pipeline = tfx.dsl.Pipeline("light", "root", components=[number()], enable_cache=True)
tfx.orchestration.LocalDagRunner().run(pipeline)
"""
FOR_STEPS_THAT_RUN = (
    *("tensorflow", "tf_keras", "keras", "ray", "apache_beam", "numpy", "pyarrow", "rich"),
    *("multiprocessing", "ctypes", "stoker.launchers.worker", "stoker.launchers.fork_server"),
    *("stoker.launchers.on_ray", "stoker.patches.tf_keras", "stoker.orchestrators"),
)


@pytest.fixture
def file(here, monkeypatch):
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.setattr("sys.argv", list(sys.argv))
    monkeypatch.setenv("STOKER_TEST_IN_PROCESS", "1")
    return shutil.copy(HERE / "stepped_pipeline.py", here / "pipeline.py")


@pytest.fixture
def step(file, stoker):
    """Runs a step in this process, as the command does."""

    def run(node, run_id="r1", *words):
        return stoker("step", file, node, "--run-id", run_id, *words)

    return run


def start(node, *words, run_id="r1", environ=()):
    command = [sys.executable, "-m", "stoker", "step", "pipeline.py", node, "--run-id", run_id]
    return subprocess.Popen(
        [*command, *words],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **dict(environ)},
    )


def end(process):
    _, err = process.communicate(timeout=120)
    return process.returncode, err


def kill(process):
    process.kill()
    process.communicate()


def marks():
    return Counter(Path("marks").read_text().split())


def wait_for_mark(name):
    deadline = time.monotonic() + 60
    while not (Path("marks").exists() and marks()[name]):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def read_store(question):
    with Store(sqlite_metadata_connection_config("root/metadata.db")) as store:
        return question(store)


def state_of(run_id="r1"):
    return read_store(lambda store: run_state(store.run(run_id)))


def standings(node, run_id="r1"):
    def read(store):
        return [
            one.standing
            for one in store.executions(pipeline_name="stepped", run_id=run_id, node_id=node)
        ]

    return read_store(read)


def test_steps_make_one_run_and_the_file_goes_no_further_than_its_run(step):
    assert [step(name).code for name in STEPS[:2]] == [0, 0]
    assert state_of() == "waiting"
    third = step("big")
    assert (third.code, third.out) == (0, "")
    assert step("after_big").code == 0
    assert state_of() == "complete"
    assert [standings(name) for name in STEPS] == [["complete"]] * 4


def test_a_step_of_another_run_finds_it_cached(step):
    for run_id in ("r1", "r2"):
        assert [step(name, run_id).code for name in STEPS] == [0] * 4
    assert [standings(name, "r2") for name in STEPS] == [["cached"]] * 4
    assert set(marks().values()) == {1}


def test_what_is_done_is_not_done_again(step):
    step("number")
    again = step("number")
    assert again.code == 0
    assert "number is done already in run r1" in again.err
    assert standings("number") == ["complete"]


def test_a_step_that_comes_too_early_says_what_comes_first(step):
    early = step("big")
    assert early.code == 1
    assert (
        "big comes after number, which is not done in run r1. First: stoker step pipeline.py "
        "number --run-id r1" in early.err
    )
    assert state_of() == "waiting"
    assert standings("big") == []


def test_a_false_condition_leaves_with_3_and_so_does_what_comes_after_it(step):
    limited = ("--", "0", "5")
    assert [step(name, "r1", *limited).code for name in STEPS] == [0, 0, 3, 3]
    assert step("big", "r1", *limited).code == 3
    assert step("after_big", "r1", "--skip-ok", *limited).code == 0
    assert state_of() == "complete"
    assert standings("big") == ["skipped"]


def test_a_run_has_one_set_of_parameters(step):
    assert step("number", "r1", "--param", "value=7").code == 0
    other = step("slow")
    assert other.code == 1
    assert 'Run r1 was begun with the parameters {"value": "7"}' in other.err
    assert step("slow", "r1", "--param", "value=7").code == 0


def test_an_unknown_step_is_wrong_usage(step):
    wrong = step("bigg")
    assert wrong.code == 2
    assert "pipeline.py has no step 'bigg'" in wrong.err
    assert "Did you mean 'big'?" in wrong.err
    assert step("big", "r@1").code == 2


def test_a_failed_step_may_be_run_again(step, here):
    step("number")
    (here / "fail").touch()
    failed = step("slow")
    assert failed.code == 1
    assert "OSError: the disk is full" in failed.err
    assert state_of() == "failed"
    (here / "fail").unlink()
    assert step("slow").code == 0
    assert state_of() == "waiting"
    assert standings("slow") == ["failed", "complete"]


def test_plan_lists_steps_in_an_order_that_works(file, stoker):
    plan = stoker("plan", file, "--json", "--", "0", "5").record
    assert [one["id"] for one in plan["steps"]] == STEPS
    assert plan["steps"][2]["after"] == ["slow"]
    assert plan["steps"][2]["conditions"] == ["slow.outputs['out'][0].value > 5"]
    assert plan["parameters"] == {"value": {"type": "int", "default": 1}}
    command = [word.replace("RUN_ID", "r1") for word in plan["steps"][0]["command"]]
    assert stoker(*command[1:]).code == 0
    assert not Path("root/slow").exists()
    assert "number  " in stoker("plan", file).out


def test_any_runner_is_taken_over(here, stoker, monkeypatch):
    monkeypatch.setattr("sys.path", list(sys.path))
    from test_cli_run_elsewhere import RUNNERS, STEP

    for name, text in RUNNERS.items():
        path = here / f"{name.replace(' ', '_')}.py"
        path.write_text(STEP + textwrap.dedent(text))
        assert stoker("step", path, "write", "--run-id", name).code == 0
        assert stoker("plan", path, "--json").record["steps"][0]["id"] == "write"


LOOP = """
import os, signal
from pathlib import Path
from stoker import LocalDagRunner
from stoker.dsl import ForEach, OutputDict, Parameter, Pipeline, component, union

@component
def one(value: Parameter[int]) -> OutputDict(out=int):
    return {"out": value}

@component
def double(value: int) -> OutputDict(out=int):
    if value == 2 and not Path("been").exists():
        Path("been").touch()
        os.kill(int(Path("parent").read_text()), signal.SIGKILL)
    return {"out": 2 * value}

@component
def use(value: int) -> OutputDict(out=int):
    return {"out": value}

if __name__ == "__main__":
    Path("parent").write_text(str(os.getpid()))
ones = [one(value=n).with_id(f"one{n}") for n in (1, 2, 3)]
with ForEach(union([one.outputs["out"] for one in ones])) as each:
    doubled = double(value=each)
    used = use(value=doubled.outputs["out"])
LocalDagRunner().run(Pipeline("stepped", "root", components=[*ones, doubled, used]))
"""


def test_a_loop_that_was_killed_goes_on_with_the_rounds_that_are_left(here, monkeypatch):
    Path("pipeline.py").write_text(LOOP)
    for name in ("one1", "one2", "one3"):
        assert end(start(name))[0] == 0
    assert end(start("double"))[0] == -9
    assert standings("double") == ["complete", "running"]
    early, said = end(start("use"))
    assert (early, "comes after double, which is not done" in said) == (1, True)
    assert end(start("double"))[0] == 0
    assert standings("double") == ["complete", "failed", "complete", "complete"]
    assert end(start("use"))[0] == 0
    assert state_of() == "complete"
    values = [Path(one).read_text() for one in Path("root/use/out").glob("*/value")]
    assert sorted(values) == ["2", "4", "6"]


def test_a_cached_step_is_light(here):
    """It imports nothing that only steps which run need; benchmarks/step.py has the seconds."""
    Path("pipeline.py").write_text(LIGHT)
    assert end(start("number"))[0] == 0
    program = """if True:
        import json, sys
        import stoker.cli
        try:
            stoker.cli.main(["step", "pipeline.py", "number", "--run-id", "r2"])
        except SystemExit as left:
            assert not left.code
        print(json.dumps(list(sys.modules)))
    """
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "number cached in" in done.stderr
    loaded = json.loads(done.stdout)
    assert {name for name in loaded if name.startswith(FOR_STEPS_THAT_RUN)} == set()
    assert len(loaded) < 650


class TestProcesses:
    """Steps in processes of their own, as orchestrators start them."""

    @pytest.fixture(autouse=True)
    def _first(self, file, step, monkeypatch):
        assert step("number").code == 0

    def test_of_two_at_once_one_runs_and_the_other_waits_for_it(self):
        first = start("slow", "--", "-1")
        wait_for_mark("slow")
        second = start("slow", "--", "-1")
        assert "waiting for it" in second.stderr.readline()
        Path("go").touch()
        assert [end(first)[0], end(second)[0]] == [0, 0]
        assert marks()["slow"] == 1
        assert standings("slow") == ["complete"]

    def test_who_has_waited_for_a_failure_fails_too(self, here):
        (here / "fail").touch()
        first = start("slow", "--", "-1")
        wait_for_mark("slow")
        second = start("slow", "--", "-1")
        assert "waiting for it" in second.stderr.readline()
        second.send_signal(signal.SIGSTOP)  # it finds the other one failed as soon as it waits
        (here / "go").touch()
        assert end(first)[0] == 1
        second.send_signal(signal.SIGCONT)
        code, err = end(second)
        assert code == 1
        assert "slow failed in another process:" in err
        assert "OSError: the disk is full" in err
        assert marks()["slow"] == 1

    def test_a_killed_step_is_closed_by_the_next_of_any_kind(self, step):
        killed = start("slow", "--", "60")
        wait_for_mark("slow")
        assert state_of() == "running"
        kill(killed)
        assert state_of() == "died"
        assert step("number").code == 0
        assert standings("slow") == ["failed"]
        assert state_of() == "failed"
        assert end(start("slow", "--", "0"))[0] == 0
        assert standings("slow") == ["failed", "complete"]
        assert state_of() == "waiting"

    def test_who_waits_for_a_killed_step_runs_it(self):
        killed = start("slow", "--", "60")
        wait_for_mark("slow")
        waiting = start("slow", "--", "60")
        assert "waiting for it" in waiting.stderr.readline()
        kill(killed)
        deadline = time.monotonic() + 60
        while marks()["slow"] < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert standings("slow") == ["failed", "running"]
        assert read_store(_states_of_slow) == ["failed", "running"]
        waiting.terminate()
        code, _ = end(waiting)
        assert code == 130
        assert standings("slow") == ["failed", "canceled"]
        assert state_of() == "canceled"

    def test_a_whole_run_closes_what_killed_steps_left_and_no_step_that_lives(self):
        living = start("slow", "--", "-1")
        wait_for_mark("slow")
        whole = [sys.executable, "pipeline.py", "0"]
        subprocess.run(whole, check=True, capture_output=True, timeout=120)
        assert standings("slow") == ["running"]
        Path("go").touch()
        assert end(living)[0] == 0


def _states_of_slow(store):
    executions = store.executions(pipeline_name="stepped", run_id="r1", node_id="slow")
    return [step_state(store, one) for one in executions]
