# SPDX-License-Identifier: Apache-2.0
"""ml-metadata 1.17.1 in an environment of its own, made on first use under `.envs/mlmd/`.

Its last wheels need Python 3.11 and protobuf below 5, so it cannot share ours.
"""

import shutil
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parents[2] / ".envs" / "mlmd"
PACKAGES = ["ml-metadata==1.17.1", "protobuf<5"]


def interpreter() -> str | None:
    """A Python 3.11 on this machine."""
    return sys.executable if sys.version_info[:2] == (3, 11) else shutil.which("python3.11")


def python() -> str:
    """The interpreter that can import ml_metadata."""
    inside, ready = str(HOME / "bin" / "python"), HOME / "ready"
    if not ready.exists():
        base = interpreter()
        if base is None:
            raise FileNotFoundError("ml-metadata needs Python 3.11: put python3.11 on the PATH.")
        if uv := shutil.which("uv"):
            _run(uv, "venv", "--quiet", "--clear", "--python", base, str(HOME))
            _run(uv, "pip", "install", "--quiet", "--python", inside, *PACKAGES)
        else:
            _run(base, "-m", "venv", "--clear", str(HOME))
            _run(inside, "-m", "pip", "install", "--quiet", *PACKAGES)
        ready.touch()
    return inside


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    print(python())
