# SPDX-License-Identifier: Apache-2.0
"""The cells of a notebook as Python text, and the files that they write."""

import ast
import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from stoker.errors import BadData

_PYTHON_CELLS = frozenset({"capture", "prun", "skip_for_export", "time", "timeit"})
"""Cell magics after which the cell is Python; other magics make it something else."""
_LINE_MAGIC = re.compile(r"^(\s*)(?:[!%?].*|[\w.]+\?{1,2}\s*)$")
_ENV_MAGIC = re.compile(r"^(\s*)%(?:set_)?env\s+(\w+)[= ]\s*(\S+)\s*$")
_ASSIGNED_MAGIC = re.compile(r"^(\s*[\w, ]+=)\s*[!%].*$")
_CELL_MAGIC = re.compile(r"\s*%%(\w+)[ \t]*(.*)\n?")
_SHELL_CELLS = frozenset({"bash", "script", "sh", "shell", "system"})
_FETCH = re.compile(
    r"^\s*[!%]?\s*(wget|curl|gsutil|gcloud|bq|git\s+clone|kaggle|gdown|aws\s+s3)\b(?!.*--version)"
)
_MAKES_NAMES = re.compile(
    r"^\s*%(?:run|load|loadpy|pylab|store|macro|recall|rerun)\b"
    r"|^\s*%%(?:bigquery|capture|sql)[ \t]+\w|^\s*%%cython|^\s*%%.*--(?:out|err|proc)\b",
    re.MULTILINE,
)
_PIP_INSTALL = re.compile(r"^\s*[!%]\s*(?:\S*python\S*\s+-m\s+)?pip3?\s+install\s+(.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A file that a cell writes: `%%writefile module.py`."""

    path: str
    """As the cell says it: a name in braces is one of the notebook's."""
    text: str
    cell: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Notebook:
    """What of a notebook is Python."""

    text: str
    """All cells, one after the other; what is not Python is left out, its lines are not."""
    cells: Sequence[tuple[int, int]]
    """Of each line of the text the number of the code cell, and the line in it."""
    written: Sequence[WrittenFile]
    installs: Sequence[tuple[int, str]]
    """What `!pip install` is told, each with its line in the text."""
    fetches: Sequence[tuple[int, str]]
    """The commands of cells that fetch something, each with its line in the text."""
    broken: Sequence[tuple[int, str]]
    """Cells that are not Python, each by its first line in the text, with the reason."""
    makes_names: bool = False
    """Whether names may get values by what is not Python: `%run`, `%%capture said`."""


def read_notebook(path: str) -> Notebook:
    """Read a notebook; raises BadData for what is none."""
    try:
        with open(path, encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadData(f"{path} is not a notebook of version 4, save it as one: {error}") from error
    return _join(sources)


def _join(sources: Sequence[str]) -> Notebook:
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    written: list[WrittenFile] = []
    installs, fetches, broken = [], [], []
    for number, source in enumerate(sources, start=1):
        start = len(lines) + 1
        magic = _CELL_MAGIC.match(source)
        if magic and magic[1] == "writefile":
            path = magic[2].removeprefix("-a ").strip().strip("'\"")
            text = source[magic.end() :]
            if magic[2].startswith("-a "):
                text = "".join(f"{one.text}\n" for one in written if one.path == path) + text
                written = [one for one in written if one.path != path]
            written.append(WrittenFile(path=path, text=text, cell=number))
        python, reason = _read_cell(source, magic)
        if reason:
            broken.append((start, reason))
        installs += [
            (start + offset, found[1])
            for offset, line in enumerate(_join_continued(source))
            if (found := _PIP_INSTALL.match(line))
        ]
        is_shell = magic is not None and magic[1] in _SHELL_CELLS
        fetches += [
            (start + offset, " ".join(found[1].split()))
            for offset, line in enumerate(source.split("\n"))
            if (is_shell or line.lstrip().startswith("!")) and (found := _FETCH.match(line))
        ]
        lines += python
        places += [(number, line) for line in range(1, len(python) + 1)]
    return Notebook(
        text="\n".join(lines) + "\n",
        cells=places,
        written=written,
        installs=installs,
        fetches=fetches,
        broken=broken,
        makes_names=bool(broken) or any(map(_MAKES_NAMES.search, sources)),
    )


def _read_cell(source: str, magic: re.Match[str] | None) -> tuple[list[str], str]:
    """The lines of a cell as Python, and why they are none; what is no Python becomes nothing."""
    num_lines = source.count("\n") + 1
    if magic and magic[1] not in _PYTHON_CELLS:
        return [""] * num_lines, ""
    if magic:
        source = "\n" * magic[0].count("\n") + source[magic.end() :]
    # As it is first: a line of an expression or of a text may begin like a magic.
    for text in (source, "\n".join(map(_drop_magic, _join_continued(source)))):
        try:
            ast.parse(textwrap.dedent(text))
        except (SyntaxError, ValueError) as error:
            reason = f"this cell is not Python: {getattr(error, 'msg', error)}"
        else:
            lines = textwrap.dedent(text).split("\n")
            return (lines + [""] * num_lines)[:num_lines], ""
    return [""] * num_lines, reason


def _join_continued(source: str) -> list[str]:
    """The lines, where a shell command that goes on in the next ones has all of itself in one."""
    lines = source.split("\n")
    for index, line in enumerate(lines):
        if re.match(r"\s*[!%]", line):
            follow = index
            while lines[index].endswith("\\") and follow + 1 < len(lines):
                follow += 1
                lines[index] = lines[index][:-1].rstrip() + " " + lines[follow].strip()
                lines[follow] = ""
    return lines


def _drop_magic(line: str) -> str:
    if assigned := _ASSIGNED_MAGIC.match(line):
        return f"{assigned[1]} None"
    if env := _ENV_MAGIC.match(line):
        return f"{env[1]}__import__('os').environ[{env[2]!r}] = {env[3]!r}"
    magic = _LINE_MAGIC.match(line)
    return f"{magic[1]}pass" if magic else line
