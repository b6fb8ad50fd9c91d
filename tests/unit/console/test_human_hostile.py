"""Requests to the person's page that make no sense: the run goes on, and the person is served.

Clients that hold connections, send too little or leave are those of test_hostile.py: both pages have the same server.
"""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import urllib.error
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from eqa_nodes.bench.running.predictions import read_predictions
from tests.fixtures.person_page import ANSWER, SAMPLES, Page, driven, sitting


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with sitting(tmp_path, driven(), SAMPLES[:1]) as (page, _):
        yield page
        page.post("answer", id="a", **ANSWER)
        page.get("state")
    assert read_predictions(tmp_path).predictions["a"].answer.text == "a kettle"


@pytest.mark.parametrize("text", ["\ud800", "a \udfff kettle", "a\0kettle"])
def test_an_answer_that_is_no_text_is_refused_and_the_run_goes_on(page: Page, text: str) -> None:
    status, error = page.refused("answer", id="a", **{**ANSWER, "text": text})
    assert status == 400 and "surrogate" in error


@pytest.mark.parametrize(("path", "data"), [
    ("view/" + "9" * 5000 + ".jpg", None), ("view/%ed%a0%80", None), (quote("\xff"), None),
    ("answer", b'{"id": %s}' % (b"9" * 5000)), ("answer", b"[" * 10_000), ("answer", b'{"id": "a", "text": "\xff"}')])
def test_requests_that_make_no_sense_are_refused_in_words(page: Page, path: str, data: bytes | None,
                                                          capfd: pytest.CaptureFixture[str]) -> None:
    status, error = page.refused(path, data)
    assert 400 <= status < 500 and error
    assert capfd.readouterr().err == ""


def test_another_site_and_a_form_of_it_are_refused(page: Page) -> None:
    for header in ({"Origin": "http://evil.example"}, {"Content-Type": "text/plain"}, {"Host": "evil.example"}):
        stranger = Page(page.url)
        stranger.headers = {**page.headers, **header}
        with pytest.raises(urllib.error.HTTPError) as caught:
            stranger.post("answer", id="a", **ANSWER)
        assert caught.value.code in (403, 421)
