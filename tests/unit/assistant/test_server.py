"""An assistant's client asks, looks, recalls and stops, within what the server allows."""

from __future__ import annotations

from tests.fixtures.needs import need_assistant

need_assistant()

import base64
import io
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.types import CallToolResult, ElicitResult
from PIL import Image

from eqa_nodes.assistant.server import RobotServer, RobotTools
from eqa_nodes.console.live import Feed
from eqa_nodes.console.questions import Questions
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.core.language.bad_input import unreadable
from eqa_nodes.core.types.inquiries import CONFIRM, DRY, GO
from eqa_nodes.core.types.questions import Question
from eqa_nodes.testing.waiting import WAIT_S
from tests.fixtures.bad_questions import UNREADABLE
from tests.fixtures.console_server import FakeRobot
from tests.fixtures.follow_up import FIRST, FOLLOW_UP, IN_FULL, parse_follow_ups

LOOKING = {"result", "look", "map", "recall", "objects", "status", "cancel", "stop"}


@contextmanager
def robot_server(driving: str = DRY) -> Iterator[tuple[RobotServer, FakeRobot, Questions]]:
    feed = Feed()
    robot = FakeRobot(feed.ring)
    with closing(Questions(feed, Question(""))) as questions:
        questions.begin(robot)
        yield RobotServer(RobotTools(robot, questions), driving), robot, questions


def calls(server: RobotServer, *wanted: tuple[str, dict[str, Any]], agrees: bool | None = None,
          mode: str = "auto") -> list[CallToolResult]:
    """Return what a client is replied. agrees: what the person says to a drive; None: the client cannot ask anybody."""

    async def person(*_: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"drive": True}) if agrees else ElicitResult(action="decline")

    async def talk() -> list[CallToolResult]:
        callback = {} if agrees is None else {"elicitation_callback": person}
        with anyio.fail_after(WAIT_S):
            async with Client(server.mcp, mode=mode, **callback) as client:
                return [await client.call_tool(name, arguments) for name, arguments in wanted]

    return anyio.run(talk)


def facts(reply: CallToolResult) -> dict[str, Any]:
    assert not reply.is_error, reply.content
    found: dict[str, Any] = json.loads(reply.content[0].text)  # type: ignore[union-attr]
    return found


def pictures(reply: CallToolResult) -> list[Image.Image]:
    return [Image.open(io.BytesIO(base64.b64decode(block.data))) for block in reply.content if block.type == "image"]


def fault(reply: CallToolResult) -> str:
    assert reply.is_error
    return str(reply.content[0].text)  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_answer_comes_with_the_picture_that_proves_it(mode: str) -> None:
    with robot_server(GO) as (server, robot, questions):
        robot.go.set()
        reply, = calls(server, ("ask", {"question": "Where is the desk?"}), mode=mode)
        assert questions.entry(1).question.may_explore
    shown = facts(reply)
    assert (shown["answer"], shown["confidence"], shown["state"]) == ("in the study", 0.9, "ended")
    assert shown["understood"] == "where the desk is"
    assert shown["cost"]["privileged"] == ["labels"] and [p["where"] for p in shown["proofs"]] == ["study"]
    assert [image.format for image in pictures(reply)] == ["JPEG"]


def test_a_question_may_refer_to_the_last_one_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    parse_follow_ups(monkeypatch)
    with robot_server() as (server, robot, _):
        robot.go.set()
        shown = list(map(facts, calls(server, ("ask", {"question": FIRST}), ("ask", {"question": FOLLOW_UP}))))
    assert robot.asked == [FIRST, IN_FULL] and [(e["question"], e["words"]) for e in shown] == [
        (FIRST, ""), (IN_FULL, FOLLOW_UP)]


def test_bad_input_is_refused_in_one_sentence_and_does_not_get_to_the_robot() -> None:
    with robot_server() as (server, robot, _):
        replies = calls(server, *(("ask", {"question": text}) for text in UNREADABLE.values()))
    assert not robot.asked
    for reply, text in zip(replies, UNREADABLE.values(), strict=True):
        assert fault(reply).endswith(unreadable(text.strip()))


def test_nothing_drives_unless_the_server_was_started_so() -> None:
    async def offered(server: RobotServer) -> dict[str, Any]:
        async with Client(server.mcp) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    with robot_server() as (server, robot, questions):
        tools = anyio.run(offered, server)
        robot.go.set()
        facts(calls(server, ("ask", {"question": "Where is the desk?", "drive": True}))[0])
        question = questions.entry(1).question
    assert set(tools) == LOOKING | {"ask"}
    assert set(tools["ask"].input_schema["properties"]) == {"question", "wait_s"} and tools["ask"].annotations
    assert tools["ask"].annotations.read_only_hint
    assert not question.may_explore and not question.show


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_drive_is_confirmed_by_a_person(mode: str) -> None:
    ask = ("ask", {"question": "Where is the desk?"})
    with robot_server(CONFIRM) as (server, robot, questions):
        robot.go.set()
        declined, = calls(server, ask, agrees=False, mode=mode)
        assert not questions.entries() and "did not agree" in fault(declined)
        agreed, = calls(server, ask, agrees=True, mode=mode)
        assert facts(agreed)["answer"] == "in the study" and questions.entry(1).question.may_explore
        unasked, = calls(server, ("ask", {"question": "Is it green?", "drive": False}), agrees=False, mode=mode)
        assert facts(unasked)["answer"] == "in the study" and not questions.entry(2).question.may_explore


def test_a_client_that_can_ask_nobody_gets_no_drive() -> None:
    with robot_server(CONFIRM) as (server, robot, questions):
        robot.go.set()
        said = fault(calls(server, ("ask", {"question": "Where is the desk?"}))[0])
        assert "elicitation" in said and "--drive go" in said
        assert not questions.entries() and not robot.asked


def test_a_long_question_is_read_later_and_called_off() -> None:
    with robot_server(GO) as (server, robot, _):
        begun, early, _, canceled, status = calls(
            server, ("ask", {"question": "Where is the desk?", "wait_s": 0.6}), ("result", {"number": 1}),
            ("cancel", {"number": 1}), ("result", {"number": 1, "wait_s": WAIT_S}), ("status", {}))
        assert robot.driving.is_set()
    assert facts(begun)["state"] == facts(early)["state"] == "asking" and not pictures(early)
    assert facts(begun)["progress"]["metres"] == 3.5
    assert facts(canceled)["error"] == "CANCELED"
    assert [(q["id"], q["state"]) for q in facts(status)["questions"]] == [(1, "ended")]


def test_stop_ends_what_others_ask_too() -> None:
    with robot_server() as (server, robot, _):
        facts(calls(server, ("stop", {}))[0])
        assert robot.stopped.is_set()


def test_memory_camera_and_map_are_seen() -> None:
    with robot_server() as (server, robot, _):
        robot.go.set()
        _, views, objects, camera, floor = calls(
            server, ("ask", {"question": "Where is the desk?"}), ("recall", {"limit": 2}), ("objects", {}),
            ("look", {}), ("map", {}))
    assert len(pictures(views)) == len(facts(views)["views"]) == 2
    assert "desk" in {o["name"] for o in facts(objects)["objects"]}
    assert [image.format for image in pictures(camera)] == ["JPEG"]
    plan, = pictures(floor)
    box = facts(floor)["pictures"][0]
    aspect = (box["right_x_m"] - box["left_x_m"]) / (box["top_y_m"] - box["bottom_y_m"])
    assert plan.format == "PNG" and plan.width / plan.height == pytest.approx(aspect, rel=0.02)


def test_what_the_robot_refuses_is_said_in_words() -> None:
    with robot_server() as (server, robot, _):
        empty, unknown, later, many = calls(server, ("ask", {"question": " "}), ("result", {"number": 7}),
                                            ("recall", {"limit": 99}), ("nonsense", {}))
        robot.answer = NodeLost("the agent is gone")
        robot.go.set()
        lost, = calls(server, ("ask", {"question": "Where is the desk?"}))
    assert "question" in fault(empty) and "no question 7" in fault(unknown)
    assert "12" in fault(later) and "nonsense" in fault(many)
    assert facts(lost)["message"] == "the agent is gone" and facts(lost)["error"]
