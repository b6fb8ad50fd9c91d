"""A person as an agent, over HTTP: driving, looking through a history, answers, refusals, resuming."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import threading
import urllib.error
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from eqa_nodes.bench.report.traces import load_trace
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.console.person import Desk, PersonRequest, PersonRunner, PersonServer, read_answer
from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.samples import EM, Sample
from tests.fixtures.person_page import ANSWER, SAMPLES, Page, driven, history, sitting


def test_a_driven_episode_counts_and_is_saved_like_any_agents(tmp_path: Path) -> None:
    with sitting(tmp_path, driven()) as (page, ended):
        state = page.get("state")
        assert (state["id"], state["kind"], state["steps"], state["views"], state["total"]) == ("a", "drive", 0, 1, 2)
        for step, action in enumerate(("left", "forward", "right")):
            state = page.post("act", id="a", action=action, step=step)
        assert (state["steps"], state["views"]) == (3, 4) and 0 < state["metres"] <= 0.25
        image, headers = page.raw("view/3.jpg")
        assert image[:2] == b"\xff\xd8" and headers["Content-Type"] == "image/jpeg"
        drawn, headers = page.raw(state["map"].lstrip("/"))
        assert drawn.startswith(b"<svg") and headers["Content-Type"].startswith("image/svg+xml")
        assert page.post("answer", id="a", **{**ANSWER, "marked": [1, 3]})["answered"]
        page.post("answer", id="b", text="B", abstain=False, confidence=1, marked=[])
        assert page.get("state") == {"over": True, "done": 2, "total": 2}
    first, second = read_predictions(tmp_path).predictions.values()
    assert (first.answer.text, first.answer.confidence) == ("a kettle", 0.7)
    assert [e.keyframe_id for e in first.answer.evidence] == [2, 4] and first.answer.receipt.steps == 3
    assert first.answer.receipt.privileged == () and first.answer.receipt.seconds > 0
    trace = load_trace(tmp_path / first.trace)
    assert len(trace.poses) == 4 and trace.grid is not None and [k.id for k in trace.keyframes] == [2, 4]
    assert first.final_pose == trace.poses[-1][1]
    assert second.answer.text == "blue" and ended[0].exit_code == 0


def test_a_history_is_shown_and_its_marked_frames_are_the_evidence(tmp_path: Path) -> None:
    shown = history(tmp_path / "cache", SAMPLES[0])
    with sitting(tmp_path / "run", lambda sample: shown, SAMPLES[:1], EM) as (page, _):
        assert page.get("state")["views"] == 5 and page.raw("view/0.jpg")[0] != page.raw("view/4.jpg")[0]
        assert page.refused("act", id="a", action="forward", step=0)[0] == 409
        page.post("answer", id="a", **{**ANSWER, "marked": [2]})
        assert page.get("state")["over"]
    answer = read_predictions(tmp_path / "run").predictions["a"].answer
    assert [e.frame for e in answer.evidence] == [shown.views[2].id - 1] and answer.receipt.steps == 0


def test_not_knowing_and_an_answer_without_a_mark(tmp_path: Path) -> None:
    with sitting(tmp_path, driven()) as (page, _):
        page.post("act", id="a", action="left", step=0)
        page.post("answer", id="a", **ANSWER)
        page.post("answer", id="b", text="", abstain=True, confidence=0, marked=[])
        page.get("state")
    first, second = (p.answer for p in read_predictions(tmp_path).predictions.values())
    assert [e.keyframe_id for e in first.evidence] == [2]
    assert second.abstained and second.evidence == () and second.text == ""


def test_what_cannot_be_done_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with sitting(tmp_path, driven(max_steps=1), SAMPLES[1:]) as (page, _):
        assert Page(page.url).refused("state")[0] == 401
        with pytest.raises(urllib.error.HTTPError, match="403"):
            Page(f"{page.url}enter#guess")
        assert page.refused("nothing")[0] == 404 and page.refused("view/1.jpg")[0] == 404
        assert page.refused("view/-1.jpg")[0] == 404
        assert page.refused("answer", data=b"[]")[0] == 400 and page.refused("answer", data=b"{")[0] == 400
        assert page.refused("answer", data=b" " * 20_001)[0] == 413
        assert "old question" in page.refused("answer", id="a", **ANSWER)[1]
        assert page.refused("act", id="b", action="fly", step=0)[0] == 400
        assert "look again" in page.refused("act", id="b", action="left", step=7)[1]
        page.post("act", id="b", action="left", step=0)
        assert "all 1 steps" in page.refused("act", id="b", action="left", step=1)[1]
        assert "not one of the options" in page.refused("answer", id="b", **ANSWER)[1]
        assert page.get("state")["steps"] == 1
        page.post("answer", id="b", **{**ANSWER, "text": "red"})
        page.get("state")


@pytest.mark.parametrize("change", [{"text": None}, {"text": " "}, {"text": "x" * 501}, {"confidence": 1.1},
                                    {"confidence": True}, {"marked": [4]}, {"marked": "0"}, {"abstain": 0}])
def test_malformed_answers_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(RequestRefused):
        read_answer({**ANSWER, **change}, SAMPLES[0], 4)


def test_an_ended_run_goes_on_with_the_next_question(tmp_path: Path) -> None:
    desk = Desk()

    class Interrupting(PersonRunner):
        def run(self, sample: Sample) -> Any:
            if sample.id == "b":
                raise KeyboardInterrupt
            return super().run(sample)

    runner = Interrupting(desk, driven(), 2)
    threading.Thread(target=lambda: desk.ask(PersonRequest(("answer",), {"id": "a", **ANSWER})), daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run_benchmark(SAMPLES, runner, tmp_path, model="human", blind=False)
    assert list(read_predictions(tmp_path).predictions) == ["a"]
    with sitting(tmp_path, driven()) as (page, ended):
        state = page.get("state")
        assert (state["id"], state["done"]) == ("b", 1)
        page.post("answer", id="b", **{**ANSWER, "text": "red"})
        page.get("state")
    assert (ended[0].asked, ended[0].resumed) == (1, 1)


def test_a_scene_that_cannot_be_opened_fails_its_question_alone(tmp_path: Path) -> None:
    broken = [replace(SAMPLES[0], scene="toy:nowhere"), SAMPLES[1]]
    with sitting(tmp_path, driven(), broken) as (page, _):
        assert page.get("state")["id"] == "b"
        page.post("answer", id="b", **{**ANSWER, "text": "red"})
        page.get("state")
    assert [p.failed for p in read_predictions(tmp_path).predictions.values()] == [True, False]


def test_the_page_is_of_this_machine_only_and_a_taken_port_is_named() -> None:
    with closing(PersonServer(Desk())) as server:
        assert server.url.startswith("http://127.0.0.1:")
        page = Page(server.url)
        body, headers = page.raw("")
        assert b"person.js" in body and headers["Referrer-Policy"] == "no-referrer"
        assert b"fetch" in page.raw("page/person.js")[0] and b"grid" in page.raw("page/person.css")[0]
        with pytest.raises(ConfigError, match="another --port"):
            PersonServer(Desk(), int(server.url.split(":")[2].split("/")[0]))
    server.close()


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
