# SPDX-License-Identifier: Apache-2.0
"""A worker in another interpreter: how it is started, and what it is told.

Stoker is not there. The interpreter starts the files of `stoker/any_python` with nothing that was
meant for this one, and gets the Task with FnArgs already made from it.
"""

import json
import os
from dataclasses import asdict

from stoker import any_python
from stoker.dsl.executor import BaseExecutor
from stoker.task import Task
from stoker.user_code.fn_args import get_trainer_fn_args
from stoker.user_code.imports import is_installed

__all__ = ["guest_command", "guest_request"]

_GUEST = os.path.dirname(os.path.abspath(any_python.__file__))
_OURS = os.path.dirname(os.path.dirname(_GUEST))


def guest_command(python: str, control_fd: int) -> list[str]:
    """What to run to have a worker wait for its request."""
    return [python, os.path.join(_GUEST, "start.py"), str(control_fd)]


def guest_request(task: Task) -> str:
    """A Task and its FnArgs as JSON; raises ValueError for inputs that make no FnArgs."""
    record = json.loads(task.to_json())
    record["import_paths"] = [path for path in task.import_paths if _is_the_users(path)]
    context = BaseExecutor.Context(tmp_dir=task.tmp_dir, unique_id=str(task.execution_id))
    fn_args = get_trainer_fn_args(
        task.inputs,
        task.outputs,
        task.parameters,
        working_dir=context.get_tmp_path(),
        checkpoint_dir=task.checkpoint_dir or None,
    )
    fn_args.data_accessor = None
    fields = asdict(fn_args)
    del fields["data_accessor"]  # functions, which are made anew there
    return json.dumps({"task": record, "fn_args": fields})


def _is_the_users(path: str) -> bool:
    """Whether a place to import from is the user's own, and not part of this interpreter."""
    folder = os.path.join(path, "")
    ours = folder.startswith(os.path.join(_OURS, ""))
    return os.path.isdir(path) and not ours and not is_installed(folder)
