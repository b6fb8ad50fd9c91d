"""The console's view in three dimensions: the reconstructor's points with path, robot and objects."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.types.views import Cloud
from eqa_nodes.testing.waiting import WAIT_S, until
from tests.fixtures.browser import SIZES, overflow, webgl_browser
from tests.fixtures.console_server import STORY, serving
from tests.fixtures.screenshots import changed, picture


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with webgl_browser() as started:
        yield started


def house(shade: int = 0, n: int = 90_000) -> Cloud:
    """Return points of a red floor and of a ceiling."""
    rng = np.random.default_rng(1)
    floor, ceiling = rng.uniform((0, 0, 0), (9, 6, 0.01), (n, 3)), rng.uniform((0, 0, 2.6), (9, 6, 2.7), (n, 3))
    points = np.concatenate([floor, ceiling])
    colours = np.repeat(np.array([[210, 40 + shade, 40], [240, 240, 240]], np.uint8), n, axis=0)
    return Cloud(points.astype(np.float32), colours)


def opened(browser: Any, url: str, size: tuple[int, int], faults: list[str]) -> Any:
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}).new_page()
    page.set_default_timeout(1000 * WAIT_S)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("request", lambda request: None if request.url.startswith((url, "blob:")) else faults.append(request.url))
    page.goto(f"{url}#place")
    return page


@SIZES
def test_points_are_shown_and_follow_the_robot(size: tuple[int, int], browser: Any, tmp_path: Path) -> None:
    faults: list[str] = []
    with serving(tmp_path) as (server, _, robot):
        page = opened(browser, server.url, size, faults)
        page.wait_for_selector("#place-note:has-text('no reconstructor runs')")
        assert page.is_hidden("#stage")
        robot.cloud, robot.clouds = house(), 1
        robot.live.began("Where is the desk?")
        for stamp, pose in STORY.poses[:6]:
            robot.live.moved(stamp, pose)
        page.wait_for_selector("#stage canvas")
        until(lambda: page.locator("#place-tools output").text_content() == "2.0 m", "the ceiling is cut off")
        seen = picture(page)
        red = (seen[..., 0] > 150) & (seen[..., 1] < 80)
        assert red.mean() > 0.1 and overflow(page) <= 0
        for stamp, pose in STORY.poses[6:]:
            robot.live.moved(stamp, pose)
        robot.live.saw(STORY.keyframes[6])
        robot.live.changed()
        page.check("#place-tools [name=objects]")
        page.wait_for_selector(".scan-names span:has-text('desk')", state="attached")
        assert changed(seen, picture(page)) > 0.001
        page.wait_for_selector("#place-privileged", state="visible")
        robot.cloud, robot.clouds = house(shade=120), 2
        robot.live.changed()
        until(lambda: ((picture(page)[..., 1] > 120) & (picture(page)[..., 2] < 80)).mean() > 0.1, "the new points")
    assert not [fault for fault in faults if "ERR_" not in fault and "Failed to load" not in fault], faults


def test_nothing_of_it_is_loaded_before_somebody_looks(browser: Any, tmp_path: Path) -> None:
    asked: list[str] = []
    with serving(tmp_path) as (server, _, robot):
        robot.cloud, robot.clouds = house(), 1
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(server.url)
        page.wait_for_selector(".link.ready")
        assert not [url for url in asked if "three" in url or "cloud" in url]
        page.click("#to-place")
        page.wait_for_selector("#stage canvas")
        until(lambda: any("/live/cloud" in url for url in asked), "the points are asked for")
        page.close()
