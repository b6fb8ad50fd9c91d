"""The console shows the newest call of a model: its pictures with numbers, its words, its costs."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import io
from pathlib import Path

from PIL import Image

from eqa_nodes.console.live import CALLS, Live
from eqa_nodes.console.values import shown_call, shown_live
from tests.fixtures.console_browser import Browser
from tests.fixtures.console_server import FakeRobot, serving
from tests.fixtures.synthetic_run import asked

STORY = asked()
FIRST, SECOND = STORY.calls


def begun(robot: FakeRobot) -> Live:
    robot.live.began("Where is the cup?")
    for view in STORY.keyframes:
        robot.live.saw(view)
    return robot.live


def test_the_newest_call_of_a_question_is_shown_with_the_sums_of_all() -> None:
    robot = FakeRobot(lambda: None)
    live = begun(robot)
    assert shown_live(robot)["call"] is None
    live.called(FIRST)
    live.decided(STORY.decisions[0])
    call = shown_live(robot)["call"]
    assert (call["n"], call["count"], call["reasons"], call["missing"]) == (1, 2, FIRST.reasons, FIRST.missing)
    assert [p["k"] for p in call["pictures"]] == [0, 1] and [p["now"] for p in call["pictures"]] == [False, True]
    assert [p["proves"] for p in call["pictures"]] == [False, True]
    assert [p["kept"] for p in call["pictures"]] == [True, True]
    option, = call["options"]
    assert option["went"] and (option["number"], option["kind"], option["room"]) == (1, "doorway", "kitchen")
    live.called(SECOND)
    call = shown_live(robot)["call"]
    assert (call["n"], call["answer"], call["tokens"]) == (2, "", 820)
    assert call["all"] == {"tokens": 2060, "money": 0.004, "pictures": 3}
    live.began("Another one?")
    assert shown_live(robot)["call"] is None


def test_a_view_from_before_this_console_is_not_shown_as_a_broken_picture() -> None:
    robot = FakeRobot(lambda: None)
    robot.live.began("Where is the cup?")
    robot.live.saw(next(view for view in STORY.keyframes if view.id == FIRST.pictures[1].keyframe_id))
    robot.live.called(FIRST)
    assert [p["kept"] for p in shown_live(robot)["call"]["pictures"]] == [False, True]


def test_what_is_kept_of_calls_is_bounded() -> None:
    live = begun(FakeRobot(lambda: None))
    for _ in range(5 * CALLS):
        live.called(FIRST)
    call = shown_call(live.trace(), live.calls)
    assert call is not None and call["n"] == 5 * CALLS and len(live.trace().calls) <= CALLS


def test_its_pictures_come_with_their_numbers_and_others_are_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, _, robot):
        browser = Browser(server.url)
        assert browser.ask("/live/call/1/0.jpg").status == 404
        begun(robot).called(FIRST)
        reply = browser.ask("/live/call/1/0.jpg")
        image = Image.open(io.BytesIO(reply.body)).convert("RGB")
        assert reply.headers["content-type"] == "image/jpeg" and image.width == 208
        assert min(image.getpixel((104 - 6, 130))) > 220  # type: ignore[type-var]  # the disc of option 1
        assert [browser.ask(f"/live/call/{path}.jpg").status for path in ("1/2", "2/0", "0/0", "1/99")] == [404] * 4
        robot.live.called(SECOND)
        lost = browser.ask("/live/call/2/0.jpg")
        assert lost.status == 404 and "earlier session" in lost.json["error"]
