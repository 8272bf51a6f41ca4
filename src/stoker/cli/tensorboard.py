# SPDX-License-Identifier: Apache-2.0
"""`stoker tensorboard`: TensorBoard on what the trainings of some runs have written."""

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence

import click

from stoker.any_python.forking import raise_on_sigterm
from stoker.artifacts import Artifact, ModelRun
from stoker.cli.lookup import find_run, list_runs, list_steps, unknown_node
from stoker.cli.options import complete, with_store
from stoker.cli.printing import print_line
from stoker.errors import StokerError
from stoker.metadata.queries import WRITTEN
from stoker.metadata.records import Execution
from stoker.metadata.store import Store

_Training = tuple[Execution, Artifact]
_PATIENCE_SECONDS = 10


@click.command()
@click.argument(
    "names",
    nargs=-1,
    metavar="[STEP|RUN]...",
    shell_complete=complete(lambda store: ["last", *list_steps(store), *list_runs(store)]),
)
@click.option("--number", "-n", default=5, show_default=True, help="How many runs, newest first.")
@click.option("--port", default=6006, show_default=True, help="0 takes any that is free.")
@with_store(by="names")
def tensorboard(store: Store, names: Sequence[str], number: int, port: int) -> int:
    """Open TensorBoard on the trainings of the newest runs, or on those of STEPs and RUNs.

    It listens on this machine alone (127.0.0.1), and ends with Ctrl-C.
    """
    if importlib.util.find_spec("tensorboard") is None:
        raise StokerError("TensorBoard is not installed: pip install tensorboard.")
    found = dict(_find_trainings(store, names, number))
    if not found:
        raise StokerError(
            f"No training of {', '.join(names) or f'the newest {number} runs'} has left metrics. "
            "Run a pipeline with a Trainer, which writes them."
        )
    with tempfile.TemporaryDirectory(prefix="stoker-tensorboard-") as folder:
        for name, uri in found.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            os.symlink(os.path.abspath(uri), os.path.join(folder, name))
            print_line(f"{name}: {uri}", error=True)
        return _run_tensorboard(folder, port)


def _find_trainings(store: Store, names: Sequence[str], number: int) -> Iterator[tuple[str, str]]:
    """The folders of trainings, each with what it is called: its step, and when its run began."""
    asked = [_find_named(store, name, number) for name in names]
    found = [one for some in asked for one in some] if names else _find_newest(store, number)
    found = [(one, artifact) for one, artifact in found if os.path.isdir(artifact.uri)]
    several = len({execution.pipeline_name for execution, _ in found}) > 1
    names_found = [_name(execution) for execution, _ in found]
    for name, (execution, artifact) in zip(names_found, found, strict=True):
        whole = f"{name} ({execution.id})" if names_found.count(name) > 1 else name
        yield os.path.join(execution.pipeline_name * several, whole), artifact.uri


def _name(execution: Execution) -> str:
    """A step, and when its run began: such is the id of a run."""
    moment = execution.run_id.replace("T", " ").partition(".")[0].replace("/", "-")
    return f"{execution.node_id} {moment}"


def _find_named(store: Store, name: str, number: int) -> list[_Training]:
    executions = [
        execution
        for pipeline in store.pipelines()
        for execution in store.executions(
            pipeline_name=pipeline, node_id=name, newest=number, only=()
        )
    ]
    if executions:
        return list(_keep_first(_list_outputs(store, executions)))
    if run := find_run(store, name):
        return store.outputs_of_runs([run.run_id], [str(ModelRun.TYPE_NAME)])
    raise unknown_node(store, name)


def _find_newest(store: Store, number: int) -> list[_Training]:
    run_ids = [run.run_id for run in store.runs(newest=number)]
    return list(_keep_first(store.outputs_of_runs(run_ids, [str(ModelRun.TYPE_NAME)])))


def _list_outputs(store: Store, executions: Iterable[Execution]) -> Iterator[_Training]:
    for execution in executions:
        for many in store.artifacts_by_key(execution.id, WRITTEN).values():
            yield from ((execution, one) for one in many if isinstance(one, ModelRun))


def _keep_first(trainings: Iterable[_Training]) -> Iterator[_Training]:
    """Each training once, under the run that did it: runs that found it cached come later."""
    seen: set[int] = set()
    for execution, artifact in trainings:
        if artifact.id not in seen:
            seen.add(artifact.id)
            yield execution, artifact


def _run_tensorboard(folder: str, port: int) -> int:
    """TensorBoard until it ends, or this command is told to end."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", folder]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    with raise_on_sigterm(), subprocess.Popen(command, env=quiet) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.terminate()
            try:
                process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
            return 0
