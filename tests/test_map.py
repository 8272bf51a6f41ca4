# SPDX-License-Identifier: Apache-2.0
"""What docs/map.md and the README say of the tree is so."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
SOURCE = REPOSITORY / "src" / "stoker"
MAP = (REPOSITORY / "docs" / "map.md").read_text()
ENTRIES = {"__init__.py", "__main__.py", "py.typed", "__pycache__"}


def layers():
    """The packages of each layer, top first, as import-linter checks them."""
    configuration = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    contracts = configuration["tool"]["importlinter"]["contracts"]
    (rows,) = [one["layers"] for one in contracts if one["type"] == "layers"]
    return [sorted(name.strip() for name in row.split("|")) for row in rows]


def packages_of_the_map():
    """The packages of each row of the map's first table."""
    found = []
    for number, name in re.findall(r"^\| (\d*) ?\| `(\w+)(?:/|\.py)` \|", MAP, re.MULTILINE):
        if number:
            found.append([])
        found[-1].append(name)
    return [sorted(names) for names in found]


def test_the_map_has_every_package_in_its_layer():
    assert packages_of_the_map() == layers()


def test_there_are_at_most_24_doors_and_12_layers():
    no_packages = {"__pycache__", "py.typed", "__main__.py"}  # the last only opens cli/
    doors = {path.name for path in SOURCE.iterdir()} - no_packages
    assert len(doors) <= 24
    assert len(layers()) <= 12
    assert {Path(door).stem for door in doors - ENTRIES} == {
        name for row in layers() for name in row
    }


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/map.md"])
def test_files_that_a_page_names_are_there(page):
    text = (REPOSITORY / page).read_text()
    linked = re.findall(r"\]\(([^)#:]+)\)", text)
    assert linked
    assert [name for name in linked if not (REPOSITORY / page).parent.joinpath(name).exists()] == []


def test_the_files_on_the_way_of_a_step_are_there():
    _, _, section = MAP.partition("## The way of a step")
    section, _, _ = section.partition("##")
    named = re.findall(r"^\| `([\w/]+\.py)`", section, re.MULTILINE)
    assert len(named) == 6
    assert [name for name in named if not (SOURCE / name).exists()] == []


@pytest.mark.slow
def test_a_step_alone_enters_at_most_35_files():
    answer = subprocess.run(
        [sys.executable, REPOSITORY / "scripts" / "trace_step.py"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    files, crossings = (
        int(re.search(pattern, answer)[1])
        for pattern in (r"the step alone: +(\d+) files", r"message and JSON (\d+) times")
    )
    assert files <= 35
    assert crossings <= 2
