"""The report in a browser: it filters and sorts, fits on a phone, needs no scripts, and its links lead somewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.report import page as report
from eqa_nodes.bench.report.page import write_report
from tests.fixtures import browser as chromium
from tests.fixtures.synthetic_run import make_run

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium.browser() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return addresses: of a page that holds its episodes, of one whose episodes have pages, and of such a page."""
    whole = make_run(tmp_path_factory.mktemp("whole"))
    parts = make_run(tmp_path_factory.mktemp("parts"))
    score_run(whole, OfflineJudge())
    score_run(parts, OfflineJudge())
    before, report.EMBED_UP_TO = report.EMBED_UP_TO, 2
    try:
        index = write_report(parts)
    finally:
        report.EMBED_UP_TO = before
    return {"whole": write_report(whole).as_uri(), "parts": index.as_uri(),
            "episode": (parts / "report" / "episode-0001.html").as_uri()}


def opened(browser: Any, address: str, errors: list[str], **options: Any) -> Any:
    page = browser.new_context(**{"viewport": DESKTOP, **options}).new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if request.url.startswith("http") else None)
    page.on("requestfailed", lambda request: errors.append(f"failed: {request.url[:80]}"))
    page.goto(address)
    return page


def listed(page: Any) -> list[str]:
    """Return the numbers of the episodes that the list shows, in its order."""
    return [item.get_attribute("data-n") for item in page.query_selector_all(".index li") if item.is_visible()]


def test_filters_narrow_the_list_and_the_episodes(browser: Any, pages: dict[str, str]) -> None:
    errors: list[str] = []
    page = opened(browser, pages["whole"], errors)
    assert listed(page) == ["1", "2", "3", "4", "5"]
    page.select_option("[name=status]", "failed")
    assert listed(page) == ["4", "5"] and page.inner_text(".shown") == "2 of 5 shown"
    assert [a.get_attribute("id") for a in page.query_selector_all("article") if a.is_visible()] == ["q4", "q5"]
    page.select_option("[name=status]", "")
    page.select_option("[name=category]", "spatial understanding")
    assert listed(page) == ["2"]
    page.select_option("[name=category]", "")
    page.select_option("[name=mark]", "1")
    assert listed(page) == ["3"]
    page.select_option("[name=mark]", "")
    page.fill("[name=text]", "CHAIRS table")
    assert listed(page) == ["2"]
    page.fill("[name=text]", "nothing has these words")
    assert listed(page) == [] and page.inner_text(".shown") == "0 of 5 shown"
    page.fill("[name=text]", "")
    page.select_option("[name=order]", "mark")
    assert listed(page) == ["4", "5", "3", "1", "2"]
    page.select_option("[name=order]", "-seconds")
    assert listed(page) == ["1", "2", "3", "4", "5"]
    assert not errors


@pytest.mark.parametrize("which", ["whole", "parts", "episode"])
def test_a_phone_scrolls_one_way_only(browser: Any, pages: dict[str, str], which: str) -> None:
    errors: list[str] = []
    page = opened(browser, pages[which], errors, viewport=PHONE, has_touch=True, is_mobile=True)
    for details in page.query_selector_all("details"):
        details.evaluate("e => { e.open = true; }")
    wide = page.evaluate("""() => [...document.querySelectorAll('body *')].filter(
        e => e.getBoundingClientRect().right > 361 && !e.closest('.scroll, .strip, svg, pre')).map(e => e.outerHTML)""")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, wide
    assert not wide and not errors


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP])
def test_nothing_moves_while_pictures_load(browser: Any, pages: dict[str, str], viewport: dict[str, int]) -> None:
    errors: list[str] = []
    page = opened(browser, pages["episode"], errors, viewport=viewport)
    high = "document.documentElement.scrollHeight"
    sized = page.eval_on_selector_all("main img", "all => all.filter(i => !i.getAttribute('width') || "
                                                  "!i.getAttribute('height')).map(i => i.outerHTML.slice(0, 200))")
    assert sized == []
    whole = page.evaluate(high)
    page.eval_on_selector_all("img", """async all => {
        for (const image of all) { image.loading = 'eager'; await image.decode(); } }""")
    assert page.evaluate(high) == whole and not errors
    page.eval_on_selector_all("img", "all => { for (const image of all) image.removeAttribute('src'); }")
    assert page.evaluate(high) == whole  # the place of a picture that is not there yet is as large


def test_signs_on_maps_can_be_read_on_a_phone(browser: Any, pages: dict[str, str]) -> None:
    errors: list[str] = []
    page = opened(browser, pages["episode"], errors, viewport={"width": 390, "height": 844}, is_mobile=True)
    sizes = page.eval_on_selector_all(".map text", """all => all.map(text => {
        const unit = text.ownerSVGElement.getScreenCTM().a;
        return [text.textContent, unit * parseFloat(getComputedStyle(text).fontSize)]; })""")
    assert {"1", "2", "3"} <= {text for text, _ in sizes} and any(text.endswith(" m") for text, _ in sizes)
    assert all(11 <= size <= 20 for _, size in sizes), sizes


def test_no_name_lies_over_another(browser: Any, pages: dict[str, str]) -> None:
    errors: list[str] = []
    page = opened(browser, pages["whole"], errors, viewport={"width": 390, "height": 844})
    page.eval_on_selector_all("details", "all => { for (const one of all) one.open = true; }")
    boxes = page.eval_on_selector_all(".map, .why-map, .shot", """all => all.map(drawing =>
        [...drawing.querySelectorAll('.goal, .region, .outline i')].map(name => {
            const r = name.getBoundingClientRect();
            return [r.left, r.top, r.right, r.bottom]; }))""")
    assert sum(map(len, boxes)) >= 9
    for names in boxes:
        for i, (left, top, right, bottom) in enumerate(names):
            for x0, y0, x1, y1 in names[:i]:
                assert right <= x0 + 1 or x1 <= left + 1 or bottom <= y0 + 1 or y1 <= top + 1


def test_the_story_comes_before_the_numbers(browser: Any, pages: dict[str, str]) -> None:
    errors: list[str] = []
    page = opened(browser, pages["whole"], errors)
    tops = [page.query_selector(name).bounding_box()["y"] for name in
            ("#q1 h2", "#q1 .answers", "#q1 .proof", "#q1 .why", "#q1 .receipt", "#numbers", "#cost")]
    assert tops == sorted(tops)
    assert page.query_selector("#q1 .story").bounding_box()["y"] < page.query_selector("#q1 .map").bounding_box()["y"]
    assert not page.is_visible("#q1 .choices")  # of many episodes the decisions are folded
    page.click("#q1 .why summary")
    assert page.locator("#q1 .choices li").count() == 3 and page.is_visible("#q1 .choices img")
    page.goto(pages["episode"])
    assert page.is_visible(".choices") and not errors


def test_every_link_leads_somewhere(browser: Any, pages: dict[str, str]) -> None:
    errors: list[str] = []
    page = opened(browser, pages["whole"], errors)
    for address in page.eval_on_selector_all("a[href]", "all => all.map(a => a.getAttribute('href'))"):
        assert address.startswith("#") and page.query_selector(address), address
    page = opened(browser, pages["parts"], errors)
    links = page.eval_on_selector_all("main a[href]", "all => all.map(a => a.href)")
    assert len(set(links)) == 5
    for link in sorted(set(links)):
        page.goto(link)
        assert page.query_selector("article h2") and page.query_selector("a[href='../report.html#list']")
        broken = page.eval_on_selector_all("img", """async all => {
            for (const image of all) { image.loading = 'eager'; await image.decode(); }
            return all.filter(image => !image.naturalWidth).length; }""")
        assert broken == 0
    page.click("a[rel=prev]")
    page.click("a[href='../report.html#list']")
    assert page.url.endswith("report.html#list") and not errors


def test_without_scripts_it_is_a_plain_list(browser: Any, pages: dict[str, str]) -> None:
    errors: list[str] = []
    page = opened(browser, pages["whole"], errors, java_script_enabled=False)
    assert listed(page) == ["1", "2", "3", "4", "5"]
    assert not page.is_visible(".filter") and page.locator("article").count() == 5


def test_bars_are_as_long_as_their_scores(browser: Any, pages: dict[str, str]) -> None:
    errors: list[str] = []
    page = opened(browser, pages["whole"], errors)
    widths = page.eval_on_selector_all(".bars .row", """rows => rows.map(row => {
        const width = name => row.querySelector(name).getBoundingClientRect().width;
        return [Number(row.querySelector('b').textContent), 100 * width('.c') / width('.track')]; })""")
    assert len(widths) == 4 and all(abs(shown - drawn) < 0.2 for shown, drawn in widths)
