# SPDX-License-Identifier: Apache-2.0
"""One chain: run after run of the same work, all but the last one killed, then looked at."""

import os
import random
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kill_matrix import checks
from kill_matrix.moments import draw_moment, watch_for
from kill_matrix.results import describe_results
from kill_matrix.victims import Victim, kill, list_marked, mark_environment, wait_until_gone

_KILLED = Path(__file__).parent / "killed"
_PATIENCE_SECONDS = 600  # on a machine that has a lot else to do
_DYING_SECONDS = 30
_RESUMED = re.compile(r"resuming|skipping fit|are not run again")
_CACHED = re.compile(r"\] \S+ cached in ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What an uninterrupted run of a scenario in an empty root has made, and when."""

    durations: Mapping[str, float]
    """By step, in order, in seconds; under "" that of the start."""
    results: Mapping[str, str]

    @property
    def steps(self) -> list[str]:
        return [step for step in self.durations if step]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a chain is to do."""

    scenario: str
    victim: Victim
    root: Path
    salt: str
    num_kills: int


@dataclass(slots=True, kw_only=True)
class Chain:
    """What came out of a chain; complaints under `lost` and `wrong`."""

    kills: int = 0
    resumed: int = 0
    cached: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0
    moments: list[str] = field(default_factory=list)


class PipelineRun:
    """One run of a killed pipeline in a process of its own."""

    def __init__(self, scenario: str, root: Path, salt: str) -> None:
        self.mark = uuid.uuid4().hex
        root.mkdir(parents=True, exist_ok=True)
        self._log = root.parent / f"{root.name}.log"
        script = _KILLED / ("light.py" if scenario == "light" else "whole.py")
        temporary = root.parent / f"{root.name}.tmp"
        temporary.mkdir(exist_ok=True)
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(script), scenario, str(root), salt],
                env={
                    **os.environ,
                    **mark_environment(self.mark),
                    "STOKER_CHECKPOINT_SECONDS": "0",
                    "TMPDIR": str(temporary),
                },
                cwd=root.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def wait(self) -> int | None:
        """Its exit status; None if it does not end, and had to be killed for that."""
        try:
            return self.process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            for pid in list_marked(self.mark):
                os.kill(pid, signal.SIGKILL)
            self.process.wait()
            return None

    def read_log(self) -> str:
        return self._log.read_text(errors="replace")


def measure(scenario: str, root: Path) -> Reference:
    """Run a scenario from nothing and uninterrupted."""
    began_ms = time.time() * 1000
    run = PipelineRun(scenario, root, "reference")
    if run.wait() != 0:
        raise RuntimeError(f"The {scenario} pipeline does not run at all:\n{run.read_log()}")
    rows = checks.list_executions(root)
    durations = {one.node: (one.updated_ms - one.created_ms) / 1000 for one in rows}
    return Reference(
        durations={"": (rows[0].created_ms - began_ms) / 1000, **durations},
        results=describe_results(root),
    )


def run_chain(plan: Plan, reference: Reference, chance: random.Random) -> Chain:
    """Kill run after run, let the next one end, and look at what it made."""
    began = time.monotonic()
    work = _Work(plan, reference, chance)
    for _ in range(plan.num_kills):
        work.start_and_kill()
        if not work.find_open_steps():
            break
    work.finish()
    work.chain.seconds = time.monotonic() - began
    return work.chain


class _Work:
    """The work of one chain, as far as it is."""

    def __init__(self, plan: Plan, reference: Reference, chance: random.Random) -> None:
        self.chain = Chain()
        self._plan, self._reference, self._chance = plan, reference, chance
        self._root = plan.root
        self._before = max((one.id for one in checks.list_executions(plan.root)), default=0)
        self._marks: list[str] = []
        self._was_killed = False
        """Whether the run before the present one was."""

    def start_and_kill(self) -> None:
        """Start a run, and kill at a moment that is drawn before."""
        moment = draw_moment(self._chance, self.find_open_steps(), self._reference.durations)
        wait_for = watch_for(self._root, moment)
        has_checkpoint, run = self._has_checkpoint(), self._start()
        is_killed = wait_for(run.has_ended) and self._kill(run)
        status = run.wait()
        if not is_killed and status != 0:
            self.chain.lost.append(
                f"a run that nobody killed ended with {status}: {run.read_log()}"
            )
        if is_killed and status is None:
            self.chain.wrong.append(f"{moment}: the run did not end after the kill")
        self._take_note(run, has_checkpoint=has_checkpoint, ended_well=status == 0)
        self._was_killed = is_killed
        if not is_killed:
            return
        self.chain.kills += 1
        self.chain.moments.append(str(moment))
        if self._chance.random() < 0.5:  # else the next run starts while some may be dying
            self._check_gone()
            problems = checks.check_after_kill(self._root)
            self.chain.wrong += [f"{moment}: {problem}" for problem in problems]

    def finish(self) -> None:
        """Let a run end, and compare what it made with the reference."""
        has_checkpoint, run = self._has_checkpoint(), self._start()
        status = run.wait()
        self._take_note(run, has_checkpoint=has_checkpoint, ended_well=status == 0)
        self._check_gone()
        if status != 0:
            self.chain.lost.append(f"the run after the kills ended with {status}: {run.read_log()}")
            return
        self.chain.wrong += checks.check_after_run(self._root)
        self.chain.lost += checks.check_repeated(self._root, self._before, self._reference.steps)
        made = describe_results(self._root)
        self.chain.wrong += [
            f"{name} is not that of an uninterrupted run"
            for name in sorted(self._reference.results.keys() | made.keys())
            if made.get(name) != self._reference.results.get(name)
        ]
        self._clean()

    def find_open_steps(self) -> list[str]:
        """The steps that this chain has not published yet."""
        rows = checks.list_executions(self._root)
        done = {one.node for one in rows if one.id > self._before and one.state == checks.COMPLETE}
        return [step for step in self._reference.steps if step not in done]

    def _start(self) -> PipelineRun:
        run = PipelineRun(self._plan.scenario, self._root, self._plan.salt)
        self._marks.append(run.mark)
        return run

    def _kill(self, run: PipelineRun) -> bool:
        """Kill the victim as soon as there is one; False if the run ends before that."""
        while not run.has_ended():
            if kill(self._plan.victim, run.process.pid, run.mark, self._chance):
                return True
            time.sleep(0.005)
        return False

    def _take_note(self, run: PipelineRun, *, has_checkpoint: bool, ended_well: bool) -> None:
        """What the run after a kill went on from."""
        log = run.read_log()
        if self._was_killed:
            self.chain.resumed += bool(_RESUMED.search(log))
            self.chain.cached += bool(_CACHED.search(log))
        if has_checkpoint and ended_well and not re.search(f"Trainer: .*({_RESUMED.pattern})", log):
            self.chain.lost.append("there was a checkpoint, and the training started from zero")

    def _has_checkpoint(self) -> bool:
        found = self._root.glob(".stoker/checkpoints/Trainer/*/*/*.npz")
        return "Trainer" in self.find_open_steps() and any(found)

    def _check_gone(self) -> None:
        for mark in self._marks:
            if left := wait_until_gone(mark, seconds=_DYING_SECONDS):
                self.chain.wrong.append(f"processes are left behind: {left}")
        self._marks.clear()

    def _clean(self) -> None:
        """`stoker clean` removes what was never published, and nothing else."""
        command = [sys.executable, "-m", "stoker", "clean", "--root", str(self._root)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            self.chain.wrong.append(f"stoker clean failed: {done.stderr}")
        self.chain.wrong += checks.check_cleaned(self._root)
        self.chain.wrong += checks.check_live_artifacts(self._root)
