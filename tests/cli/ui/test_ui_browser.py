# SPDX-License-Identifier: Apache-2.0
"""A walk through the pages in a real browser.

With STOKER_SCREENSHOTS=DIR, the pictures of the walk go there: those in docs/ are from it.
"""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from browsing import open_page, start_chromium
from hostile_pipeline import run_hostile
from walk_pipeline import DATA, STOP, run_walk

from stoker.metadata import sqlite_metadata_connection_config
from stoker.metadata.store import Store

pytestmark = pytest.mark.slow

SCREENS = [("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400)]


@pytest.fixture(scope="module")
def browser():
    with start_chromium() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    root = tmp_path_factory.mktemp("walk") / "penguin"
    (given,) = DATA.glob("*.csv")
    header, *rows = given.read_text().splitlines()
    older, newer = root.parent / "data/older", root.parent / "data/newer"
    for folder, few in ((older, rows), (newer, rows[: len(rows) // 3])):
        folder.mkdir(parents=True)
        (folder / "penguins.csv").write_text("\n".join([header, *few]) + "\n")
    first = run_walk(root, 0.05, data=older)
    run_walk(root, 0.2, data=newer)
    with Store(sqlite_metadata_connection_config(str(root / "metadata.db"))) as store:
        store.describe_run(first.id, note="all islands", tags=["baseline"])
    return root


@pytest.fixture(scope="module")
def site(serve, walked):
    return serve(walked.parent)


@contextlib.contextmanager
def training(walked, program="walk_pipeline.py"):
    """A run in another process, whose training goes on inside."""
    stop = walked.parent / f"stop-{time.time()}"
    script = str(Path(__file__).parent / program)
    process = subprocess.Popen(
        [sys.executable, script, str(walked), "0.1"],
        env={**os.environ, STOP: str(stop)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process, stop
    finally:
        stop.touch()
        process.wait(30)


def count_points(page):
    lines = page.locator("#live svg.chart polyline.series-0").first
    return len((lines.get_attribute("points") or "").split())


def wait_for_more_points(page):
    page.wait_for_function(
        "number => document.querySelector('#live svg.chart polyline.series-0')"
        ".getAttribute('points').split(' ').length > number + 2",
        arg=count_points(page),
        timeout=20_000,
    )


@pytest.mark.envs
def test_the_curve_of_a_fit_of_keras_grows_while_one_looks(browser, serve, tmp_path):
    root = tmp_path / "fit"
    with training(root, "fit_pipeline.py") as (process, stop):
        while not (root / "metadata.db").exists():
            assert process.poll() is None
            time.sleep(0.1)
        with open_page(browser, serve(tmp_path)) as page:
            page.locator("tbody a.id").first.click(timeout=20_000)
            page.locator("#live svg.chart").first.wait_for(timeout=60_000)
            wait_for_more_points(page)
            assert "left" in page.locator("#progress").inner_text()
            assert "loss" in page.locator("#live").inner_text()
            stop.touch()
            page.locator("#live dd .state.complete").wait_for(timeout=60_000)
            page.get_by_role("link", name="ModelRun ", exact=False).first.click()
            page.get_by_text("In TensorBoard: stoker tensorboard ", exact=False).wait_for()


def test_a_walk_from_runs_to_the_lineage_of_a_model(browser, site, walked):
    with open_page(browser, site) as page, training(walked) as (process, stop):
        page.get_by_text("running", exact=True).wait_for(timeout=20_000)  # it came by itself
        page.get_by_label("Filter runs").fill("state = running")
        page.get_by_role("button", name="Filter").click()
        page.locator("tbody tr").first.wait_for()
        assert page.locator("tbody tr").count() == 1
        page.locator("tbody a.id").click()
        page.locator("#live svg.chart").first.wait_for(timeout=20_000)
        page.evaluate("window.isSamePage = true")
        wait_for_more_points(page)
        assert "left" in page.locator("#progress").inner_text()
        log = page.get_by_label("Log of Trainer")
        said = len(log.inner_text())
        assert "epoch" in log.inner_text()
        page.wait_for_function(
            "said => document.querySelector('[data-log]').innerText.length > said",
            arg=said,
            timeout=20_000,
        )
        stop.touch()
        process.wait(30)
        page.locator("#live dd .state.complete").wait_for(timeout=20_000)
        assert page.evaluate("window.isSamePage")

        page.goto(f"{site.address}/s/0/runs")
        for box in page.locator("tbody input[type=checkbox]").all()[:2]:
            box.check()
        page.get_by_role("button", name="Compare selected").click()
        page.get_by_role("heading", name="Compare 2 runs").wait_for()
        assert "Trainer.learning_rate" in page.get_by_label("Parameters", exact=True).inner_text()
        page.get_by_label("Log axis").check()
        page.wait_for_url("**log=1**")
        assert page.locator("svg.chart").count() >= 4
        page.locator("tbody a.id").first.click()
        page.get_by_role("link", name="Model ", exact=False).first.click()
        page.get_by_role("heading", name="Lineage").wait_for()
        assert "weights.bin" in page.content()
        page.locator("svg.graph a", has_text="Examples").first.click()
        page.get_by_role("heading", name="Examples", exact=False).first.wait_for()


def test_pages_fit_narrow_and_wide_screens_in_light_and_dark(browser, site, walked, tmp_path):
    asked = os.environ.get("STOKER_SCREENSHOTS")
    folder = Path(asked or tmp_path)
    for scheme, width in SCREENS if asked else (SCREENS[0], SCREENS[-1]):
        size = {"width": width, "height": 800}
        with open_page(browser, site, color_scheme=scheme, viewport=size) as page:
            for name, path in list_pages(page).items():
                page.goto(site.address + path)
                # Tables scroll in themselves; the page does not.
                assert page.evaluate("document.documentElement.scrollWidth") <= width, name
                shot = folder / f"ui-{name}-{scheme}-{width}.png"
                page.screenshot(path=shot, full_page=True)
                assert shot.stat().st_size > 8_000
                if asked:
                    shrink(shot)


def shrink(shot):
    """Make a picture small enough for the docs: its upper part, in few colours."""
    from PIL import Image

    with Image.open(shot) as picture:
        upper = picture.crop((0, 0, picture.width, min(picture.height, 1500)))
        upper.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(shot, optimize=True)


def list_pages(page):
    """The five pages, each at an address that shows much."""
    page.locator("tbody a.id").first.wait_for()
    ids = [box.get_attribute("value") for box in page.locator("tbody input").all()]
    second, first = ids[-2], ids[-1]
    page.locator("tbody a.id").last.click()
    model = page.get_by_role("link", name="Model ", exact=False).first.get_attribute("href")
    return {
        "runs": "/s/0/runs",
        "run": f"/s/0/run?id={first}",
        "compare": f"/s/0/compare?run={first}&run={second}&smooth=0.6",
        "artifact": model,
        "data": "/s/0/data",
    }


def test_the_keyboard_reaches_everything_and_shows_where_it_is(browser, site):
    with open_page(browser, site) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.type") == "search"
        page.keyboard.press("Tab")
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(outline) == "solid"


def test_nothing_that_data_says_runs_in_a_browser(browser, serve, tmp_path):
    run = run_hostile(tmp_path / "root", report=True)
    site = serve(tmp_path)
    with open_page(browser, site) as page:
        runs = [f"/s/0/run?id={run.id}", "/s/0/data", "/s/0/runs"]
        artifacts = [f"/s/0/artifact?id={number}" for number in range(1, 6)]
        for path in [*runs, *artifacts]:
            page.goto(site.address + path)
            assert "owned" not in page.title()
            assert page.title() != "1"
    (report,) = (tmp_path / "root").glob("report-*.html")
    with contextlib.closing(browser.new_page()) as page:
        requests = []
        page.on("request", lambda one: requests.append(one.url))
        page.goto(report.as_uri())
        assert page.title().startswith("<b>hostile")
        assert requests == [report.as_uri()]
