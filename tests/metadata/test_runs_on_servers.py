# SPDX-License-Identifier: Apache-2.0
"""Whole runs with a store on a server: lost and found again, seen from elsewhere, no secrets."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import server_pipeline
from database_servers import PASSWORD, QUOTED, DatabaseServer, one_soon
from sqlalchemy import text

from stoker.artifacts import State
from stoker.metadata import ExecutionState, StoreConfig, schema
from stoker.metadata.config import STORE_VARIABLE
from stoker.metadata.standings import find_dead, run_state
from stoker.metadata.store import Store

pytestmark = pytest.mark.slow
STOKER = [sys.executable, "-m", "stoker"]
Start = Callable[..., "subprocess.Popen[str]"]


def variables(config: StoreConfig) -> dict[str, str]:
    return {**os.environ, STORE_VARIABLE: config.url, "NO_COLOR": "1"}


@pytest.fixture
def start(server_config: StoreConfig, tmp_path: Path) -> Iterator[Start]:
    """Starts the pipeline in a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def start(seconds: float, root: str = "root") -> "subprocess.Popen[str]":
        command = [sys.executable, server_pipeline.__file__, str(tmp_path / root), str(seconds)]
        process = subprocess.Popen(
            command,
            env=variables(server_config),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_for_training(config: StoreConfig) -> int:
    """The execution of a training that has begun."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with Store(config) as store:
            running = store.executions(states=(ExecutionState.RUNNING,))
            found = [one.id for one in running if one.node_id == "Train"]
            if found:
                return found[0]
        time.sleep(0.1)
    raise TimeoutError("No training has begun.")


def require_one_good_run(config: StoreConfig) -> None:
    with Store(config) as store:
        [run] = store.runs()
        assert run_state(run) == "complete"
        states = [one.state for one in store.executions()]
        assert states == [ExecutionState.COMPLETE] * 2
        assert len(store.artifacts(states=tuple(State))) == len(store.artifacts()) == 2


@one_soon
@pytest.mark.parametrize(
    ("training", "away"), [(2, 0), pytest.param(20, 30, marks=pytest.mark.envs)]
)
def test_a_server_that_is_killed_while_a_model_trains_costs_nothing(
    server: DatabaseServer, server_config: StoreConfig, start: Start, training: int, away: int
) -> None:
    run = start(training)
    wait_for_training(server_config)
    killed = time.monotonic()
    server.kill()
    assert run.stdout
    said = ""
    while "does not answer; waiting…" not in said:  # the training has ended by then
        line = run.stdout.readline()
        assert line, said
        said += line
    time.sleep(max(0, killed + away - time.monotonic()))
    assert run.poll() is None
    server.start()
    rest, _ = run.communicate(timeout=120)
    assert run.returncode == 0, said + rest
    assert "answers again" in rest
    require_one_good_run(server_config)


@one_soon
def test_a_server_that_hangs_is_told_of_and_waited_for(
    server: DatabaseServer, server_config: StoreConfig, start: Start
) -> None:
    run = start(1)
    wait_for_training(server_config)
    server.send_signal(signal.SIGSTOP)
    try:
        assert run.stdout
        said, began = "", time.monotonic()
        while "does not answer; waiting…" not in said:
            line = run.stdout.readline()
            assert line, said
            said += line
        print(f"told after {time.monotonic() - began:.1f} s")
        assert time.monotonic() - began < 30  # the training, ten seconds, and a slow machine
        assert run.poll() is None
    finally:
        server.send_signal(signal.SIGCONT)
    rest, _ = run.communicate(timeout=120)
    assert run.returncode == 0, said + rest
    assert "answers again" in rest
    require_one_good_run(server_config)


@pytest.mark.envs
def test_a_run_elsewhere_is_seen_to_live_and_to_die(
    server_config: StoreConfig, start: Start, tmp_path: Path
) -> None:
    run = start(60)
    execution_id = wait_for_training(server_config)
    (tmp_path / "root" / ".stoker" / "runs").rename(tmp_path / "not-seen-from-here")
    with Store(server_config) as store:
        assert run_state(store.runs()[0]) == "running"
        assert find_dead(store, "lasting") == []
        assert " running " in list_runs(server_config)
        run.send_signal(signal.SIGKILL)
        run.wait()
        deadline = time.monotonic() + 10
        while run_state(store.runs()[0]) == "running" and time.monotonic() < deadline:
            time.sleep(0.1)
        assert run_state(store.runs()[0]) == "died"
        assert " died " in list_runs(server_config)
        second = start(0, "elsewhere")
        said, _ = second.communicate(timeout=120)
        assert second.returncode == 0, said
        closed = store.execution(execution_id)
        assert (closed.state, closed.error) == (
            ExecutionState.FAILED,
            "The run ended before this step did.",
        )


def list_runs(config: StoreConfig) -> str:
    return subprocess.run(
        [*STOKER, "runs"], env=variables(config), check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def cut_lock(server: DatabaseServer, database: str) -> None:
    """End the one session that is idle: that with the lock of a run."""
    if server.kind == "postgresql":
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
        return
    found = server.execute(f"SELECT id FROM information_schema.processlist WHERE db = '{database}'")
    for (session,) in found:
        server.execute(f"KILL {session}")


@pytest.mark.envs
def test_a_lock_that_was_cut_is_taken_again_before_anybody_takes_its_run_for_dead(
    server: DatabaseServer, server_config: StoreConfig, start: Start, tmp_path: Path
) -> None:
    run = start(12)
    wait_for_training(server_config)
    (tmp_path / "root" / ".stoker" / "runs").rename(tmp_path / "not-seen-from-here")
    cut_lock(server, server_config.url.rpartition("/")[2])
    with Store(server_config) as store:
        assert run_state(store.runs()[0]) == "died"  # for the moment
        assert find_dead(store, "lasting") == []
        assert run_state(store.runs()[0]) == "running"
    said, _ = run.communicate(timeout=120)
    assert run.returncode == 0, said
    require_one_good_run(server_config)


@one_soon
def test_no_password_is_in_a_log_the_store_or_a_process_list(
    server_config: StoreConfig, start: Start, tmp_path: Path
) -> None:
    run = start(6)
    wait_for_training(server_config)
    follower = subprocess.Popen(
        [*STOKER, "--store", server_config.url, "logs", "-f", "Train"],
        env={name: value for name, value in os.environ.items() if name != STORE_VARIABLE},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    shown = [run.args, wait_for_hidden(follower)]
    said, _ = run.communicate(timeout=120)
    followed, _ = follower.communicate(timeout=60)
    assert run.returncode == 0, said
    assert "The variables of a worker" in followed
    report = subprocess.run(
        [*STOKER, "report", "last", "--output", str(tmp_path / "report.html")],
        env=variables(server_config),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert report.returncode == 0, report.stdout
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    texts = [path.read_text(errors="replace") for path in files]
    texts += [*map(str, shown), said, followed, report.stdout, dump(server_config)]
    assert len(files) > 5
    for written in texts:
        for secret in (PASSWORD, QUOTED):
            assert secret not in written


def wait_for_hidden(process: "subprocess.Popen[str]") -> str:
    """The command lines of all processes, as soon as this one has started anew without a secret."""
    deadline = time.monotonic() + 20
    while True:
        listed = subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, text=True).stdout
        own = Path(f"/proc/{process.pid}/cmdline").read_text()
        if QUOTED not in own and "logs" in own:
            break
        assert time.monotonic() < deadline, "The password stays on the command line."
        time.sleep(0.02)
    return listed if QUOTED not in listed else subprocess.getoutput("ps -eo args")


def dump(config: StoreConfig) -> str:
    """Everything in the store."""
    with Store(config) as store:
        rows = [
            str(row)
            for table in schema.list_tables()
            for row in store.ask(
                lambda connection, name=table.name: connection.execute(
                    text(f"SELECT * FROM {name}")
                ).all()
            )
        ]
    assert len(rows) > 30
    return "\n".join(rows)


@pytest.mark.envs
def test_commands_read_the_store_that_they_are_told(
    server_config: StoreConfig, start: Start, tmp_path: Path
) -> None:
    said, _ = start(0).communicate(timeout=120)
    assert "is done" in said
    place = server_config.place
    commands = ["runs", "show last", "explain Train", "lineage 2", "verify", "clean", "logs Train"]
    for command in [*commands, "show Train", "show 2", "runs lasting"]:
        done = subprocess.run(
            [*STOKER, *command.split(), "--store", server_config.url],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout
        assert re.search(
            "lasting|Train|Freed|as they were published|Model|variables of a worker", done.stdout
        ), command
    wrong = place.rpartition("/")[0] + "/stoker_nowhere"
    done = subprocess.run(
        [*STOKER, "runs", "--store", wrong], stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "stoker_nowhere" in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


def test_an_empty_database_is_not_filled_by_who_only_looks(server_config: StoreConfig) -> None:
    done = subprocess.run(
        [*STOKER, "runs"], env=variables(server_config), stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 1
    assert "There is no metadata store in" in done.stderr
    assert "migrate" in done.stderr
