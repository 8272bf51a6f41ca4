# SPDX-License-Identifier: Apache-2.0
"""Where a launcher arrives in another interpreter: a Trainer's Task runs in a process of its own.

The request comes over a socket, as for a fork server at home. This process forks the worker before
anything is imported there, and tells how it ended. The launcher adds one key to the Task's own
JSON: "fn_args", the fields of FnArgs, all but the data accessor, which is made here.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from typing import Any, Callable, Mapping, NoReturn

from . import absent_packages, dataset
from .failures import (
    debugger_hint,
    describe,
    input_hint,
    missing_folder_hint,
    missing_module_hint,
    near_name_hint,
)
from .fn_args import DataAccessor, FnArgs
from .forking import wait_for_exit
from .io_utils import read_newer_schema
from .launcher_link import LauncherLink, Request, fork_worker, receive_request, set_sink
from .logs import hush_deprecations
from .modules import import_current_sources, load_named
from .observing import observe_step
from .surroundings import PlainRoot, take_over_program, use_temporary_dir
from .tensorflow_files import tell_file_reads
from .training import train

_ESTIMATOR_EXECUTOR = ":Executor"


def serve(control_fd: int) -> None:
    """Take one request, and see the worker to its end."""
    with socket.socket(fileno=control_fd) as control:
        request = receive_request(control)
        if request is None:
            return
        pid = fork_worker(request, [])
        if pid == 0:
            control.close()
            _work(request)
    exit_code = wait_for_exit(pid)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # what the user's code left running ends with it
    os.write(request.exit_pipe, f"{exit_code}\n".encode())


def _work(request: Request) -> NoReturn:
    link = LauncherLink(request)
    set_sink(link.report)
    task = json.loads(request.task)
    root = PlainRoot(task["root_dir"])
    task = json.loads(root.enter(request.task))

    def warn(text: str) -> None:
        link.report({"kind": "warning", "text": text, "node": task["node_id"]})

    hush_deprecations()
    link.answer(root.leave(json.dumps(execute(task, warn))))
    os._exit(0)  # TensorFlow's threads can hold an interpreter back for many seconds


def execute(task: Mapping[str, Any], warn: Callable[[str], None]) -> dict[str, Any]:
    """Run a task in this process: an Outcome; whatever the task raises becomes a Failure."""
    use_temporary_dir(task["temporary_dir"])
    take_over_program(task["import_paths"], task["argv"], task["flags"])
    import_current_sources()
    absent_packages.install()
    folders = [
        one["uri"] for key in ("inputs", "outputs") for many in task[key].values() for one in many
    ]
    try:
        with observe_step(
            observed_dir=task["observed_dir"],
            given=task["given"],
            import_paths=task["import_paths"],
            code_files=list(filter(None, [task["user_file"]])),
            pipeline_files=(),
            not_users=[*task["not_users"], *folders],
            moved_to=task["moved_to"],
        ):
            _train(task, make_fn_args(task["fn_args"]), warn)
    except (Exception, SystemExit) as error:  # recorded, and raised again by the runner
        finders = (
            missing_module_hint,
            near_name_hint,
            missing_folder_hint,
            input_hint,
            debugger_hint,
        )
        hints = (find(error) for find in finders)
        return {"failure": describe(error, hint=next(filter(None, hints), ""))}
    return {"failure": None, "outputs": task["outputs"]}


def make_fn_args(fields: Mapping[str, Any]) -> FnArgs:
    """FnArgs from what crossed the border, which a data accessor cannot."""
    accessor = DataAccessor(dataset.tf_dataset_factory, dataset.record_batch_factory)
    return FnArgs(data_accessor=accessor, **fields)


def _train(task: Mapping[str, Any], fn_args: FnArgs, warn: Callable[[str], None]) -> None:
    wants_estimator = task["executor"].endswith(_ESTIMATOR_EXECUTOR)
    names = ["trainer_fn"] if wants_estimator else ["run_fn", "trainer_fn"]
    name, function = load_named(task["parameters"], names)
    tell_file_reads()
    _warn_about_the_transform_graph(fn_args, warn)
    train(name, function, fn_args, read_newer_schema)


def _warn_about_the_transform_graph(fn_args: FnArgs, warn: Callable[[str], None]) -> None:
    """TensorFlow 1 reads a graph in TensorFlow 2's format, but not for every input."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not fn_args.transform_output:
        return
    path = os.path.join(fn_args.transform_output, "transform_fn", "saved_model.pb")
    if tensorflow.__version__.startswith("1.") and _is_tensorflow_2_format(path):
        warn(
            f"{path} is in TensorFlow 2's format, and TensorFlow {tensorflow.__version__} may "
            "fail to apply it. Write it for TensorFlow 1: Transform(force_tf_compat_v1=True)."
        )


def _is_tensorflow_2_format(path: str) -> bool:
    """Only SavedModels of TensorFlow 2 describe the objects that their graph was made from."""
    from tensorflow.core.protobuf import saved_model_pb2

    model = saved_model_pb2.SavedModel()
    with open(path, "rb") as file:
        model.ParseFromString(file.read())
    return any(graph.HasField("object_graph_def") for graph in model.meta_graphs)
