# SPDX-License-Identifier: Apache-2.0
"""A real browser, and a page that has followed the link."""

import contextlib
import os

import pytest

CHROMIUM = "/usr/bin/chromium"
BROWSER_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@contextlib.contextmanager
def start_chromium():
    """A browser of this machine; tests without one are skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not os.path.exists(CHROMIUM):
        pytest.skip(f"there is no {CHROMIUM}")
    with playwright.sync_playwright() as found:
        browser = found.chromium.launch(executable_path=CHROMIUM, args=BROWSER_OPTIONS)
        yield browser
        browser.close()


@contextlib.contextmanager
def open_page(browser, site, **options):
    """A page that has followed the link; what its console complains about fails the test."""
    with contextlib.closing(browser.new_context(**options)) as context:
        page, complaints = context.new_page(), []
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else 0)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(site.link)
        page.wait_for_url("**/s/0/runs")
        assert site.token not in page.url
        yield page
        assert complaints == []


@contextlib.contextmanager
def open_pages(site, **options):
    """The same, in a browser of its own."""
    with start_chromium() as browser, open_page(browser, site, **options) as page:
        yield page
