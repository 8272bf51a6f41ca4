# SPDX-License-Identifier: Apache-2.0
"""TFMA 0.52 on top of this environment, in one of its own that is made on first use.

TFMA needs pandas below 3 and many packages besides; only what this environment lacks is installed,
under `.envs/tfma/`.
"""

import shutil
import site
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
HOME = REPOSITORY / ".envs" / "tfma"
PACKAGES = ["tensorflow-model-analysis>=0.52,<0.53", "pandas<3"]


def python() -> str:
    """The interpreter that can import both Stoker and TFMA."""
    inside, ready = str(HOME / "bin" / "python"), HOME / "ready"
    if not ready.exists():
        _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(HOME))
        own = next((HOME / "lib").glob("python*/site-packages"))
        # What is found first wins: TFMA's pandas, then all of this environment.
        (own / "below.pth").write_text("\n".join([*site.getsitepackages(), ""]))
        constraints = REPOSITORY / "constraints.txt"
        packages = [*PACKAGES, "-c", str(constraints)] if constraints.exists() else PACKAGES
        if uv := shutil.which("uv"):
            _run(uv, "pip", "install", "--quiet", "--python", inside, *packages)
        else:
            _run(sys.executable, "-m", "pip", "--python", inside, "install", "--quiet", *packages)
        ready.touch()
    return inside


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    print(python())
