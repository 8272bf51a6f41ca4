# SPDX-License-Identifier: Apache-2.0
"""Everything that can happen to a project between two runs.

To add an edit: a class here with `apply`, `may_rerun` for the steps that may run again after it,
and a line in `draw_edit`. One that is known to end badly is not taken out, but told in `OPEN`.
"""

import os
import random
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kill_matrix.checks import list_outputs
from kill_matrix.moments import Moment, watch_for

from from_nothing.project import Project, list_numbers

OPEN: Mapping[str, str] = {}
"""Edits and numbers that are known to end badly, and why: STOKER_OPEN=1 draws them all the same."""

ALL = frozenset(["*"])
NONE: frozenset[str] = frozenset()

_OF_THE_PIPELINE_FILE = {
    *("ORACLE_COMPONENT", "ITEM", "UPDATED", "APPENDED", "ATTRIBUTE", "SETATTR"),
    *("GLOBALS", "HELPER", "EXECUTOR"),
}
_OF_ALL_STEPS = {"DATA", "PREPROCESSING"}
_TRAINING = frozenset(["Trainer", "CustomTrainer", "Pusher"])
_OWN_STEPS = frozenset(["summarize", "CustomTrainer", "Pusher"])
_MAX_NUMBER = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SetNumber:
    """Change a number in a file, a flag, a variable, the data or an installed package."""

    name: str
    number: int
    sly: bool = False

    def apply(self, project: Project) -> None:
        project.set_number(self.name, self.number, sly=self.sly)

    def may_rerun(self) -> frozenset[str]:
        if self.name in _OF_ALL_STEPS:
            return ALL
        if self.name == "factor":  # of `summarize`, and on the command line, which the module reads
            return _OWN_STEPS | _TRAINING
        return _OWN_STEPS if self.name in _OF_THE_PIPELINE_FILE else _TRAINING


@dataclass(frozen=True, slots=True, kw_only=True)
class SetBack:
    """Put the numbers back to what they were before an earlier run."""

    runs_ago: int

    def apply(self, project: Project) -> None:
        history = project.history
        for name, number in history[max(0, len(history) - self.runs_ago)].items():
            if project.numbers[name] != number:
                project.set_number(name, number)

    def may_rerun(self) -> frozenset[str]:
        return ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """Give every file of the project a new time."""

    def apply(self, project: Project) -> None:
        for path in [*project.list_code(), *project.data.iterdir()]:
            path.touch()

    def may_rerun(self) -> frozenset[str]:
        return NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchOutputs:
    """Give every published file a new time."""

    def apply(self, project: Project) -> None:
        for folder in _find_outputs(project):
            for path in folder.rglob("*"):
                path.touch()

    def may_rerun(self) -> frozenset[str]:
        return NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class AddUnread:
    """Change what lies beside the code and is not read."""

    number: int

    def apply(self, project: Project) -> None:
        (project.code / "unread.txt").write_text(f"Nobody reads {self.number}.\n")
        (project.code / f"unread_{self.number}.py").write_text("UNREAD = None\n")

    def may_rerun(self) -> frozenset[str]:
        return NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUnreadVariable:
    """Set a variable that no code of the project asks for."""

    number: int

    def apply(self, project: Project) -> None:
        project.variables["ORACLE_UNREAD"] = str(self.number)

    def may_rerun(self) -> frozenset[str]:
        return NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class StartElsewhere:
    """Start the program in another working directory."""

    number: int

    def apply(self, project: Project) -> None:
        project.working = project.folder / f"elsewhere {self.number}"
        project.working.mkdir(exist_ok=True)

    def may_rerun(self) -> frozenset[str]:
        return NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanTemporary:
    """What a reboot or a new container does: another TMPDIR, the old one gone."""

    number: int

    def apply(self, project: Project) -> None:
        shutil.rmtree(project.temporary, ignore_errors=True)
        project.temporary = project.folder / f"tmp {self.number}"
        project.temporary.mkdir(exist_ok=True)

    def may_rerun(self) -> frozenset[str]:
        return NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetDigests:
    """Remove what is known of files by their stat: it is only a cache."""

    def apply(self, project: Project) -> None:
        (project.root / ".stoker" / "digests.json").unlink(missing_ok=True)

    def may_rerun(self) -> frozenset[str]:
        return NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveCode:
    """Move the folder of the code."""

    number: int

    def apply(self, project: Project) -> None:
        new = project.folder / f"code {self.number}"
        if new != project.code:
            shutil.rmtree(new, ignore_errors=True)
            project.code.rename(new)
            project.code = new

    def may_rerun(self) -> frozenset[str]:
        return ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Change a published file behind Stoker's back; the n-th of all, in one of many ways."""

    nth: int
    how: str

    def apply(self, project: Project) -> None:
        files = sorted(
            path
            for folder in _find_outputs(project)
            for path in folder.rglob("*")
            if path.is_file() and path.suffix != ".arrow"
        )
        if files:
            _DAMAGES[self.how](files[self.nth % len(files)])

    def may_rerun(self) -> frozenset[str]:
        return ALL


def _overwrite(path: Path) -> None:
    """Other bytes, the same size; time and all."""
    before = path.stat()
    path.write_bytes(bytes(byte ^ 1 for byte in path.read_bytes()))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\nmore\n")


def _add_beside(path: Path) -> None:
    (path.parent / "added").write_text("This was not published.\n")


def _remove_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


_DAMAGES = {
    "overwrite": _overwrite,
    "append": _append,
    "remove": Path.unlink,
    "add": _add_beside,
    "remove folder": _remove_folder,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyServed:
    """Remove what is served: all of it, or the newest version."""

    all: bool

    def apply(self, project: Project) -> None:
        versions = sorted(project.served.glob("[0-9]*"))
        for version in versions if self.all else versions[-1:]:
            shutil.rmtree(version)

    def may_rerun(self) -> frozenset[str]:
        return frozenset(["Pusher"])


@dataclass(frozen=True, slots=True, kw_only=True)
class KillARun:
    """Start a run and kill the runner at a moment."""

    moment: Moment

    def apply(self, project: Project) -> None:
        project.root.mkdir(exist_ok=True)
        wait_for = watch_for(project.root, self.moment)
        run = project.start()
        wait_for(lambda: run.poll() is not None)
        run.send_signal(signal.SIGKILL)
        run.wait()

    def may_rerun(self) -> frozenset[str]:
        return ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class EditWhileRunning:
    """Change a number when a run has just come to the Trainer, and let it end somehow."""

    name: str
    number: int
    seconds: float

    def apply(self, project: Project) -> None:
        project.root.mkdir(exist_ok=True)
        moment = Moment(step="Trainer", sign="begins", seconds=self.seconds)
        wait_for = watch_for(project.root, moment)
        run = project.start()
        if wait_for(lambda: run.poll() is not None):
            project.set_number(self.name, self.number)
        run.wait()

    def may_rerun(self) -> frozenset[str]:
        return ALL


Edit = (
    SetNumber
    | SetBack
    | Touch
    | TouchOutputs
    | AddUnread
    | SetUnreadVariable
    | StartElsewhere
    | CleanTemporary
    | ForgetDigests
    | MoveCode
    | Damage
    | EmptyServed
    | KillARun
    | EditWhileRunning
)


def draw_edit(chance: random.Random, kind: str, steps: Sequence[str]) -> Edit:
    """Half of the edits change a number; each of the others is as likely as the next."""
    number = chance.randint(0, _MAX_NUMBER)
    name = chance.choice(list_numbers(kind))
    if chance.random() < 0.5:
        return SetNumber(name=name, number=number, sly=chance.random() < 0.5)
    in_files = [one for one in list_numbers(kind) if one in ("MODULE", "NEIGHBOUR", "SETTINGS")]
    moment = Moment(
        step=chance.choice(steps),
        sign=chance.choice(["begins", "writes", "has a manifest"]),
        seconds=chance.uniform(0, 0.1),
    )
    others: list[Edit] = [
        SetBack(runs_ago=chance.randint(1, 4)),
        SetBack(runs_ago=2),
        Touch(),
        TouchOutputs(),
        AddUnread(number=number),
        SetUnreadVariable(number=number),
        StartElsewhere(number=number),
        CleanTemporary(number=number),
        ForgetDigests(),
        MoveCode(number=number),
        Damage(nth=chance.randrange(1000), how=chance.choice(list(_DAMAGES))),
        Damage(nth=chance.randrange(1000), how=chance.choice(list(_DAMAGES))),
        EmptyServed(all=chance.random() < 0.5),
        KillARun(moment=moment),
        KillARun(moment=Moment(step="Trainer", sign="saves", seconds=chance.uniform(0, 0.05))),
        EditWhileRunning(
            name=chance.choice(in_files), number=number, seconds=chance.uniform(0, 0.3)
        ),
    ]
    return chance.choice(others)


def is_open(edit: Edit) -> bool:
    """Whether an edit is known to end badly."""
    return type(edit).__name__ in OPEN or getattr(edit, "name", "") in OPEN


def _find_outputs(project: Project) -> list[Path]:
    if not (project.root / "metadata.db").exists():
        return []
    return [folder for folder in list_outputs(project.root).values() if folder.is_dir()]
