# SPDX-License-Identifier: Apache-2.0
"""axe-core looks at every page, in light and in dark."""

import contextlib
import shutil
import subprocess

import pytest
from browsing import open_pages, start_chromium
from walk_pipeline import run_walk

pytestmark = pytest.mark.envs

SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The script of axe-core, from the index of npm's packages."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "axe-core@4"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"axe-core cannot be installed: {done.stderr[-200:]}")
    return (folder / "node_modules/axe-core/axe.min.js").read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_problem(axe, serve, tmp_path, scheme):
    for rate in (0.05, 0.2):
        run_walk(tmp_path / "penguin", rate)
    site = serve(tmp_path)
    # axe is a script that our own policy would not let in.
    with open_pages(site, color_scheme=scheme, bypass_csp=True) as page:
        ids = [box.get_attribute("value") for box in page.locator("tbody input").all()]
        paths = [
            "/s/0/runs",
            f"/s/0/run?id={ids[0]}",
            f"/s/0/compare?run={ids[0]}&run={ids[1]}",
            *(f"/s/0/artifact?id={number}" for number in range(1, 7)),
            "/s/0/data",
        ]
        found = {}
        for path in paths:
            page.goto(site.address + path)
            page.add_script_tag(content=axe)
            problems = page.evaluate("axe.run()")["violations"]
            found[path] = [
                (one["id"], one["nodes"][0]["html"]) for one in problems if one["impact"] in SERIOUS
            ]
        assert {path: told for path, told in found.items() if told} == {}


def test_a_page_with_a_problem_is_found(axe):
    with start_chromium() as browser, contextlib.closing(browser.new_page()) as page:
        page.set_content('<html lang="en"><img src="x"></html>')
        page.add_script_tag(content=axe)
        assert page.evaluate("axe.run()")["violations"]
