# SPDX-License-Identifier: Apache-2.0
"""The notebook of the examples, run from start to end by a real kernel, and seen in a browser."""

import shutil
import subprocess
from pathlib import Path

import nbclient
import nbformat
import pytest
from PIL import Image

pytestmark = [pytest.mark.tf, pytest.mark.slow]

EXAMPLES = Path(__file__).parents[2] / "examples"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--window-size=1200,5600"),
]
THEMES = {"true": ((255, 255, 255), (47, 111, 222)), "false": ((20, 24, 30), (110, 160, 255))}
"""Whether JupyterLab's theme is light: the paper, and the colour of a training's curve."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    for name in ("notebook", "penguin"):
        shutil.copytree(EXAMPLES / name, folder / name)
    return folder / "notebook"


@pytest.fixture(scope="module")
def notebook(folder):
    notebook = nbformat.read(folder / "penguin.ipynb", as_version=4)
    place = {"metadata": {"path": str(folder)}}
    return nbclient.NotebookClient(notebook, timeout=300, resources=place).execute()


def outputs_of(notebook):
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    return [output for cell in cells for output in cell.outputs]


def views_of(notebook):
    return [
        one.data["text/html"] for one in outputs_of(notebook) if "text/html" in one.get("data", {})
    ]


def test_the_notebook_is_kept_without_outputs():
    notebook = nbformat.read(EXAMPLES / "notebook" / "penguin.ipynb", as_version=4)
    assert outputs_of(notebook) == []


def test_it_goes_from_a_file_to_a_model_that_is_served(notebook, folder):
    assert len(list(folder.glob("out/serving/*/saved_model.pb"))) == 1
    printed = "".join(one.text for one in outputs_of(notebook) if one.output_type == "stream")
    assert "epoch 12/12" in printed
    assert "\r" not in printed


def test_every_kind_of_artifact_has_a_view(notebook):
    shown = "".join(views_of(notebook))
    for kind in (
        "Examples",
        "ExampleStatistics",
        "Schema",
        "ExampleAnomalies",
        "ModelRun",
        "Model",
    ):
        assert f"<h1>{kind} " in shown
    assert "serving_default" in shown
    assert "island=Torgersen" in shown
    assert '<span class="verdict good">blessed</span>' in shown
    assert shown.count("<polyline") == 6  # batches, epochs and validation, of loss and accuracy


@pytest.mark.skipif(not BROWSER, reason="there is no chromium and no google-chrome here")
@pytest.mark.parametrize("light", THEMES)
def test_a_browser_shows_its_views(notebook, light, tmp_path):
    body = "".join(views_of(notebook))
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(f'<!doctype html><body data-jp-theme-light="{light}">{body}', encoding="utf-8")
    files = [f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={picture}", page.as_uri()]
    subprocess.run([BROWSER, *FLAGS, *files], check=True, capture_output=True, timeout=120)
    with Image.open(picture) as image:
        assert image.size == (1200, 5600)
        colours = {colour: count for count, colour in image.convert("RGB").getcolors(1 << 24)}
    paper, curve = THEMES[light]
    assert len(colours) > 300
    assert colours[paper] > 1_000_000
    assert colours[curve] > 500
