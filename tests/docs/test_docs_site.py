# SPDX-License-Identifier: Apache-2.0
"""The site is built strictly: a link that leads nowhere, or a page in no menu, is an error."""

import os
import re
import subprocess
import sys

import pytest
from snippets import REPOSITORY

pytest.importorskip("material")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environ = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_of_docs_is_in_the_site(site):
    pages = {path.relative_to(REPOSITORY / "docs") for path in (REPOSITORY / "docs").rglob("*.md")}
    assert {site / page.with_suffix(".html") for page in pages} <= set(site.rglob("*.html"))


def test_nothing_is_fetched_when_a_page_is_looked_at(site):
    loaded = r"""<(?:script|img|iframe)[^>]*\bsrc=["']?(?:https?:)?//|<link[^>]*stylesheet[^>]*//"""
    for page in site.rglob("*.html"):
        assert not re.search(loaded, page.read_text()), page


def test_the_reference_describes_every_argument_of_a_step(site):
    page = (site / "reference.html").read_text()
    assert "The splits to train on" in page
    assert 'id="trainer"' in page


def test_what_is_for_tests_is_not_shown(site):
    assert "not run:" not in (site / "scaling.html").read_text()
