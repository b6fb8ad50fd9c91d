"""A person marks answers on a phone; the page keeps the marks over visits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from eqa_nodes.bench.metrics.agreement import human_marks
from eqa_nodes.bench.report.marking import write_marking_page
from tests.fixtures.browser import PHONE, open_page, overflow, visits
from tests.fixtures.synthetic_run import make_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "secret-agent")


def test_a_person_marks_on_a_phone_and_saves(run: Path, tmp_path: Path) -> None:
    page, saved = write_marking_page(run, blind=True), tmp_path / "marks.csv"
    (data,) = re.findall(r'id="data"[^>]*>(.*?)</script>', page.read_text(encoding="utf-8"))
    order = [item["id"] for item in json.loads(data)["items"]]
    with visits(PHONE) as phone:
        with open_page(page, of=phone) as shown:
            assert overflow(shown) == 0
            shown.keyboard.press("4")
            assert shown.inner_text("#progress") == "2 of 3, 1 marked"
            shown.click('[data-mark="2"]')
            shown.keyboard.press("ArrowLeft")
            assert shown.get_attribute('[data-mark="2"]', "aria-pressed") == "true"
        with open_page(page, of=phone) as shown:  # another day
            assert shown.inner_text("#progress") == "3 of 3, 2 marked"
            shown.keyboard.press("5")
            shown.keyboard.press("0")
            shown.keyboard.press("1")
            with shown.expect_download() as download:
                shown.click("#save")
            download.value.save_as(saved)
    assert human_marks(saved, run) == {order[0]: 4, order[1]: 2, order[2]: 1}
