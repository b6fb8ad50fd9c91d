"""The report shows what a model was asked: small pictures with numbers, words, costs, where the robot then went."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from eqa_nodes.bench.report.calls import MOST, THUMB_PX, calls_of, chosen_pictures, thumb
from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.core.types.calls import CallPicture, ModelCall, OptionMark
from eqa_nodes.core.types.floor import LOOK_ROUND, POINTED, Option, WeighedOption
from eqa_nodes.core.types.samples import EpisodeResult
from eqa_nodes.core.types.trace import EpisodeTrace
from tests.fixtures.scripted_runner import ScriptedRunner
from tests.fixtures.synthetic_run import answers, asked, samples, trace


def page_of(tmp_path: Path, *episodes: EpisodeTrace) -> str:
    result = answers()["q-1"]
    assert isinstance(result, EpisodeResult)
    rows = [replace(samples()[0], id=f"q-{n}") for n in range(len(episodes))]
    played = {row.id: replace(result, sample_id=row.id, trace=each) for row, each in zip(rows, episodes, strict=True)}
    run_benchmark(rows, ScriptedRunner(played), tmp_path, dataset="house", config={})
    return write_report(tmp_path).read_text()


def section(page: str) -> str:
    found = re.search(r'<section class="calls">.*?</section>', page, re.S)
    assert found is not None
    return found[0]


def test_each_call_is_shown_with_its_words_its_costs_and_where_it_sent_the_robot(tmp_path: Path) -> None:
    html = section(page_of(tmp_path, asked()))
    assert "2 calls in 3 requests · 3 pictures · 2,000 tokens in, 60 out · 0.004 by its prices · 3.5 s" in html
    assert "A door is &lt;b&gt;open&lt;/b&gt;." in html and "the &lt;i&gt;table&lt;/i&gt;" in html
    assert "Answer so far <b>on the table</b> 30 %" in html and "No answer yet" in html
    assert re.search(r'class="went"><b class="disc">1</b>doorway, kitchen.*?the robot went here', html)
    assert "the robot went elsewhere</em>a kitchen may have a cup" in html and "1 more that it did not name" in html
    assert "this picture is not kept in the episode" in html
    assert html.count("<img") == 2 and "where it stands" in html


def test_the_model_is_named_and_not_the_answerer(tmp_path: Path) -> None:
    result = answers()["q-1"]
    assert isinstance(result, EpisodeResult)
    rows = [replace(samples()[0], id="q-0")]
    played = ScriptedRunner({"q-0": replace(result, sample_id="q-0", trace=asked())})
    run_benchmark(rows, played, tmp_path, dataset="house", config={}, model="vlm", asked="a-model")
    page = write_report(tmp_path).read_text()
    assert " · answerer vlm · model a-model" in page and "3.5 s · a-model</small>" in section(page)


def test_places_that_the_model_pointed_at_and_looks_round_are_told_in_words(tmp_path: Path) -> None:
    made = asked()
    goal, pose = made.decisions[0].goal, made.decisions[0].pose
    assert goal is not None
    beyond = WeighedOption(Option(goal.x + 2.0, goal.y, 0.0, POINTED, 4.0), 0.6, "pantry")  # the robot got half the way
    here = WeighedOption(Option(pose.x + 50.0, pose.y, 0.0, LOOK_ROUND, 0.0), 0.4, "kitchen")
    made.calls = [made.calls[0]._replace(options=(here, beyond))]
    html = section(page_of(tmp_path, made))
    place, turn = re.findall(r"<li[^>]*><b class=.disc.*?</li>", html)
    assert ">+</b>a place it pointed at, pantry<meter" in place and "the robot went here" in place
    assert ">1</b>a look round, kitchen<meter" in turn and " m<" not in place + turn


def test_a_trace_without_calls_has_no_such_section(tmp_path: Path) -> None:
    assert '<section class="calls">' not in page_of(tmp_path, trace("Where?", None))
    assert calls_of(EpisodeTrace(), lambda jpeg: "") is None


def test_pictures_are_small_and_carry_their_numbers_and_rings() -> None:
    view = asked().keyframes[0]
    plain, drawn = (Image.open(io.BytesIO(thumb(view, CallPicture(0, marks, points)))).convert("RGB")
                    for marks, points in (((), ()), ((OptionMark(1, 320.0, 400.0),), ((100.0, 100.0),))))
    assert drawn.size == (THUMB_PX, 150)
    scale = THUMB_PX / 640
    disc = round(320 * scale) - 6, round(400 * scale)
    assert min(drawn.getpixel(disc)) > 220 > min(plain.getpixel(disc))  # type: ignore[type-var]
    ring = round(100 * scale) + 9, round(100 * scale)
    red, _, blue = drawn.getpixel(ring)  # type: ignore[misc]
    assert red - blue > 80


def test_a_long_episode_stays_a_small_page(tmp_path: Path) -> None:
    long, once = asked(), asked()
    many = tuple(CallPicture(view.id) for view in long.keyframes)
    long.calls = [long.calls[0]._replace(pictures=many)] * 40
    once.calls = []
    grown = len(page_of(tmp_path / "long", long)) - len(page_of(tmp_path / "once", once))
    html = section((tmp_path / "long" / "report.html").read_text())
    assert html.count('<li class="call">') == 40 and html.count("<img") == 12 * MOST and "and 2 more" in html
    assert grown < 600_000


def test_of_many_pictures_those_are_shown_of_which_the_model_said_something() -> None:
    views = tuple(CallPicture(n, note="says: a cup (0.8)" if n == 3 else "") for n in range(12))
    call = ModelCall(0, asked().poses[0][1], "Where?", "assess", views, evidence=(1,))
    assert chosen_pictures(call) == [1, 3, 8, 9, 10, 11]


@pytest.mark.parametrize("at", [float("nan"), float("inf"), 1e12])
def test_numbers_that_nobody_can_draw_are_left_out(at: float) -> None:
    view = asked().keyframes[0]
    odd = CallPicture(0, (OptionMark(1, at, 3.0),), ((3.0, at),))
    assert thumb(view, odd) == thumb(view, CallPicture(0))


def test_a_picture_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    broken = asked()
    broken.keyframes[0] = replace(broken.keyframes[0], jpeg=b"no picture")
    assert "this picture cannot be shown" in section(page_of(tmp_path, broken))
