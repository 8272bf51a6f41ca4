# SPDX-License-Identifier: Apache-2.0
"""The code blocks of README and docs, and how each is run: alone, in an empty folder.

A block is fenced and says its language. `python` is run as a program, `sh` by a shell, and of
`console` every line after `$ `; what the page shows below it has to be printed, where a number
stands for any number and `…` for anything. Other languages are only to be read. A block with a
title is a file. Comments before a block, which the site does not show, say more:

    <!-- folder: … -->      what a shell does in the folder first; else it is empty
    <!-- given: … -->       the lines of Python that come first
    <!-- continues -->      in the folder of the block before, as it is by then
    <!-- fails -->          its last command does not end well
    <!-- not run: … -->     and why it cannot be

`$REPOSITORY` is the folder of README, `$QUICK` has a pipeline that trains without TensorFlow.
"""

import atexit
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted([REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")])
RUN = ("console", "python", "sh")
READ = ("json", "text", "toml")

_BLOCK = re.compile(
    r"""^(?P<comments>(?:<!--(?:(?!-->).)*-->\s*?\n)*)
    ```(?P<language>\w*)(?:[ ]title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
_COMMENT = re.compile(r"<!--\s*([a-z ]+?)\s*(?::\s*(.*?))?\s*-->", re.DOTALL)
_DIRECTIVES = {"continues", "fails", "folder", "given", "not run"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str
    title: str | None = None
    folder: str = ""
    given: str = ""
    continues: bool = False
    fails: bool = False
    not_run: str | None = None

    @property
    def place(self) -> str:
        """Where the block is, for people."""
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"

    def run(self, folder: Path) -> None:
        """Run the block in a folder; AssertionError if it fails or shows something else."""
        if self.folder and self.continues:
            _run(["bash", "-euc", self.folder], folder, self.place)
        elif self.folder:
            shutil.copytree(_prepare(self.folder), folder, symlinks=True, dirs_exist_ok=True)
        if self.title:
            (folder / self.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / self.title).write_text(self.text)
        elif self.language == "python":
            (folder / "snippet.py").write_text(f"{self.given}\n{self.text}")
            _run([sys.executable, "snippet.py"], folder, self.place, fails=self.fails)
        else:
            commands = self.text if self.language == "sh" else _take_commands(self.text)
            shell = ["bash", "-euo", "pipefail", "-c", commands]
            printed = _run(shell, folder, self.place, fails=self.fails)
            if self.language == "console":
                _compare(_take_output(self.text), printed, self.place)


def find_snippets(page: Path) -> list[Snippet]:
    """The fenced blocks of a page, in order."""
    text = page.read_text()
    found = []
    for block in _BLOCK.finditer(text):
        said = dict(_COMMENT.findall(block["comments"]))
        if unknown := said.keys() - _DIRECTIVES:
            raise ValueError(f"{page}: there is no directive {unknown}; there are {_DIRECTIVES}")
        found.append(
            Snippet(
                page=page,
                line=text.count("\n", 0, block.end("comments")) + 1,
                language=block["language"],
                title=block["title"],
                text=block["text"],
                folder=said.get("folder", ""),
                given=said.get("given", ""),
                continues="continues" in said,
                fails="fails" in said,
                not_run=said.get("not run"),
            )
        )
    return found


def find_chains(page: Path) -> Iterator[list[Snippet]]:
    """The blocks that are run, each with those that continue it."""
    chain: list[Snippet] = []
    for snippet in find_snippets(page):
        if snippet.language not in RUN or snippet.not_run is not None:
            continue
        if chain and not snippet.continues:
            yield chain
            chain = []
        chain.append(snippet)
    if chain:
        yield chain


@functools.cache
def _prepare(commands: str) -> str:
    """A folder as these commands make it; blocks that begin alike get copies of one."""
    folder = Path(tempfile.mkdtemp(prefix="stoker-docs-"), "folder")
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    folder.mkdir()
    _run(["bash", "-euc", commands], folder, commands)
    return str(folder)


def _take_commands(text: str) -> str:
    """The commands of a terminal's text: what comes after `$ `, and lines that go on."""
    return "\n".join(
        line.removeprefix("$ ") for line in re.findall(r"^\$ (?:.*\\\n)*.*$", text, re.MULTILINE)
    )


def _take_output(text: str) -> list[str]:
    return re.sub(r"^\$ (?:.*\\\n)*.*\n?", "", text, flags=re.MULTILINE).splitlines()


def _run(command: list[str], folder: Path, place: str, *, fails: bool = False) -> str:
    bin_dir = str(Path(sys.executable).parent)
    home = folder.with_name(f"{folder.name}-home")
    home.mkdir(exist_ok=True)
    environ = {name: value for name, value in os.environ.items() if "KERAS" not in name}
    environ |= {
        "COLUMNS": "200",
        "HOME": str(home),
        "QUICK": str(Path(__file__).parent / "quick"),
        "PATH": os.pathsep.join([bin_dir, os.environ["PATH"]]),
        "REPOSITORY": str(REPOSITORY),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert (done.returncode != 0) == fails, f"{place}: {shlex.join(command)}\n{done.stdout}"
    return done.stdout


def _compare(shown: list[str], printed: str, place: str) -> None:
    """Every line that the page shows is printed, in its order; other lines may be between."""
    lines = iter(printed.splitlines())
    for line in shown:
        if line.strip() not in ("", "…"):
            wanted = re.escape(_blur(line)).replace("…", ".*")
            assert any(re.fullmatch(wanted, _blur(one)) for one in lines), (
                f"{place} shows a line that is not printed:\n{line}\nPrinted was:\n{printed}"
            )


def _blur(line: str) -> str:
    """A line without what differs from run to run: numbers, times, digests, the width of gaps."""
    line = re.sub(r"\b[0-9a-f]{32,}\b|\d[\d.,:]*", "0", line.strip())
    return re.sub(r"\s+", " ", line.replace("0 min 0 s", "0 s"))
