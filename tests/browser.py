"""A page in headless Chromium: offline, in the size of a phone or a screen; skipped where there is no browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PHONE, SCREEN = (390, 844), (1280, 900)


def chromium() -> str:
    """Return the browser's program (EQA_CHROMIUM, else the first of NAMES on the path); skip the test without one."""
    found = os.environ.get("EQA_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        pytest.skip("no Chromium here: install the package chromium, or name one in EQA_CHROMIUM")
    return found


@contextmanager
def browser() -> Iterator[Any]:
    """Give a browser of playwright, for pages that are asked for one after the other."""
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'eqa-nodes[dev]'")
    program = chromium()
    with sync.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield started
        started.close()


@contextmanager
def open_page(file: Path, size: tuple[int, int] = SCREEN, profile: Path | None = None) -> Iterator[Any]:
    """Give a page of playwright that shows a file. Fails at the end when the page raised, or asked for anything else.

    profile: folder of the browser's storage, for what a page keeps over visits.
    """
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'eqa-nodes[dev]'")
    program, faults, asked = chromium(), [], []
    options = {"executable_path": program, "args": list(ARGUMENTS), "headless": True}
    with sync.sync_playwright() as playwright:
        if profile is None:
            browser = playwright.chromium.launch(**options)
            context = browser.new_context(viewport={"width": size[0], "height": size[1]}, accept_downloads=True)
        else:
            browser = context = playwright.chromium.launch_persistent_context(
                str(profile), viewport={"width": size[0], "height": size[1]}, accept_downloads=True, **options)
        try:
            page = context.new_page()
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("request", lambda request: asked.append(request.url))
            page.goto(file.resolve().as_uri())
            yield page
        finally:
            browser.close()
    assert not faults, faults
    outside = [url[:80] for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    assert not outside, f"the page loads from elsewhere: {outside}"


def overflow(page: Any) -> int:
    """Return by how many pixels a page is wider than what shows it: more than 0 scrolls sideways on a phone."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
