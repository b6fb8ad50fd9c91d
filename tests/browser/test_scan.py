"""A report's reconstruction in a browser: it is drawn and turns, and a picture stands where it cannot."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.bench.report import page as report
from eqa_nodes.bench.report.page import write_report
from tests.fixtures import browser as chromium
from tests.fixtures.scanned import room, section
from tests.fixtures.screenshots import STAGE, changed, picture
from tests.fixtures.synthetic_run import make_run

HOSTILE = "<img src=x onerror=window.ran=1><script>window.ran=2</script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium.webgl_browser() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return addresses of a page that holds its scans, and of an episode's page, whose library is a file beside it."""
    shown, patch = section(room(HOSTILE)), pytest.MonkeyPatch()
    with patch.context() as patched:
        patched.setattr(report, "scan_of", lambda run, prediction, trace: shown)
        patched.setattr(report, "EMBED_SCANS", 100)
        whole = write_report(make_run(tmp_path_factory.mktemp("whole")), scan=True)
        patched.setattr(report, "EMBED_SCANS", 0)
        parts = write_report(make_run(tmp_path_factory.mktemp("parts")), scan=True)
    return {"whole": whole.as_uri(), "episode": (parts.parent / "report" / "episode-0001.html").as_uri()}


@pytest.fixture
def faults() -> Iterator[list[str]]:
    """Collect what pages report: errors, warnings, and requests to other hosts."""
    found: list[str] = []
    yield found
    assert not found


def opened(browser: Any, address: str, faults: list[str], turns: bool = True, **options: Any) -> Any:
    page = browser.new_context(**{"viewport": {"width": 800, "height": 640}, **options}).new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("request", lambda request: None if request.url.startswith(("file:", "data:", "blob:"))
            else faults.append(request.url))
    page.goto(address)
    page.locator(STAGE).first.scroll_into_view_if_needed()
    if turns:
        page.wait_for_selector(f"{STAGE}.turns")
    return page


@pytest.mark.parametrize("which", ["whole", "episode"])
def test_it_is_drawn_and_the_ceiling_hides_nothing(which: str, browser: Any, pages: dict[str, str],
                                                   faults: list[str]) -> None:
    page = opened(browser, pages[which], faults)
    seen = picture(page)
    red = (seen[..., 0] > 120) & (seen[..., 1] < 70)  # the table top
    blue = (seen[..., 2] > 110) & (seen[..., 0] < 100)  # the wall
    assert red.mean() > 0.005 and blue.mean() > 0.02
    assert page.evaluate("window.ran") is None


def test_it_turns_by_mouse_keys_and_buttons(browser: Any, pages: dict[str, str], faults: list[str]) -> None:
    page = opened(browser, pages["whole"], faults)
    first, box = picture(page), page.locator(STAGE).first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 160, box["y"] + box["height"] / 2 + 20, steps=4)
    page.mouse.up()
    assert changed(first, picture(page)) > 0.1
    page.locator("[name=home]").first.click()
    assert changed(first, picture(page)) < 0.02
    page.locator(f"{STAGE} canvas").first.press("ArrowLeft")
    assert changed(first, turned := picture(page)) > 0.05
    page.locator("[name=nearer]").first.click()
    assert changed(turned, picture(page)) > 0.05


def test_switches_colours_and_height_change_the_picture(browser: Any, pages: dict[str, str],
                                                        faults: list[str]) -> None:
    page = opened(browser, pages["whole"], faults)
    before = picture(page)
    for name in ("path", "proofs", "views", "objects"):
        page.locator(f"[type=checkbox][name={name}]").first.click()
        now = picture(page)
        assert changed(before, now) > 0.0005, name
        before = now
    assert HOSTILE in page.locator(".scan-names span").all_text_contents()
    for mode, legend in (("first", "first seen: 0 s"), ("last", "12 s"), ("object", HOSTILE), ("camera", "")):
        page.locator("[name=colour]").first.select_option(mode)
        now = picture(page)
        assert changed(before, now) > 0.1, mode
        assert legend in page.locator(".scan-colours").first.inner_text()
        before = now
    page.locator("[name=cut]").first.fill("0.3")
    assert changed(before, picture(page)) > 0.05
    assert page.evaluate("window.ran") is None and page.locator(".scan img[src=x], .scan-names script").count() == 0


def test_the_page_scrolls_on_and_a_finger_turns_it(browser: Any, pages: dict[str, str], faults: list[str]) -> None:
    page = opened(browser, pages["whole"], faults, viewport={"width": 390, "height": 844}, has_touch=True,
                  is_mobile=True)
    assert chromium.overflow(page) <= 0
    canvas = page.locator(f"{STAGE} canvas").first
    assert canvas.evaluate("e => getComputedStyle(e).touchAction") == "pan-y"
    first, box = picture(page), canvas.bounding_box()
    assert box["height"] < 0.7 * 844
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = page.context.new_cdp_session(page)
    swipe(finger, (x, y), (100, 0))
    assert changed(first, picture(page)) > 0.05
    at = page.evaluate("scrollY")
    swipe(finger, (x, y), (0, -200))
    page.wait_for_function(f"scrollY > {at} + 100")


def swipe(finger: Any, begin: tuple[float, float], way: tuple[float, float]) -> None:
    """Move a finger over the screen."""
    for kind, share in [("touchStart", 0.0), *(("touchMove", k / 8) for k in range(1, 9)), ("touchEnd", None)]:
        points = [] if share is None else [{"x": begin[0] + share * way[0], "y": begin[1] + share * way[1]}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_a_wheel_scrolls_the_page_until_the_picture_was_clicked(browser: Any, pages: dict[str, str],
                                                                faults: list[str]) -> None:
    page = opened(browser, pages["whole"], faults)
    page.locator(STAGE).first.hover()
    at = page.evaluate("scrollY")
    page.mouse.wheel(0, 200)
    page.wait_for_function(f"scrollY > {at} + 50")
    page.locator(STAGE).first.click()
    at, first = page.evaluate("scrollY"), picture(page)
    page.mouse.wheel(0, 200)
    assert changed(first, picture(page)) > 0.05 and page.evaluate("scrollY") == at


def still_stands(page: Any) -> bool:
    shown = Image.open(io.BytesIO(page.locator(STAGE).first.screenshot())).convert("RGB")
    green = np.abs(np.asarray(shown).astype(int) - (0, 160, 60)).max(axis=2) < 12
    return bool(green.mean() > 0.9) and not page.locator(".scan-tools").first.is_visible()


def test_without_scripts_a_picture_stands(browser: Any, pages: dict[str, str], faults: list[str]) -> None:
    assert still_stands(opened(browser, pages["whole"], faults, turns=False, java_script_enabled=False))


def test_without_webgl_a_picture_stands_and_the_page_says_why(browser: Any, pages: dict[str, str],
                                                              faults: list[str]) -> None:
    arguments = [*chromium.ARGUMENTS, "--disable-3d-apis"]
    with browser.browser_type.launch(executable_path=chromium.chromium(), args=arguments) as flat:
        page = opened(flat, pages["whole"], faults, turns=False)
        page.wait_for_selector(".scan-why:has-text('this browser has no WebGL')")
        assert still_stands(page)
