# SPDX-License-Identifier: Apache-2.0
"""Airflow 2.10 and 3, each in an environment of its own, made on first use under `.envs/`.

They know Stoker, without what it depends on: only absl-py and isal are there besides Airflow's own.
"""

import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
WANTED = {"2.10": "apache-airflow==2.10.*", "3": "apache-airflow>=3,<4"}
BESIDES = ["absl-py", "isal"]


def find(edition: str) -> Path:
    """The folder with the programs of an edition."""
    home = REPOSITORY / ".envs" / f"airflow-{edition}"
    if not (home / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", home], check=True)
        uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
        assert uv, "uv is not here to make the environment with"
        install = [uv, "pip", "install", "--quiet", "--python", home / "bin" / "python"]
        subprocess.run([*install, WANTED[edition], *BESIDES], check=True)
        own = next((home / "lib").glob("python*/site-packages"))
        (own / "stoker.pth").write_text(f"{REPOSITORY / 'src'}\n")
        (home / "ready").touch()
    return home / "bin"
