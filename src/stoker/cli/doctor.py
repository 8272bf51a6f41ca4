# SPDX-License-Identifier: Apache-2.0
"""`stoker doctor`: whether this machine and its Python can train, and what to do if not."""

import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import click

from stoker.cli.options import json_option
from stoker.cli.printing import print_answer
from stoker.launchers.interpreters.venvs import list_venvs
from stoker.patches.registry import PATCHES, Patch
from stoker.views.table import Table, readable_size

_PYTHONS = ((3, 11), (3, 13))
_ENOUGH_BYTES = 2_000_000_000
_GPU_DEVICE = "/dev/nvidiactl"
_PROBE_SECONDS = 300
# Only a process of its own may import TensorFlow: with Keras 2 or 3, and with a GPU, it is final.
_PROBE = """
import importlib, json, os
os.environ.update(TF_USE_LEGACY_KERAS="1", TF_CPP_MIN_LOG_LEVEL="3")
report = {}
for name in ("tensorflow", "tf_keras", "keras", "tensorflow_transform", "tfx_bsl", "apache_beam"):
    try:
        report[name] = importlib.import_module(name).__version__
    except Exception as error:
        report[name + " failed"] = f"{type(error).__name__}: {error}"
if "tensorflow" in report:
    import tensorflow
    report["gpus"] = [one.name for one in tensorflow.config.list_physical_devices("GPU")]
print(json.dumps(report))
"""
_PARTS = {
    "tensorflow": "TensorFlow",
    "tf_keras": "Keras 2 (tf_keras)",
    "keras": "Keras 3",
    "tfx_bsl": "tfx-bsl",
    "tensorflow_transform": "tensorflow-transform",
    "apache_beam": "apache-beam",
}
_OF_TRANSFORM = ("tfx_bsl", "tensorflow_transform", "apache_beam")
"""What `stoker[transform]` installs; other steps do without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One thing that was looked at."""

    what: str
    state: Literal["ok", "note", "problem"]
    found: str
    advice: str


@click.command()
@click.option(
    "--root", metavar="DIR", default=".", help="Where outputs will go.  [default: current folder]"
)
@json_option
def doctor(root: str, as_json: bool) -> int:
    """Check Python, TensorFlow, Keras, the GPU, the disk, for a TFX beside Stoker, and patches."""
    found = diagnose(_probe(), root)
    num_problems = sum(one.state == "problem" for one in found)
    rows = [(one.what, one.state, one.found) for one in found]
    print_answer(
        [asdict(one) for one in found],
        Table(columns=("what", "state", "found"), rows=rows),
        *(f"{one.what}: {one.advice}" for one in found if one.advice),
        f"Problems: {num_problems}.",
        as_json=as_json,
    )
    return 1 if num_problems else 0


def diagnose(report: dict[str, Any], root: str) -> list[Diagnosis]:
    """What there is to say about this Python, the `report` of a probe, and the disk at `root`."""
    return [
        *(
            _check_python(),
            *_check_parts(report),
            _check_gpu(report),
            _look_for_tfx(),
            _count_environments(),
            _check_disk(root),
        ),
        *(_check_patch(name, patch) for name, patch in PATCHES.items()),
    ]


def _probe() -> dict[str, Any]:
    """What a fresh process finds when it imports everything."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PROBE],
            capture_output=True,
            text=True,
            check=False,
            timeout=_PROBE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return {"tensorflow failed": f"its import took more than {_PROBE_SECONDS} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"tensorflow failed": f"its process left with code {done.returncode}: {last}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _judge(what: str, found: str, *, advice: str = "", is_note: bool = False) -> Diagnosis:
    """A problem if there is something to do about it."""
    state: Literal["ok", "note", "problem"] = "note" if is_note else "ok"
    return Diagnosis(what=what, state="problem" if advice else state, found=found, advice=advice)


def _check_python() -> Diagnosis:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    fits = _PYTHONS[0] <= sys.version_info[:2] <= _PYTHONS[1]
    return _judge("Python", found, advice="" if fits else "use Python 3.11, 3.12 or 3.13.")


def _check_parts(report: dict[str, Any]) -> Iterator[Diagnosis]:
    again = "install Stoker again in a fresh environment: pip install stoker"
    for module, name in _PARTS.items():
        if module in report:
            yield _judge(name, str(report[module]))
        elif module in _OF_TRANSFORM and not _is_installed(name):
            yield _judge(name, "not installed; Transform needs it", is_note=True)
        else:
            yield _judge(name, str(report.get(f"{module} failed", "not tried")), advice=again)


def _check_gpu(report: dict[str, Any]) -> Diagnosis:
    if gpus := report.get("gpus"):
        return _judge("GPU", ", ".join(gpus))
    if os.path.exists(_GPU_DEVICE):
        advice = "install TensorFlow with its CUDA libraries: pip install 'tensorflow[and-cuda]'"
        return _judge("GPU", "there is one, and TensorFlow does not see it", advice=advice)
    return _judge("GPU", "none; training uses the CPU", is_note=True)


def _is_installed(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _look_for_tfx() -> Diagnosis:
    installed = [
        f"{name} {importlib.metadata.version(name)}"
        for name in ("tfx", "ml-pipelines-sdk")
        if _is_installed(name)
    ]
    if not installed:
        return _judge("TFX", "not in this environment, as it should be")
    return _judge(
        "TFX",
        f"{' and '.join(installed)} in the same environment",
        advice="both have a package named tfx, and one hides the other. Remove it: "
        "pip uninstall tfx ml-pipelines-sdk, then pip install --force-reinstall --no-deps "
        "stoker; or keep each in an environment of its own.",
    )


def _count_environments() -> Diagnosis:
    what = "Environments"
    there = list_venvs()
    if old := [one.name for one in there if not one.current]:
        found = f"{', '.join(old)} made for another version of Stoker"
        return _judge(what, found, advice=f"make it again: stoker env create {old[0]}")
    if there:
        return _judge(what, ", ".join(one.name for one in there))
    return _judge(what, "none; for another TensorFlow: stoker env create NAME", is_note=True)


def _check_patch(name: str, patch: Patch) -> Diagnosis:
    what, version = f"Patch {name}", patch.installed_version()
    if version is None:
        return _judge(what, f"{patch.library} is not here, and is left alone")
    tried = f"it was tried with {patch.library} {patch.tried}"
    advice = "" if patch.fits(version) else f"{tried}: install one of those{patch.instead}."
    return _judge(what, f"{patch.library} {version}: {patch.what}", advice=advice)


def _check_disk(root: str) -> Diagnosis:
    folder = os.path.abspath(root)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    free = shutil.disk_usage(folder).free
    advice = (
        "free some space, or name another place with --root; `stoker clean` removes what failed "
        "runs left behind."
    )
    found = f"{readable_size(free)} free at {root}"
    return _judge("Disk", found, advice=advice if free < _ENOUGH_BYTES else "")
