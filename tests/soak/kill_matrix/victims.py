# SPDX-License-Identifier: Apache-2.0
"""Whom to kill, and who is left."""

import contextlib
import enum
import os
import random
import signal
import time
from pathlib import Path

_MARK = "STOKER_SOAK_MARK"
_FORK_SERVER = b"stoker.launchers.start_fork_server"


class Victim(enum.StrEnum):
    """Whose death it is; the last one asks the runner to stop."""

    RUNNER = "runner"
    WORKER = "worker"
    FORK_SERVER = "fork server"
    EVERYTHING = "all at once"
    SIGTERM = "SIGTERM"


def mark_environment(mark: str) -> dict[str, str]:
    """The variable that a run and all that it starts inherit."""
    return {_MARK: mark}


def list_marked(mark: str) -> list[int]:
    """The processes of a run that are alive, however they are related by now."""
    entry = f"{_MARK}={mark}".encode()
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            if entry in environ.read_bytes().split(b"\0"):
                found.append(int(environ.parent.name))
    return found


def wait_until_gone(mark: str, *, seconds: float) -> list[int]:
    """The processes of a run that are still there after a while: none, if all is well."""
    deadline = time.monotonic() + seconds
    while (left := list_marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def kill(victim: Victim, runner: int, mark: str, chance: random.Random) -> bool:
    """Kill now; False if there is no such process at the moment."""
    signal_number = signal.SIGTERM if victim is Victim.SIGTERM else signal.SIGKILL
    candidates = _find_candidates(victim, runner, mark)
    if not candidates:
        return False
    chosen = candidates if victim is Victim.EVERYTHING else [chance.choice(candidates)]
    hit = False
    for pid in chosen:
        with contextlib.suppress(ProcessLookupError):  # it ended by itself in the meantime
            os.kill(pid, signal_number)
            hit = True
    return hit


def _find_candidates(victim: Victim, runner: int, mark: str) -> list[int]:
    if victim is Victim.EVERYTHING:
        return list_marked(mark)
    if victim in (Victim.RUNNER, Victim.SIGTERM):
        return [runner]
    servers = [pid for pid in _list_children(runner) if _is_fork_server(pid)]
    if victim is Victim.FORK_SERVER:
        return servers
    return [worker for server in servers for worker in _list_children(server)]


def _list_children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state, ppid = stat.read_text().rpartition(")")[2].split()[:2]
            if int(ppid) == parent and state != "Z":
                found.append(int(stat.parent.name))
    return found


def _is_fork_server(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return _FORK_SERVER in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
