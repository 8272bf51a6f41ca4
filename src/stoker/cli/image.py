# SPDX-License-Identifier: Apache-2.0
"""`stoker image`: what a container engine makes an image of, in which `stoker step` runs."""

import importlib.metadata
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence

import click

from stoker.cli.printing import print_line
from stoker.storage.files import make_scratch_dir
from stoker.storage.root import OWN_DIR
from stoker.views.table import readable_path, readable_size

_DOCKERFILE = """\
# One layer for the packages, which seldom change, and one for the files of the pipeline. Headers
# are for who compiles against TensorFlow or Arrow: 0.4 GB.
FROM python:{python}-slim
RUN useradd --create-home --uid 1000 pipeline
WORKDIR /pipeline
COPY packages/ /tmp/packages/
RUN cd /tmp/packages \\
    && pip install --no-cache-dir --no-deps --compile --requirement requirements.txt{wheels} \\
    && rm -r /tmp/packages /usr/local/lib/python{python}/site-packages/*/include
COPY --chown=pipeline:pipeline files/ ./
RUN python -m compileall -q . && chown pipeline:pipeline .
USER pipeline
ENV PYTHONUNBUFFERED=1 TF_CPP_MIN_LOG_LEVEL=2
CMD ["stoker", "--help"]
"""
_MOST_BYTES = 2_500_000_000
_BASE_BYTES = 130_000_000
"""Of Python and Debian's slim edition."""
_LEFT_OUT = {"__pycache__", "node_modules"}
_NOT_NEEDED = {"pip", "uv", "libclang"}
"""What no step imports: TensorFlow names the last of them, and reads nothing with it."""
_WITH_BYTECODE = 2.15
"""How big a Python file is with what it is compiled to."""


@click.group()
def image() -> None:
    """Prepare a container image for the steps of a pipeline."""


@image.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--out",
    metavar="DIR",
    default="image",
    show_default=True,
    help="Where the context goes: a folder that is new or was written by this command.",
)
@click.option(
    "--wheel",
    "wheels",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="A package that no index has, such as a Stoker of your own; may be given several times.",
)
def context(folder: str, out: str, wheels: tuple[str, ...]) -> int:
    """Write a Dockerfile with the files in FOLDER and exactly the packages of this environment.

    Left out are hidden files, environments, and the roots of pipelines.
    """
    if os.path.exists(out) and not os.path.exists(os.path.join(out, "Dockerfile")):
        raise click.UsageError(f"--out {out} holds something else. Name another folder.")
    names = [os.path.basename(one) for one in wheels]
    requirements, num_bytes = _list_packages({name.partition("-")[0] for name in names})
    parent = os.path.dirname(os.path.abspath(out))
    os.makedirs(parent, exist_ok=True)
    with make_scratch_dir(parent, prefix=".image-") as draft:
        packages = os.path.join(draft, "packages")
        os.mkdir(packages)
        _write(os.path.join(packages, "requirements.txt"), "".join(f"{x}\n" for x in requirements))
        for one in wheels:
            shutil.copy(one, packages)
        num_files = _copy_files(folder, os.path.join(draft, "files"), os.path.abspath(out))
        installed = "".join(f" ./{name}" for name in names)
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        _write(
            os.path.join(draft, "Dockerfile"), _DOCKERFILE.format(python=python, wheels=installed)
        )
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(draft, out)
    size = readable_size(num_bytes + _BASE_BYTES)
    print_line(
        f"{readable_path(out)} has {num_files} files and {len(requirements) + len(names)} "
        f"packages, about {size} unpacked. Next: docker build -t IMAGE {readable_path(out)}"
    )
    if num_bytes + _BASE_BYTES > _MOST_BYTES:
        print_line(
            f"That is over {readable_size(_MOST_BYTES)}. Make an environment with what the "
            "pipeline needs alone, and write the context with its stoker.",
            error=True,
        )
    return 0


def _list_packages(besides: set[str]) -> tuple[list[str], int]:
    """What is installed here, with versions, but for what comes as wheels; and how big all is."""
    found, elsewhere, num_bytes = {}, [], 0
    for one in importlib.metadata.distributions():
        name = one.metadata["Name"]
        key = name.lower().replace("-", "_")
        if key in _NOT_NEEDED or key in found:
            continue
        num_bytes += _measure(one)
        if key in {wheel.lower() for wheel in besides}:
            continue
        origin = json.loads(one.read_text("direct_url.json") or "{}")
        if str(origin.get("url", "")).startswith("file:"):
            elsewhere.append(name)
        found[key] = f"{name}=={one.version}"
    if elsewhere:
        raise click.UsageError(
            f"{', '.join(sorted(elsewhere))} is installed from a folder, which no image has. "
            "Make a wheel of it, and give that: --wheel FILE."
        )
    return sorted(found.values(), key=str.lower), num_bytes


def _measure(one: importlib.metadata.Distribution) -> int:
    """How big a package's files will be, by what its installer has noted: path, digest, size."""
    num_bytes = 0.0
    for line in (one.read_text("RECORD") or "").splitlines():
        path, _, size = line.rsplit(",", 2)
        if size.isdecimal() and path.split("/")[1:2] != ["include"]:
            num_bytes += int(size) * (_WITH_BYTECODE if path.endswith(".py") else 1)
    return int(num_bytes)


def _copy_files(source: str, target: str, out: str) -> int:
    """Copy a folder's files; gives how many."""
    os.makedirs(target)
    num_files = 0
    for folder, names, files in os.walk(source):
        names[:] = sorted(_choose_folders(folder, names, out))
        here = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(here, exist_ok=True)
        for name in files:
            if not name.startswith("."):
                shutil.copy(os.path.join(folder, name), here)
                num_files += 1
    return num_files


def _choose_folders(folder: str, names: Sequence[str], out: str) -> Iterator[str]:
    for name in names:
        path = os.path.join(folder, name)
        inside = set(os.listdir(path)) if os.path.isdir(path) else set()
        is_left_out = name.startswith(".") or name in _LEFT_OUT or os.path.abspath(path) == out
        if not (is_left_out or {OWN_DIR, "pyvenv.cfg"} & inside):
            yield name


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
