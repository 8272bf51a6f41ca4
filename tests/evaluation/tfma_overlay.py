# SPDX-License-Identifier: Apache-2.0
"""TFMA 0.52 on top of this environment, in one of its own that is made on first use.

Only what this environment lacks is installed there, under `.envs/tfma/`.
"""

import re
import shutil
import site
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
HOME = REPOSITORY / ".envs" / "tfma"
PACKAGES = {
    *("asttokens", "colorama", "comm", "decorator", "defusedxml", "executing", "ipython"),
    *("ipywidgets", "jedi", "jupyterlab-widgets", "lxml", "matplotlib-inline", "nltk", "pandas"),
    *("parso", "pexpect", "portalocker", "prompt-toolkit", "ptyprocess", "pure-eval"),
    *("rouge-score", "sacrebleu", "stack-data", "tabulate", "tensorflow-model-analysis"),
    *("traitlets", "tzdata", "wcwidth", "widgetsnbextension"),
}


def python() -> str:
    """The interpreter that can import both Stoker and TFMA."""
    inside, ready = str(HOME / "bin" / "python"), HOME / "ready"
    if not ready.exists():
        _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(HOME))
        own = next((HOME / "lib").glob("python*/site-packages"))
        (own / "below.pth").write_text("\n".join([*site.getsitepackages(), ""]))
        uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
        with_uv = [str(uv), "pip", "install", "--python", inside]
        with_pip = [sys.executable, "-m", "pip", "--python", inside, "install"]
        _run(*(with_uv if uv else with_pip), "--quiet", "--no-deps", *_pinned())
        ready.touch()
    return inside


def _pinned() -> list[str]:
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    return [line for line in lines if re.split("==", line)[0] in PACKAGES]


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
