# SPDX-License-Identifier: Apache-2.0
"""Runs whose steps come in any order, twice at once, and are killed: all is published once.

python random_steps.py --trials 100 --seed 20 --folder DIR [--machines 2]

A trial is one run. Processes are started for steps at random, up to three at a time, without regard
to their order; a third of them gets SIGKILL or SIGTERM within a second. It goes on until each step
has been told to be done. Each process is a fork of this one, which has imported what it needs.

With --machines, each process works in one of so many folders that know nothing of each other: the
store is in a PostgreSQL server, and the pipeline root is in a bucket.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import tfx.v1  # noqa: F401 - for the forks

from stoker.any_python import fileio
from stoker.artifacts import State
from stoker.cli import main as stoker
from stoker.metadata.config import find_store_variable, sqlite_metadata_connection_config
from stoker.metadata.standings import run_state
from stoker.metadata.store import Store

PIPELINE = """
import random, time
from tfx import v1 as tfx
from stoker import LocalDagRunner
from stoker.dsl import Cond, OutputDict, Parameter, component
from stoker.launchers.in_process import InProcess

def work():
    time.sleep(random.random() * 0.3)

@component
def one(value: Parameter[int]) -> OutputDict(out=int):
    work()
    return {"out": value}

@component
def add(left: int, right: int) -> OutputDict(out=int):
    work()
    return {"out": left + right}

first, second = one(value=1), one(value=2).with_id("other")
third = add(left=first.outputs["out"], right=second.outputs["out"])
with Cond(third.outputs["out"].future()[0].value > 2):
    yes = add(left=third.outputs["out"], right=first.outputs["out"]).with_id("yes")
with Cond(third.outputs["out"].future()[0].value > 3):
    no = add(left=third.outputs["out"], right=second.outputs["out"]).with_id("no")
last = add(left=yes.outputs["out"], right=second.outputs["out"]).with_id("last")
LocalDagRunner(InProcess()).run(tfx.dsl.Pipeline(
    "random_steps", ROOT, components=[first, second, third, yes, no, last], enable_cache=CACHE
))
"""
STEPS = {"one": 0, "other": 0, "add": 0, "yes": 0, "no": 3, "last": 0}
"""The steps, and the exit code of each when it has ended."""
VALUES = {"one": "1", "other": "2", "add": "3", "yes": "4", "last": "6"}
MOST_AT_ONCE, SHARE_KILLED, SHARE_AGAIN = 3, 0.35, 0.15
PATIENCE_SECONDS = 600


@dataclass
class Trial:
    """One run, and the processes that work at it."""

    chance: random.Random
    folders: list[str]
    """Where processes work: one for each machine."""
    done: set[str] = field(default_factory=set)
    alive: dict[int, tuple[str, float | None, int]] = field(default_factory=dict)
    """By process: its step, when it is to get a signal if it is, and which."""
    codes: Counter[int] = field(default_factory=Counter)

    def run(self) -> None:
        """Start, kill and start again until every step is done."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.done < STEPS.keys() or self.alive:
            assert time.monotonic() < deadline, f"{self.done} are done; {self.alive} are alive"
            if len(self.alive) < MOST_AT_ONCE and self.done < STEPS.keys():
                again = self.chance.random() < SHARE_AGAIN
                wanted = [name for name in STEPS if again or name not in self.done]
                self.start(self.chance.choice(wanted))
            self.send_signals()
            self.collect()
            time.sleep(0.01)

    def start(self, step: str) -> None:
        now = time.monotonic()
        killed = self.chance.random() < SHARE_KILLED
        at = now + self.chance.random() if killed else None
        number = self.chance.choice([signal.SIGKILL, signal.SIGTERM])
        folder = self.chance.choice(self.folders)
        pid = os.fork()
        if pid == 0:
            _be_step(step, folder)
        self.alive[pid] = step, at, number

    def send_signals(self) -> None:
        for pid, (step, at, number) in list(self.alive.items()):
            if at is not None and time.monotonic() > at:
                os.kill(pid, number)
                self.alive[pid] = step, None, number

    def collect(self) -> None:
        while self.alive:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            step, _, _ = self.alive.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            self.codes[code] += 1
            if code == STEPS[step]:
                self.done.add(step)
            assert code in (STEPS[step], 1, 130, -signal.SIGKILL, -signal.SIGTERM), (step, code)


def _be_step(step: str, folder: str) -> None:
    """What a forked process does: one command."""
    random.seed()
    code = 70
    try:
        os.chdir(folder)
        os.environ["STOKER_CACHE_DIR"] = os.path.abspath("cache")
        with open("log.txt", "a") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            stoker(["step", "pipeline.py", step, "--run-id", "r1"])
        except SystemExit as left:
            code = int(left.code or 0)
        sys.stderr.flush()
    except KeyboardInterrupt:  # the signal came before the command was ready for it, or after
        code = 130
    finally:
        os._exit(code)


def check() -> list[str]:
    """What is wrong with the run, by its store and its files."""
    wrong = []
    config = find_store_variable() or sqlite_metadata_connection_config("here/root/metadata.db")
    with Store(config) as store:
        run = store.run("r1")
        if run is None or run_state(run) != "complete":
            wrong.append(f"the run is {run and run_state(run)}")
        executions = store.executions(run_id="r1")
        ended = Counter(
            one.node_id for one in executions if one.standing in ("complete", "skipped")
        )
        if ended != dict.fromkeys(STEPS, 1):
            wrong.append(f"steps have ended well so often: {dict(ended)}")
        open_ = [one.id for one in executions if one.standing in ("running", "new")]
        if open_:
            wrong.append(f"executions {open_} are open")
        live = {one.id: one.uri for one in store.artifacts(states=(State.LIVE,))}
        pending = store.artifacts(states=(State.PENDING,))
        if pending:
            wrong.append(f"artifacts are pending: {[one.uri for one in pending]}")
    made = Counter(uri.split(os.sep)[-4] for uri in live.values())
    if made != dict.fromkeys(VALUES, 1):
        wrong.append(f"so many artifacts were published: {dict(made)}")
    values = {uri.split(os.sep)[-4]: _read(uri) for uri in live.values()}
    if values != VALUES:
        wrong.append(f"what was published is {values}")
    left = [str(path) for path in Path("here/root/.stoker").glob("tmp/*")]
    locks = [str(path) for path in Path("here/root/.stoker/runs").glob("*.lock")]
    if len(left) > MOST_AT_ONCE * 4 or len(locks) > len(STEPS):
        wrong.append(f"left behind: {left + locks}")
    return wrong


def _read(uri: str) -> str:
    with fileio.open(uri) as file:
        return str(file.read())


@contextlib.contextmanager
def serve_machines() -> Iterator[Callable[[int], str]]:
    """A PostgreSQL server and a bucket; gives what empties the store and names a root there."""
    tests = Path(__file__).parents[1]
    sys.path += [str(tests / "metadata"), str(tests / "storage")]
    import bucket_server
    import s3fs
    from database_servers import DatabaseServer

    database = DatabaseServer("postgresql")
    database.make()
    try:
        with bucket_server.serve() as bucket:
            os.environ.update(bucket.environ)
            s3fs.S3FileSystem(skip_instance_cache=True).mkdir("team")

            def begin(number: int) -> str:
                os.environ["STOKER_STORE"] = database.share_database().url
                return f"s3://team/trial{number}"

            yield begin
    finally:
        database.stop()


def run_trials(
    num_trials: int, seed: int, folder: Path, folders: list[str], begin: Callable[[int], str]
) -> tuple[Counter[int], list[str]]:
    """The exit codes of all processes, and what was wrong."""
    codes: Counter[int] = Counter()
    for number in range(num_trials):
        place = folder / f"trial{number}"
        program = PIPELINE.replace("CACHE", str(number % 2 == 0)).replace(
            "ROOT", repr(begin(number))
        )
        for one in folders:
            (place / one).mkdir(parents=True)
            (place / one / "pipeline.py").write_text(program)
        with contextlib.chdir(place):
            trial = Trial(random.Random(f"{seed} {number}"), folders)
            trial.run()
            codes += trial.codes
            if wrong := check():
                return codes, [f"trial {number} in {place}: {one}" for one in wrong]
        shutil.rmtree(place)
    return codes, []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--machines", type=int, default=0)
    given = parser.parse_args()
    started = time.monotonic()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="random-steps-"))
    if given.machines:
        folders = [f"machine{number}" for number in range(given.machines)]
        with serve_machines() as begin:
            codes, wrong = run_trials(given.trials, given.seed, folder, folders, begin)
    else:
        codes, wrong = run_trials(given.trials, given.seed, folder, ["here"], lambda _: "root")
    took = time.monotonic() - started
    print(f"{given.trials} runs, {codes.total()} processes in {took:.0f} s")
    print(f"by exit code: {dict(codes)}")
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
