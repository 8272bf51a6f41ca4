# SPDX-License-Identifier: Apache-2.0
"""Installs the wheel into empty environments, and prints how much that is.

python scripts/measure_install.py                        # the core, on Python 3.11, 3.12, 3.13
python scripts/measure_install.py --extra transform --python 3.11
python scripts/measure_install.py --resolve-only         # for x86-64 and aarch64, downloads none
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

from uv import find_uv_bin

from stoker.launchers.interpreters.finding import find_python

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", action="append", help="one of these versions alone")
    parser.add_argument("--extra", action="append", default=[], help="with this extra")
    parser.add_argument("--resolve-only", action="store_true")
    args = parser.parse_args()
    pythons = args.python or PYTHONS
    if args.resolve_only:
        for python in pythons:
            for platform in PLATFORMS:
                print(
                    f"Python {python}, {platform}: {count_resolved(python, platform, args.extra)}"
                )
        return
    with tempfile.TemporaryDirectory() as folder:
        run_uv("build", "--wheel", "--out-dir", folder, str(ROOT))
        (wheel,) = Path(folder).glob("*.whl")
        for python in pythons:
            print(f"Python {python}: {install(wheel, python, args.extra, Path(folder) / python)}")


def count_resolved(python: str, platform: str, extras: list[str]) -> str:
    """How many distributions a platform would get, with Stoker itself."""
    options = ["--no-header", "--no-annotate", "--python-version", python]
    wanted = [option for extra in extras for option in ("--extra", extra)]
    listed = run_uv(
        *("pip", "compile", *options, "--python-platform", platform, *wanted),
        str(ROOT / "pyproject.toml"),
    )
    return f"{len(listed.splitlines()) + 1} distributions"


def install(wheel: Path, python: str, extras: list[str], folder: Path) -> str:
    """What an empty environment holds after the wheel was installed."""
    run_uv("venv", "--python", find_python([python]) or python, str(folder))
    wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    interpreter = str(folder / "bin" / "python")
    run_uv("pip", "install", "--python", interpreter, wanted)
    installed = list(folder.glob("lib/python*/site-packages/*.dist-info"))
    size = sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
    return f"{len(installed)} distributions, {size / 1e6:,.0f} MB"


def run_uv(*command: str) -> str:
    """What uv prints."""
    return subprocess.run(
        [find_uv_bin(), *command, "--quiet"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


if __name__ == "__main__":
    main()
