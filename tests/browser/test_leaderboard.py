"""The leaderboard in a browser: a click on a heading sorts by it, a second one the other way, unknown values last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.report.leaderboard import write_leaderboard
from eqa_nodes.core.storage.codec import read_json, write_json
from tests.fixtures import browser as chromium
from tests.fixtures.synthetic_run import make_run


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium.browser() as started:
        yield started


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Any:
    for name, metres in (("a", 9.0), ("b", 10.0), ("c", None)):
        run = make_run(tmp_path / name)
        score_run(run, OfflineJudge())
        scores = read_json(run / "scores.json")
        scores["rows"][0]["metrics"]["metres"] |= {"mean": metres, "low": None, "high": None}
        write_json(run / "scores.json", scores)
    write_leaderboard([tmp_path / name for name in "bca"], tmp_path / "board.html")
    opened = browser.new_context(viewport={"width": 360, "height": 740}).new_page()
    opened.set_default_timeout(120_000)
    opened.goto((tmp_path / "board.html").as_uri())
    return opened


def order(page: Any) -> list[str]:
    return [Path(text).name for text in page.eval_on_selector_all(
        "tbody tr", "rows => rows.map(row => row.cells[0].dataset.order)")]


def test_a_heading_sorts_both_ways_by_number(page: Any) -> None:
    head = page.get_by_role("button", name="metres", exact=True)
    head.click()
    assert order(page) == ["a", "b", "c"] and page.locator("th[aria-sort]").count() == 1
    head.click()
    assert order(page) == ["b", "a", "c"]
    page.get_by_role("button", name="run", exact=True).click()
    assert order(page) == ["a", "b", "c"]


def test_the_page_fits_on_a_phone(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
