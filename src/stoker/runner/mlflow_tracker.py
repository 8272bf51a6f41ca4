# SPDX-License-Identifier: Apache-2.0
"""A run on an MLflow server, as far as this process has to do with it: it writes events to a file.

Another process (`mlflow_sender.py`) reads them and talks to the server, so that nothing here waits
for it; only at its end a run does, for as long as is said below.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

from stoker.artifacts import Model
from stoker.runner.tracking import Event

_END_SECONDS = 30.0
"""How long the end of a run waits for what is not sent yet, besides its models."""
_BYTES_PER_SECOND = 1e6
"""A model that is sent more slowly is given up."""
_LIMITS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
}
"""Unless the user has set them; MLflow's own ones are minutes."""
_PROGRAM = """if True:
    import os, sys
    os.nice(5)  # first of all, since importing MLflow takes seconds that the training can use
    from stoker.runner.mlflow_sender import follow_run
    follow_run(sys.argv[1], int(sys.argv[2]))
"""
_QUIET = {
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "GIT_PYTHON_REFRESH": "quiet",
}


class MlflowTracker:
    """Starts the process that sends, and tells it what happens; `say` prints what it has to say."""

    def __init__(self, folder: str, say: Callable[[str], None]) -> None:
        path = os.path.join(folder, "mlflow.jsonl")
        self._events = open(path, "w", encoding="utf-8")  # noqa: SIM115 - closed by _finish
        self._say = say
        self._has_spoken = False
        self._model_bytes = 0
        command = [sys.executable, "-P", "-c", _PROGRAM, path]
        self._process = subprocess.Popen(
            [*command, str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**_LIMITS, **os.environ, **_QUIET},
            start_new_session=True,  # Ctrl-C is for the run, whose end is to be told
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def note(self, event: Event) -> None:
        """Write an event down; after the last, wait for the process."""
        if event["kind"] == "step_ended" and event["state"] == "complete":
            models = [one["uri"] for one in event["outputs"] if one["type"] == Model.TYPE_NAME]
            self._model_bytes += sum(map(_measure, models))
        self._events.write(json.dumps(event) + "\n")
        self._events.flush()
        if event["kind"] == "run_ended":
            self._finish()

    def _listen(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                self._has_spoken = True
                self._say(line.rstrip("\n"))

    def _finish(self) -> None:
        self._events.close()
        seconds = _END_SECONDS + self._model_bytes / _BYTES_PER_SECOND
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._say(f"warning: MLflow has not taken all of this run within {seconds:.0f} s.")
        except KeyboardInterrupt:  # who stops now stops the waiting; the run itself has ended
            self._say("warning: MLflow has not taken all of this run.")
        finally:
            self._process.kill()
            code = self._process.wait()
            self._listener.join(1)
        if code not in (0, -signal.SIGKILL) and not self._has_spoken:
            self._say(
                f"warning: MLflow was not told of this run: its process ended with {code}. See "
                'what this says: python -c "import mlflow.pyfunc".'
            )


def _measure(folder: str) -> int:
    files = (os.path.join(below, name) for below, _, names in os.walk(folder) for name in names)
    return sum(map(os.path.getsize, files))
