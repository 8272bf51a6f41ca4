# SPDX-License-Identifier: Apache-2.0
"""A user's project on disk, and runs of its pipeline in processes of their own."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kill_matrix.checks import digest_folder, list_outputs

HERE = Path(__file__).parent
_STEP = re.compile(r"\] (\S+) (done|cached) in ")
_PATIENCE_SECONDS = 600
_OWN_OUTPUT = "model_run"
"""It holds logs and times, which are those of its own run."""
_OWN_FILES = {"fingerprint.pb", "saved_model.pb"}
"""The first is drawn by lot; the second names functions by how many were traced before."""

FLAGS = ("rate", "size", "factor", "parameter")
VARIABLES = ("ORACLE_MODULE", "ORACLE_COMPONENT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended: what it said of each step, and the files that it published."""

    status: int
    log: str
    steps: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Project:
    """Files and settings with numbers in them: those that the pipeline's outputs depend on."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.code, self.data = folder / "code", folder / "data"
        self.packages = folder / "site-packages"
        self.root, self.served = folder / "root", folder / "served"
        self.temporary, self.working = folder / "tmp", folder
        self.variables: dict[str, str] = {}
        self.numbers = dict.fromkeys(list_numbers(kind), 0)
        self.history: list[dict[str, int]] = []
        shutil.copytree(HERE / kind, self.code)
        shutil.move(self.code / "data", self.data)
        shutil.move(self.code / "site-packages", self.packages)
        self.temporary.mkdir()

    def set_number(self, name: str, number: int, *, sly: bool = False) -> None:
        """Change one number, wherever it stands; if `sly`, the file keeps its time and size."""
        self.numbers[name] = number
        if name == "DATA":
            self._rewrite(self.data / "rows.csv", _make_rows(number), sly)
        elif name == "TOY":
            self._install_toy(number)
        elif name not in FLAGS + VARIABLES:
            path = next(path for path in self.list_code() if _find(name, path.read_text()))
            line = _find(name, path.read_text())
            assert line
            new = re.sub(r"\b\d\b", str(number), line[0])
            self._rewrite(path, path.read_text().replace(line[0], new), sly)

    def list_code(self) -> list[Path]:
        return sorted(path for path in self.code.rglob("*") if path.suffix in (".py", ".json"))

    def start(self, *, root: Path | None = None, served: Path | None = None) -> subprocess.Popen:
        """Start the pipeline; what it says goes to a file beside its root."""
        root = root or self.root
        flags = [f"--{name}={self.numbers[name]}" for name in FLAGS if name in self.numbers]
        variables = {name: str(self.numbers[name]) for name in VARIABLES if name in self.numbers}
        paths = [str(self.packages), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        with open(self._log_of(root), "wb") as log:
            return subprocess.Popen(
                [
                    *(sys.executable, str(self.code / "pipeline.py")),
                    *(f"--root={root}", f"--served={served or self.served}", *flags),
                ],
                env={
                    **os.environ,
                    **variables,
                    **self.variables,
                    "ORACLE_DATA": str(self.data),
                    "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "STOKER_CHECKPOINT_SECONDS": "0",
                    "TMPDIR": str(self.temporary),
                },
                cwd=self.working,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def run(self) -> Outcome:
        """Run the pipeline in its root, where earlier runs have been."""
        return self.wait(self.start(), self.root, self.served)

    def run_from_nothing(self) -> Outcome:
        """Run it as it is now, in an empty root."""
        folder = self.folder / "from nothing"
        shutil.rmtree(folder, ignore_errors=True)
        root, served = folder / "root", folder / "served"
        folder.mkdir()
        return self.wait(self.start(root=root, served=served), root, served)

    def wait(self, process: subprocess.Popen, root: Path, served: Path) -> Outcome:
        status = process.wait(_PATIENCE_SECONDS)
        log = self._log_of(root).read_text(errors="replace")
        if status != 0:
            return Outcome(status=status, log=log)
        outputs = {
            f"{node}.{key}": _describe(folder)
            for (node, key), folder in list_outputs(root).items()
            if key != _OWN_OUTPUT
        }
        versions = sorted(served.glob("[0-9]*"), key=lambda path: int(path.name))
        outputs["served"] = _describe(versions[-1]) if versions else {}
        return Outcome(status=0, log=log, steps=dict(_STEP.findall(log)), outputs=outputs)

    def _log_of(self, root: Path) -> Path:
        return root.parent / f"{root.name}.log"

    def _rewrite(self, path: Path, text: str, sly: bool) -> None:
        before = path.stat()
        path.write_text(text)
        if sly:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def _install_toy(self, number: int) -> None:
        """As an installer does it: the old files go, the new ones come."""
        shutil.rmtree(self.packages)
        shutil.copytree(HERE / self.kind / "site-packages", self.packages)
        path = self.packages / "toy" / "__init__.py"
        path.write_text(path.read_text().replace("TOY = 0", f"TOY = {number}"))
        metadata = self.packages / "toy-0.dist-info"
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: toy\nVersion: {number}\n")
        metadata.rename(self.packages / f"toy-{number}.dist-info")


def list_numbers(kind: str) -> Sequence[str]:
    """Every number of a project that can be changed."""
    names = ["DATA", "TOY", "rate", "parameter", "ORACLE_MODULE", "MODULE", "NEIGHBOUR"]
    if kind == "trained":
        return [*names, "PREPROCESSING"]
    return [
        *names,
        *("size", "factor", "ORACLE_COMPONENT", "LAZILY", "SETTINGS"),
        *("ITEM", "UPDATED", "APPENDED", "ATTRIBUTE", "SETATTR", "GLOBALS", "HELPER", "EXECUTOR"),
    ]


def _describe(folder: Path) -> dict[str, str]:
    files = digest_folder(folder)
    return {path: digest for path, digest in files.items() if Path(path).name not in _OWN_FILES}


def _find(name: str, text: str) -> re.Match[str] | None:
    """The line of a number."""
    return re.search(rf'^.*\b{name}"?(?: =|:) \d.*$', text, re.MULTILINE)


def _make_rows(number: int) -> str:
    rows = [f"{(number + n) % 10},{n}\n" for n in range(8)]
    return "".join(["amount,kind\n", *rows])
