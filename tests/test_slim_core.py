# SPDX-License-Identifier: Apache-2.0
"""`pip install stoker` stays small, by the metadata of what is installed."""

import importlib.metadata
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
MOST = 70


def closure(requirements):
    """The names of what is installed with these requirements, as pip would find them."""
    seen, waiting = set(), [Requirement(text) for text in requirements]
    while waiting:
        wanted = waiting.pop()
        key = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if key in seen:
            continue
        seen.add(key)
        for text in importlib.metadata.requires(wanted.name) or []:
            needed = Requirement(text)
            extras = ["", *wanted.extras]
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in extras):
                waiting.append(needed)
    return {name for name, _ in seen}


def test_the_core_brings_few_distributions_and_no_beam():
    brought = closure(PROJECT["dependencies"])
    assert len(brought) < MOST
    assert not brought & {"apache-beam", "tfx-bsl", "tensorflow-transform", "google-cloud-storage"}


def test_transform_brings_what_the_core_does_not():
    brought = closure(PROJECT["optional-dependencies"]["transform"])
    assert {"apache-beam", "tfx-bsl", "tensorflow-transform"} <= brought
