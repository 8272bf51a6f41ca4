# SPDX-License-Identifier: Apache-2.0
"""any_python as another interpreter runs it: no Stoker, and nothing installed at all."""

import json
import os
import subprocess
import sys

from stoker import any_python

FOLDER = os.path.dirname(any_python.__file__)
_LOAD = f"""
import json, sys
sys.path.insert(0, {FOLDER!r})
import start
start.load()
"""


def bare_process(code, python=sys.executable):
    """What `code` prints where any_python is loaded; -E and -S leave all else out."""
    done = subprocess.run(
        [python, "-E", "-S", "-c", _LOAD + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def execute(task, python=sys.executable, **fn_args):
    """The Outcome of a Task that runs in such a process."""
    task = {
        "executor": "stoker.components.trainer.executor:GenericExecutor",
        "import_paths": [],
        "argv": [],
        "temporary_dir": "",
        "user_file": None,
        "observed_dir": "",
        "given": {},
        "not_users": [],
        "moved_to": "",
        "flags": None,
        "inputs": {},
        "outputs": {"model": []},
        "fn_args": fn_args,
        **task,
    }
    text = json.dumps(task)
    printed = bare_process(
        "from stoker_any_python.worker import execute\n"
        f"outcome = execute(json.loads({text!r}), print)\n"
        "print(json.dumps(outcome))",
        python,
    )
    *said, outcome = printed.splitlines()
    return said, json.loads(outcome)
