# SPDX-License-Identifier: Apache-2.0
"""`stoker logs`: what a step printed; of a worker group what every member did."""

import contextlib
import glob
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import click

from stoker.artifacts import Artifact
from stoker.cli.lookup import (
    find_execution,
    find_maker,
    find_run,
    list_runs,
    list_steps,
    root_of_run,
    run_state,
    step_state,
    unknown_node,
)
from stoker.cli.options import complete, with_store
from stoker.cli.printing import find_known_secrets, print_line
from stoker.metadata.masking import StreamMask
from stoker.metadata.queries import WRITTEN
from stoker.metadata.records import SKIPPED, Execution, PipelineRun
from stoker.metadata.store import Store
from stoker.storage.root import Root
from stoker.task import Member
from stoker.views.table import readable_path

_POLL_SECONDS = 0.3
_CHIEF = Member(role="chief").name
_WITHOUT_LOG = ("Importer", "Resolver", "ManualNode")


@click.command()
@click.argument("step", metavar="STEP", shell_complete=complete(list_steps))
@click.option("--follow", "-f", is_flag=True, help="Go on as the log grows, until the step ends.")
@click.option(
    "--run",
    "run_name",
    metavar="RUN",
    shell_complete=complete(lambda store: ["last", *list_runs(store)]),
    help="The run, by its id, the first characters of its id, or `last`.",
)
@with_store(by="step")
def logs(store: Store, step: str, follow: bool, run_name: str | None) -> int:
    """Print the log of a STEP: of its last execution, or of that in a RUN."""
    run = _find_run_asked(store, run_name)
    execution = find_execution(store, step, run.run_id if run else None)
    if execution is None:
        if not find_execution(store, step) and not (run and run_state(run) == "running"):
            raise unknown_node(store, step)
        assert run
        execution = _wait_for_begin(store, step, run) if follow else None
    if execution is None:
        assert run
        print_line(f"{step} has not run in run {run.run_id}, which is {run_state(run)}.")
        return 0
    try:
        _print_log(store, execution, follow=follow)
    except BrokenPipeError:  # as of `stoker logs Trainer | head`
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return 0


def _find_run_asked(store: Store, name: str | None) -> PipelineRun | None:
    if name is None:
        return None
    if run := find_run(store, name):
        return run
    newest = ", ".join(list_runs(store)[:3]) or "none"
    raise click.UsageError(f"There is no run {name!r}. The newest are {newest}.")


def _wait_for_begin(store: Store, step: str, run: PipelineRun) -> Execution | None:
    """The execution of a step that a run has yet to come to; None if it ends without."""
    while run_state(run) == "running":
        if found := find_execution(store, step, run.run_id):
            return found
        time.sleep(_POLL_SECONDS)
        (run,) = [one for one in store.runs(begin=run.run_id) if one.run_id == run.run_id]
    return find_execution(store, step, run.run_id)


def _print_log(store: Store, execution: Execution, *, follow: bool) -> None:
    if execution.standing == SKIPPED:
        why = execution.properties[SKIPPED]
        print_line(f"{execution.node_id} was skipped in run {execution.run_id}: {why}.")
        return
    execution = _find_original(store, execution)
    path = _find_log(store, execution)
    printer = _Printer(path)
    if follow:
        for _ in _watch(store, execution):
            printer.print_new()
    printer.print_new(last=True)
    if not printer.has_log:
        print_line(_describe_lack(execution, path))
    elif not printer.has_printed:
        yet = " yet" if execution.standing == "running" else ""
        print_line(f"{execution.node_id} has printed nothing{yet}.", error=True)
    elif step_state(store, execution) == "died":
        print_line(f"The run died before {execution.node_id} ended.", error=True)


def _watch(store: Store, execution: Execution) -> Iterator[None]:
    """Time after time, as long as a step runs."""
    while step_state(store, execution) == "running":
        yield
        time.sleep(_POLL_SECONDS)
        execution = store.execution(execution.id)


def _find_original(store: Store, execution: Execution) -> Execution:
    """The execution that did the work: of a cache hit, an earlier one."""
    if execution.standing != "cached":
        return execution
    outputs = store.outputs(execution.id)
    makers = (find_maker(store, one) for many in outputs.values() for one in many)
    maker = next(filter(None, makers), None)
    if maker is None:
        return execution
    print_line(
        f"{execution.node_id} was cached in run {execution.run_id}. Its log is that of run "
        f"{maker.run_id}:",
        error=True,
    )
    return maker


def _find_log(store: Store, execution: Execution) -> str:
    """Where the runner has put the log: into the output that gathers logs, if there is one."""
    written = store.artifacts_by_key(execution.id, WRITTEN)
    found: list[Artifact] = [one for many in written.values() for one in many if one.GATHERS_LOGS]
    if found:
        return os.path.join(found[0].uri, "log.txt")
    runs = [run for run in store.runs(begin=execution.run_id) if run.run_id == execution.run_id]
    root = root_of_run(store, runs[0]) if runs else ""
    return Root(root).log_file(execution.node_id, execution.id)


def _describe_lack(execution: Execution, path: str) -> str:
    name = f"{execution.node_id}, execution {execution.id},"
    if execution.type_name.rpartition(".")[2] in _WITHOUT_LOG:
        return f"{name} has no log: steps of this kind run no code."
    if execution.standing in ("running", "new"):
        return f"{name} has printed nothing yet."
    if execution.standing == "complete":
        return f"{name} has no log: there is no {readable_path(path)} any more."
    return (
        f"{name} has no log any more: {readable_path(path)} was removed, as `stoker clean` does "
        "with what a failed step left. `stoker show` has its error."
    )


@dataclass(kw_only=True)
class _Follower:
    """Reads one file from where it stopped."""

    path: str
    member: str
    mask: StreamMask = field(default_factory=lambda: StreamMask(find_known_secrets()))
    position: int = 0
    ends_line: bool = True

    def read_new(self, *, prefixed: bool, last: bool = False) -> bytes:
        """What has come since, perhaps with the member before each line; secrets are masked."""
        data = b""
        with contextlib.suppress(FileNotFoundError), open(self.path, "rb") as file:
            file.seek(self.position)
            data = file.read()
            self.position += len(data)
        shown = self.mask.feed(data) + (self.mask.end() if last else b"")
        return self._add_prefix(shown) if prefixed else shown

    def _add_prefix(self, data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        prefixes = [b"" if not self.ends_line else f"{self.member} | ".encode()]
        prefixes += [f"{self.member} | ".encode()] * (len(lines) - 1)
        if lines:
            self.ends_line = lines[-1].endswith(b"\n")
        return b"".join(map(bytes.__add__, prefixes, lines))


class _Printer:
    """Prints what is new in the log of a step, and in those of its worker group."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._followers: dict[str, _Follower] = {}

    @property
    def has_log(self) -> bool:
        """Whether there is a log."""
        return bool(self._followers)

    @property
    def has_printed(self) -> bool:
        """Whether there is anything in it."""
        return any(follower.position for follower in self._followers.values())

    def print_new(self, *, last: bool = False) -> None:
        """Print what has come since the last time; at last, what may be the half of a secret."""
        members = self._list_members()
        for path, name in {self._path: _CHIEF, **members}.items():
            if os.path.exists(path):
                follower = self._followers.setdefault(path, _Follower(path=path, member=name))
                _write_out(follower.read_new(prefixed=bool(members), last=last))

    def _list_members(self) -> dict[str, str]:
        """The logs of a worker group, but for the chief's: the step's own log is the same."""
        folder = glob.escape(os.path.dirname(self._path))
        names = {
            path: os.path.basename(path).removesuffix(".log")
            for path in sorted(glob.glob(os.path.join(folder, "workers", "*.log")))
        }
        return {path: name for path, name in names.items() if name != _CHIEF}


def _write_out(data: bytes) -> None:
    if data:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
