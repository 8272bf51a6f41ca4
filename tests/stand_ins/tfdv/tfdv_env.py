# SPDX-License-Identifier: Apache-2.0
"""TFDV 1.16.1 in an environment of its own, made on first use under `.envs/tfdv/`.

Its wheels need Python 3.10 and TensorFlow 2.16, so it cannot share ours.
`python tfdv_env.py` records anew what it says of the data sets, in `recorded/`.
"""

import os
import subprocess
import tempfile
from pathlib import Path

from stoker.launchers.interpreters.finding import find_python, find_uv

HERE = Path(__file__).parent
HOME = HERE.parents[2] / ".envs" / "tfdv"
PACKAGES = ["tensorflow-data-validation==1.16.1", "setuptools<70", "dill"]


def interpreter() -> str | None:
    """A Python 3.10 on this machine."""
    return find_python(["3.10"])


def python() -> str:
    """The interpreter that can import TFDV."""
    inside, ready = str(HOME / "bin" / "python"), HOME / "ready"
    if not ready.exists():
        uv = find_uv()  # pip would try hundreds of versions of Beam's cloud packages
        if uv is None:
            raise FileNotFoundError("TFDV is installed with uv: pip install uv.")
        for command in (
            ["venv", "--quiet", "--clear", "--python", str(interpreter()), str(HOME)],
            ["pip", "install", "--quiet", "--python", inside, *PACKAGES],
        ):
            subprocess.run([uv, *command], check=True)
        ready.touch()
    return inside


def ask(data: Path, answers: Path) -> None:
    """Let TFDV answer about data sets that were written into `data`."""
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    command = [python(), str(HERE / "tfdv_answers.py"), str(data), str(answers)]
    subprocess.run(command, env=environ, check=True, capture_output=True)


if __name__ == "__main__":
    from tfdv_data import write_data

    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder))
        ask(Path(folder), HERE / "recorded")
