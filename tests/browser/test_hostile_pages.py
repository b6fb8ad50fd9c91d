"""Text of models, data sets and bags is shown on every page as text: nothing in it runs. Seen in a real browser."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.report import page as report
from eqa_nodes.bench.report.marking import write_marking_page
from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.core.errors import NavigationError
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.generate.pages import PAGE
from tests.fixtures.browser import browser as chromium
from tests.fixtures.generating import Model, here, whole
from tests.fixtures.person_page import SAMPLES, driven, sitting
from tests.fixtures.scripted_runner import ScriptedRunner
from tests.fixtures.synthetic_run import answers, samples

PAYLOAD = ("\"'><script>window.ran=1</script><img src=x onerror=window.ran=2><svg/onload=window.ran=3>"
           "</textarea></title></style></script><a href=\"javascript:window.ran=4\">{{7*7}}${window.ran=5}<!--\u2028")
KEPT = ("house:7",)  # a scene has to open


def poisoned(value: Any) -> Any:
    """Return a value with the payload in each of its texts."""
    if isinstance(value, str):
        return value if value in KEPT or not value else f"{value}{PAYLOAD}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(poisoned, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(poisoned, value))
    if isinstance(value, dict):
        return {poisoned(key): poisoned(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{field.name: poisoned(getattr(value, field.name))
                                             for field in dataclasses.fields(value) if field.init})
    return value


def poisoned_run(out: Path) -> Path:
    """Play a run whose every text is hostile: of the data set, the model, the decisions, labels and errors."""
    asked: list[Sample] = poisoned(samples())
    results: dict[str, EpisodeResult | Exception] = poisoned(answers())
    results[asked[3].id] = NavigationError(PAYLOAD)
    results[asked[4].id] = ZeroDivisionError(PAYLOAD)
    blind: dict[str, Answer | Exception] = {sample.id: Answer(PAYLOAD) for sample in asked}
    run_benchmark(asked, ScriptedRunner(results, blind), out, dataset=PAYLOAD, model=PAYLOAD, config={PAYLOAD: PAYLOAD})
    score_run(out, OfflineJudge())
    return out


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


def shown(browser: Any, address: str, use: Callable[[Any], None] = lambda page: None, host: str = "file:") -> str:
    """Open a page, use it, and return its text; fails where anything of the payload ran or was loaded."""
    asked: list[str] = []
    page = browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(f"dialog {dialog.message}"))
    page.goto(address)
    use(page)
    for link in page.query_selector_all("a[href]"):
        assert not (link.get_attribute("href") or "").strip().lower().startswith("javascript:")
    assert page.evaluate("window.ran") is None
    assert page.query_selector("img[src=x], svg[onload], script:not([src]):text('window.ran=1')") is None
    strange = [url[:80] for url in asked if not url.startswith((host, "data:", "blob:"))]
    assert not strange
    text = str(page.content())
    page.close()
    return text


@pytest.mark.parametrize("embed", [pytest.param(100, marks=pytest.mark.thorough), 2])
def test_a_report_shows_hostile_texts_as_texts(embed: int, browser: Any, tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "EMBED_UP_TO", embed)
    index = write_report(poisoned_run(tmp_path))
    pages = [index, *sorted((tmp_path / "report").glob("*.html"))]
    assert len(pages) == (1 if embed == 100 else 6)

    def use(page: Any) -> None:
        for box in page.query_selector_all("input[type=search]"):
            box.fill("script")
        for opener in page.query_selector_all("summary"):
            if opener.is_visible():
                opener.click()

    for page in pages:
        assert "&lt;script&gt;window.ran=1" in shown(browser, page.as_uri(), use)


@pytest.mark.parametrize("blind", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_a_page_to_mark_answers_shows_hostile_texts_as_texts(blind: bool, browser: Any, tmp_path: Path) -> None:
    page = write_marking_page(poisoned_run(tmp_path), blind=blind)
    text = shown(browser, page.as_uri(), lambda page: page.keyboard.press("3"))
    assert "window.ran" in text


def test_generated_questions_are_shown_as_texts(browser: Any, tmp_path: Path) -> None:
    said = Model(answer=here, propose=lambda n, text: {"question": f"What is number {n} {PAYLOAD}?",
                                                       "answer": "a red kettle"},
                 instruct={"instruction": f"Go. {PAYLOAD}"})
    whole(tmp_path, said, count=2)
    assert "window.ran" in shown(browser, (tmp_path / PAGE).as_uri())


def test_a_person_reads_hostile_questions_as_texts(browser: Any, tmp_path: Path) -> None:
    asked = [dataclasses.replace(sample, question=f"{sample.question}{PAYLOAD}",
                                 choices=tuple(f"{choice}{PAYLOAD}" for choice in sample.choices),
                                 answer=f"{sample.answer}{PAYLOAD}") for sample in SAMPLES]
    with sitting(tmp_path, driven(), asked) as (page, _):
        for sample in asked:
            seen = shown(browser, page.link, lambda opened: opened.wait_for_selector("text=window.ran=1"), "http:")
            assert "&lt;script&gt;" in seen
            page.post("answer", id=sample.id, text=sample.choices[0] if sample.choices else "a", abstain=False,
                      confidence=1, marked=[])
        page.get("state")


def test_the_payload_runs_where_nothing_escapes_it(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(f"<p title=\"{PAYLOAD}\">", encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_function("window.ran > 0")
    page.close()
