# SPDX-License-Identifier: Apache-2.0
"""Which steps of a run are under way at the same time.

    choose_ready(…) ──▶ the Work of a step ──Task──▶ a thread that waits in `launch`
                        ▲                            │
                        └───── its turn again ◀──────┘

Only tasks run beside each other. What the runner itself does for a step, from its cache to its
publishing, is done in this thread, one step at a time: the store has one writer, nothing needs a
lock, and Ctrl-C comes here.
"""

import contextlib
import functools
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from types import MappingProxyType

from stoker.any_python.forking import num_cpus
from stoker.components.manual_node import ManualNode
from stoker.components.resolver import Resolver
from stoker.dsl.component import BaseComponent, Node
from stoker.dsl.resources import parse_quantity
from stoker.launchers import Launcher, SideBySideLauncher
from stoker.runner.console import Console
from stoker.runner.endings import make_stop
from stoker.runner.steps import Work
from stoker.runner.timeline import WAITING
from stoker.task import Outcome, Task
from stoker.user_code.shared_files import FilesOfCode

_USUAL_BYTES = 2 << 30
"""What a step is expected to need that does not say: TensorFlow, and some data."""
_CGROUP = "/sys/fs/cgroup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What there is for steps that run beside each other."""

    num_steps: int
    """As many as that; one that asks for more processors counts as so many."""
    free_bytes: float = math.inf

    def __post_init__(self) -> None:
        if not isinstance(self.num_steps, int) or self.num_steps < 1:
            raise ValueError(f"parallel must be a whole number from 1 on, got {self.num_steps!r}.")

    def has_place(self, node: Node, running: Collection[Node], chosen: Collection[Node]) -> bool:
        """Whether a step may start beside those that run, and those that are about to."""
        others = [*running, *chosen]
        if not others:
            return True
        if any(map(_needs_all, (node, *others))):
            return False
        if sum(map(_count_places, (node, *others))) > self.num_steps:
            return False
        return sum(map(_estimate_bytes, (node, *chosen))) <= self.free_bytes


def _needs_all(node: Node) -> bool:
    """Whether a step wants the machine, or the terminal, for itself."""
    if isinstance(node, ManualNode):
        return True
    has_gpus = bool(node.resources and node.resources.gpus)
    return has_gpus or bool(isinstance(node, BaseComponent) and node.workers)


def _count_places(node: Node) -> int:
    asked = node.resources.cpu if node.resources else None
    return max(1, math.ceil(parse_quantity(asked))) if asked else 1


def _estimate_bytes(node: Node) -> float:
    asked = node.resources.memory if node.resources else None
    return parse_quantity(asked) if asked else _USUAL_BYTES


def find_waits(
    steps: Sequence[Node], files: Mapping[Node, FilesOfCode] = MappingProxyType({})
) -> dict[Node, set[Node]]:
    """Whom each step waits for, of those before it: the ones that it reads from or waits for.

    A step that looks for artifacts in the store sees what steps before it have published, and not
    what those after it do: they keep their order. So do steps whose code shares files.
    """
    none = FilesOfCode()
    waits: dict[Node, set[Node]] = {}
    for number, node in enumerate(steps):
        before = steps[:number]
        waits[node] = {
            other
            for other in before
            if other in node.upstream_nodes
            or _find_sought_types(node) & _find_made_types(other)
            or _find_sought_types(other) & _find_made_types(node)
            or files.get(node, none).meets(files.get(other, none))
        }
    return waits


def _find_sought_types(node: Node) -> set[str]:
    channels = node.inputs.values()
    if isinstance(node, Resolver):
        return {channel.type_name for channel in channels}
    parts = [part for channel in channels for part in channel.parts]
    return {part.type_name for part in parts if part.producer is None and not part.get()}


def _find_made_types(node: Node) -> set[str]:
    return {channel.type_name for channel in node.outputs.values()}


def choose_ready(
    waiting: Sequence[Node],
    running: Collection[Node],
    waits: Mapping[Node, AbstractSet[Node]],
    room: Room,
) -> list[Node]:
    """The steps that may start now. None passes one before it that only lacks room."""
    unfinished = {*waiting, *running}
    chosen: list[Node] = []
    for node in waiting:
        if waits[node] & unfinished:
            continue
        if not room.has_place(node, running, chosen):
            break
        chosen.append(node)
    return chosen


def find_free_bytes() -> float:
    """The memory that is left here, and in the container that this may be; inf if none says."""
    free = math.inf
    with contextlib.suppress(OSError), open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError):  # "max" where there is no limit
        limit, used = (_read_number(name) for name in ("memory.max", "memory.current"))
        free = min(free, limit - used + _count_file_cache())
    return free


def _read_number(name: str) -> int:
    with open(os.path.join(_CGROUP, name), encoding="ascii") as file:
        return int(file.read())


def _count_file_cache() -> int:
    """What the container holds of files, and drops when there is need."""
    with open(os.path.join(_CGROUP, "memory.stat"), encoding="ascii") as file:
        sizes = dict(line.split() for line in file)
    return int(sizes.get("inactive_file", 0)) + int(sizes.get("active_file", 0))


def choose_num_steps(asked: int | None, launcher: Launcher, console: Console) -> int:
    """How many steps may run at once: as many as there are processors, unless that is said."""
    wanted = Room(num_steps=num_cpus() if asked is None else asked).num_steps
    if isinstance(launcher, SideBySideLauncher):
        return wanted
    if asked is not None and asked > 1:
        console.step(f"{type(launcher).__name__} runs one step at a time")
    return 1


def run_steps(
    steps: Iterable[tuple[Node, Work]],
    launcher: Launcher,
    console: Console,
    num_steps: int,
    files: Mapping[Node, FilesOfCode],
) -> None:
    """Do the work of all steps, in the order of the pipeline as far as it matters."""
    if num_steps == 1:
        for _, work in steps:
            finish(work, launcher, console)
        return
    assert isinstance(launcher, SideBySideLauncher)
    with ThreadPoolExecutor(num_steps, "launch") as pool:
        works = dict(steps)
        waits = find_waits(list(works), files)
        _SideBySide(works, waits, launcher, console, num_steps, pool).run()


def finish(work: Work, launcher: Launcher, console: Console) -> None:
    """Do all the work of a step, and launch its tasks from here."""
    task = next(work, None)
    while task:
        if console.timeline:
            console.timeline.turn(task.node_id, WAITING)
        try:
            task = work.send(functools.partial(launcher.launch, task, console))
        except StopIteration:
            return


class _SideBySide:
    """The steps of a run, from the first that is ready to the end of the last that has started."""

    def __init__(
        self,
        steps: Mapping[Node, Work],
        waits: Mapping[Node, AbstractSet[Node]],
        launcher: SideBySideLauncher,
        console: Console,
        num_steps: int,
        pool: ThreadPoolExecutor,
    ) -> None:
        self._work = steps
        self._waits = waits
        self._waiting = list(steps)
        self._launcher, self._console, self._num_steps = launcher, console, num_steps
        self._pool = pool
        self._watchers = {node: console.watch(node.id) for node in steps}
        self._running: dict[Node, Future[Outcome] | None] = {}
        """The steps that have begun, and the task of each that is launched."""
        self._errors: list[tuple[Node, BaseException]] = []
        self._is_stopped = False

    def run(self) -> None:
        """Run them all. After a failure none is started, and those that run may end."""
        while self._running or (self._waiting and self._goes_on):
            try:
                self._start_ready()
                self._take_turns()
            except KeyboardInterrupt:
                self._is_stopped = True
                self._launcher.stop()
        if self._errors or self._is_stopped:
            raise self._sum_up()

    @property
    def _goes_on(self) -> bool:
        return not (self._errors or self._is_stopped)

    def _start_ready(self) -> None:
        while self._goes_on:
            free = find_free_bytes() if self._running else math.inf
            room = Room(num_steps=self._num_steps, free_bytes=free)
            found = choose_ready(self._waiting, self._running, self._waits, room)
            if not found:
                return
            # One at a time: what needs no task is over at once, and may let others start before.
            self._waiting.remove(found[0])
            self._go_on(found[0], functools.partial(next, self._work[found[0]]))

    def _take_turns(self) -> None:
        """Let those go on whose tasks have ended."""
        for node in [node for node, future in self._running.items() if not future]:
            # It was about to launch a task when the run was stopped.
            self._go_on(node, functools.partial(self._work[node].throw, KeyboardInterrupt()))
        launched = {future: node for node, future in self._running.items() if future}
        if launched:
            ended, _ = wait(launched, return_when=FIRST_COMPLETED)
            for future in ended:
                node = launched[future]
                self._go_on(node, functools.partial(self._work[node].send, future.result))

    def _go_on(self, node: Node, find_task: Callable[[], Task]) -> None:
        """Give a step its turn, and launch the task that it comes to."""
        self._running[node] = None
        try:
            task = find_task()
        except StopIteration:
            del self._running[node]
        except (Exception, KeyboardInterrupt) as error:  # raised when the others have ended
            del self._running[node]
            self._note_failure(node, error)
        else:
            if self._console.timeline:
                self._console.timeline.turn(node.id, WAITING)
            launch, watcher = self._launcher.launch, self._watchers[node]
            self._running[node] = self._pool.submit(launch, task, watcher)

    def _note_failure(self, node: Node, error: BaseException) -> None:
        self._errors.append((node, error))
        if isinstance(error, KeyboardInterrupt):
            if not self._is_stopped:
                self._is_stopped = True
                self._launcher.stop()
        elif self._running:
            order = list(self._work)
            before = [one for one in self._running if order.index(one) < order.index(node)]
            hint = f" If it needs what {_join(before)} leaves, say so: add_upstream_node(…)."
            ending = f"{node.id} failed. The run ends with {_join(self._running)}."
            self._console.step(ending + (hint if before else ""))

    def _sum_up(self) -> BaseException:
        """What to raise: the first failure, or that the run was stopped. The rest is told here."""
        failures = [one for _, one in self._errors if not isinstance(one, KeyboardInterrupt)]
        if len(self._errors) == 1:
            return self._errors[0][1]
        for node, error in self._errors:
            if isinstance(error, KeyboardInterrupt):
                if str(error) != str(make_stop(node)):  # it says how far the step is
                    self._console.step(f"{node.id}: {error}")
            elif error is not failures[0]:
                self._console.step(str(error))
        if failures:
            return failures[0]
        stopped = {node for node, _ in self._errors}
        where = f" in {_join(filter(stopped.__contains__, self._work))}" if stopped else ""
        return KeyboardInterrupt(f"Stopped{where}. Run the same command to go on.")


def _join(nodes: Iterable[Node]) -> str:
    return " and ".join(node.id for node in nodes)
