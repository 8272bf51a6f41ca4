# SPDX-License-Identifier: Apache-2.0
"""The pool of a step on Ray: its shards are tasks, on whichever node has room for one.

    executor ──function and shard, pickled──▶ Ray ──▶ a process on a node, made ready once
       ▲                                                    │
       └──────── Answer: value or error, what was told ◀────┘

A node that is lost costs the shards that it had: Ray gives them to others, a few times. An error of
the code itself is an Answer, and ends the step at once. The nodes share the pipeline root.
"""

import contextlib
import io
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeVar

from stoker.any_python.in_order import take_in_order
from stoker.any_python.logs import hush_libraries
from stoker.any_python.modules import import_current_sources, load_module_file
from stoker.any_python.surroundings import take_over_program
from stoker.any_python.temporary import make_temporary_dir
from stoker.dsl.pool import Answer, answer
from stoker.errors import StepFailed
from stoker.launchers.fork_server import prepare
from stoker.launchers.ray_session import connect, list_nodes, list_variables, load_ray
from stoker.launchers.shipping import Shipment, pack, unpack
from stoker.task import Task

_RETRIES = 3
"""How often a shard is given to another process when one was lost with it."""
_AHEAD = 2
"""Shards for each processor that are begun before their results are asked for."""

_Shard = TypeVar("_Shard")
_Result = TypeVar("_Result")


class RayPool:
    """The nodes of the cluster that a task was told of."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._connection = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as connecting:
            connecting.enter_context(connect(self._task.cluster_address))
            self._ray = load_ray()
            nodes = list_nodes()
            num_cpus = sum(node["Resources"]["CPU"] for node in nodes)
            self.where = f"on Ray, on {len(nodes)} nodes with {num_cpus:g} processors"
            self._most = max(_AHEAD * len(nodes), int(_AHEAD * num_cpus))
            setup = Setup(
                task=self._task.to_json(),
                code=pack(self._task),
                folder=os.getcwd(),
                variables=list_variables(),
            )
            self._setup = self._ray.put(setup)
            self._connection = connecting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()  # what still runs ends with it

    def map(
        self, function: Callable[[_Shard], _Result], shards: Iterable[_Shard]
    ) -> Iterator[_Result]:
        """As Pool says, each shard a task."""
        work = self._ray.remote(work_on).options(
            num_cpus=1, max_retries=_RETRIES, scheduling_strategy="SPREAD"
        )
        return take_in_order(
            lambda shard: work.remote(self._setup, pickle.dumps((function, shard))),
            self._take,
            self._ray.cancel,
            shards,
            most=self._most,
        )

    def _take(self, task: Any) -> Any:
        try:
            found: Told = pickle.loads(self._ray.get(task))
        except self._ray.exceptions.RayTaskError as error:
            raise StepFailed(
                f"A node of Ray could not work on a shard: {error.cause}", str(error)
            ) from error
        except self._ray.exceptions.RayError as error:
            reason, _, _ = str(error).strip().partition("\n")
            raise StepFailed(
                f"Ray has lost a shard {1 + _RETRIES} times: {reason:.120} If it ran out of "
                "memory, give the nodes more, or fewer processors."
            ) from error
        sys.stdout.write(found.output)
        sys.stderr.write(found.errors)
        return found.answer.take()


class Told(NamedTuple):
    """What comes back from a node."""

    answer: Answer
    output: str
    errors: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a process on a node has to know before its first shard of a step."""

    task: str
    code: Shipment
    folder: str
    variables: Mapping[str, str]

    def apply(self) -> None:
        """Make this process ready: as a worker of the step is, without its executor."""
        with contextlib.suppress(OSError):
            os.chdir(self.folder)
        os.environ.update(self.variables)
        task = unpack(Task.from_json(self.task), self.code, make_temporary_dir())
        prepare(task.needs)
        hush_libraries()
        take_over_program(task.import_paths, task.argv, task.flags)
        import_current_sources()
        if task.user_file and task.user_file.endswith(".py"):
            load_module_file(task.user_file)  # a graph may need the ops that it brings


class _Process:
    ready = False


def work_on(setup: Setup, payload: bytes) -> bytes:
    """Work on a shard, in a process of Ray that is this step's alone."""
    if not _Process.ready:
        setup.apply()
        _Process.ready = True
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        function, shard = pickle.loads(payload)
        found = answer(function, shard)
    return pickle.dumps(Told(found, output.getvalue(), errors.getvalue()))
