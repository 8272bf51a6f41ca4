# SPDX-License-Identifier: Apache-2.0
"""A worker in another interpreter: the command that starts it, and its request.

Stoker is not there. The interpreter starts the files of `stoker/any_python` without this
one's environment variables and paths, and gets the Task with its FnArgs.
"""

import json
import os

from stoker.any_python.failures import HERE
from stoker.any_python.modules import is_installed
from stoker.dsl.executor import BaseExecutor
from stoker.task import Task
from stoker.user_code.fn_args import get_trainer_fn_args

_OURS = os.path.dirname(os.path.dirname(HERE))


def worker_command(python: str, control_fd: int) -> list[str]:
    """What to run to have a worker wait for its request."""
    return [python, os.path.join(HERE, "start.py"), str(control_fd)]


def worker_request(task: Task) -> str:
    """A Task as JSON with its FnArgs; raises ValueError for inputs that make no FnArgs."""
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
    record["fn_args"] = dict(vars(fn_args))
    del record["fn_args"]["data_accessor"]  # functions, which are made anew there
    return json.dumps(record)


def _is_the_users(path: str) -> bool:
    """Whether a place to import from is the user's own, and not part of this interpreter."""
    folder = os.path.join(path, "")
    ours = folder.startswith(os.path.join(_OURS, ""))
    return os.path.isdir(path) and not ours and not is_installed(folder)
