# SPDX-License-Identifier: Apache-2.0
"""The notebook of TFDV's uses, run from start to end by a real kernel, and seen in a browser."""

import shutil
import subprocess
from pathlib import Path

import nbclient
import nbformat
import pytest
from PIL import Image

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
NAME = "data_validation.ipynb"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--window-size=1200,1000"),
]
PAPER, OUTLINE = (255, 255, 255), (224, 138, 30)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    for name in ("notebook", "penguin"):
        shutil.copytree(EXAMPLES / name, folder / name)
    notebook = nbformat.read(folder / "notebook" / NAME, as_version=4)
    place = {"metadata": {"path": str(folder / "notebook")}}
    return nbclient.NotebookClient(notebook, timeout=120, resources=place).execute()


def show(cell):
    """What a notebook shows below a cell, as HTML."""
    outputs = (one.get("data", {}) for one in cell.outputs)
    return "".join(one["text/html"] for one in outputs if "text/html" in one)


@pytest.fixture(scope="module")
def shown(notebook):
    return [show(cell) for cell in notebook.cells if cell.cell_type == "code"]


def test_the_notebook_is_kept_without_outputs():
    notebook = nbformat.read(EXAMPLES / "notebook" / NAME, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)


def test_statistics_schemas_and_anomalies_are_shown_in_turn(shown):
    _, statistics, schema, both, none, still_none, found, corrected, drift, slices, _ = shown
    assert "lhs_statistics: 110 examples" in statistics
    assert "flipper_length_mm" in schema
    assert "2008: 114 examples" in both
    assert "2007: 110 examples" in both
    assert "No anomalies found." in none
    assert "No anomalies found." in still_none
    assert "Unexpected string values" in found
    assert "Out-of-range values" in found
    assert "No anomalies found." in corrected
    assert "High Linfty distance between current and previous" in drift
    assert "JENSEN_SHANNON_DIVERGENCE" in drift
    assert "sex_female: 51 examples" in slices


@pytest.mark.skipif(not BROWSER, reason="there is no chromium and no google-chrome here")
def test_a_browser_shows_two_data_sets_over_each_other(shown, tmp_path):
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(f'<!doctype html><body data-jp-theme-light="true">{shown[3]}', encoding="utf-8")
    files = [f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={picture}", page.as_uri()]
    subprocess.run([BROWSER, *FLAGS, *files], check=True, capture_output=True, timeout=120)
    with Image.open(picture) as image:
        colours = {colour: count for count, colour in image.convert("RGB").getcolors(1 << 24)}
    assert colours[PAPER] > 100_000
    assert colours[OUTLINE] > 500
    filled = sum(n for (r, g, b), n in colours.items() if (b - r) > 60)
    assert filled > 10_000
