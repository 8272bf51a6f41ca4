# SPDX-License-Identifier: Apache-2.0
"""The guest's code as another interpreter runs it: no Stoker, and nothing installed at all."""

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


def guest_process(code, python=sys.executable):
    """What `code` prints with the guest loaded as a package; -S leaves site-packages out."""
    done = subprocess.run(
        [python, "-S", "-c", _LOAD + code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def execute(task, **fn_args):
    """The Outcome of a Task that runs in such a process."""
    task = {
        "executor": "stoker.components.trainer.executor:GenericExecutor",
        "import_paths": [],
        "argv": [],
        "flags": None,
        "outputs": {"model": []},
        **task,
    }
    request = json.dumps({"task": task, "fn_args": fn_args})
    printed = guest_process(
        "from stoker_guest.worker import execute\n"
        f"outcome = execute(json.loads({request!r}), print)\n"
        "print(json.dumps(outcome))"
    )
    *said, outcome = printed.splitlines()
    return said, json.loads(outcome)
