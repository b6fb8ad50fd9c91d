"""Over the real graph: a dry drive moves nothing, `confirm` moves what a person allows; the navigator enforces both."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.config.graph import SHARED, Parameters
from eqa_nodes.core.errors import EqaError, ErrorCode
from eqa_nodes.core.types.floor import NavCode
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import CONFIRM, DRY, GO, NO_REPLY, Inquiry
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Limits
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.ros import convert
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.ports import _result
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.runners.in_graph import GraphRunner
from tests.fixtures.courses import parameters

pytestmark = pytest.mark.timeout(600)
PLANT = Sample("plant", "Where is the plant?", "", scene="toy:flat", seed=3)
WAIT_S = 120.0


class Watched:
    """A graph with a person who replies to each inquiry in turn, the last reply also to what follows; 0 = never."""

    def __init__(self, folder: Path, replies: Sequence[int], extra: Parameters) -> None:
        self._replies, self.shown, self.late = list(replies), list[Progress](), list[str]()
        self._threads: list[threading.Thread] = []
        self.runner = GraphRunner(folder, parameters(folder, extra), Limits(steps=40), listener=self._hear)

    def _hear(self, progress: Progress) -> None:
        self.shown.append(progress)
        inquiry = progress.inquiry
        if inquiry is not None and inquiry.open:
            option = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
            if option != NO_REPLY:  # the listener is the client's thread, which has to take in the response
                self._threads.append(threading.Thread(target=self.runner.reply, args=(inquiry.id, option)))
                self._threads[-1].start()

    def ask(self, *replies: int) -> Answer:
        self._replies[:] = replies or self._replies
        answer = self.runner.run(PLANT).answer
        for thread in self._threads:
            thread.join(WAIT_S)
        return answer

    @property
    def inquiries(self) -> list[Inquiry]:
        return [p.inquiry for p in self.shown if p.inquiry is not None]


@contextmanager
def watched(folder: Path, agent: str, navigator: str = "", replies: Sequence[int] = (NO_REPLY,),
            reply_s: float = WAIT_S) -> Iterator[Watched]:
    extra: Parameters = {SHARED: {"node.drive": agent}, "agent": {"agent.reply_s": reply_s}}
    if navigator:
        extra["navigator"] = {"node.drive": navigator}
    graph = Watched(folder, replies, extra)
    with closing(graph.runner):
        yield graph


def test_a_dry_drive_moves_nothing_and_shows_where_it_would_go(tmp_path: Path) -> None:
    with watched(tmp_path, DRY) as graph:
        result = graph.runner.run(PLANT)
        trace, answer = result.trace, result.answer
        assert answer.error is ErrorCode.NONE and answer.receipt.steps == 0
        assert answer.message.count("drive ") >= 2 and "dry drive, nothing moved" in answer.message
        assert len({pose for _, pose in trace.poses}) == 1
        assert trace.decisions and all(d.reason.startswith("dry drive: it would ") for d in trace.decisions)
        for moved in (_sent(graph, "drive_to_pose"), _sent(graph, "look_around")):  # whoever sends it
            assert moved.code is NavCode.NOT_ALLOWED and "node.drive is dry" in moved.message


def test_a_person_allows_or_refuses_each_drive_and_nobody_else_can_send_one(tmp_path: Path) -> None:
    with watched(tmp_path, CONFIRM, replies=(1,)) as graph:
        answer = graph.ask()
        opened = [i for i in graph.inquiries if i.open]
        assert answer.error is ErrorCode.NONE and answer.receipt.steps > 0 and len(opened) >= 2
        assert opened[0].text == "May I turn once on the spot (to see what is around)?"
        assert opened[1].text.startswith("May I drive ") and opened[1].options[0] == "yes"
        assert [i.reply for i in graph.inquiries if not i.open] == [1] * len(opened)
        moved = _sent(graph, "drive_to_pose")
        assert moved.code is NavCode.NOT_ALLOWED and "no person has allowed this drive" in moved.message
        with pytest.raises(EqaError, match="waits for a reply"):
            graph.runner.reply(opened[-1].id, 1)
        graph.shown.clear()
        answer = graph.ask(1, 2, 3)
        assert answer.error is ErrorCode.NONE and answer.receipt.metres == 0 and answer.receipt.steps > 0  # it turned
        texts = [i.text for i in graph.inquiries if i.open]
        assert len(texts) == len(set(texts)) == 3 and answer.message.count("a person said no") == 2


@pytest.mark.thorough
def test_without_a_reply_it_answers_from_what_it_knows(tmp_path: Path) -> None:
    with watched(tmp_path, CONFIRM, reply_s=0.5) as graph:
        answer = graph.ask()
        assert answer.error is ErrorCode.NONE and answer.receipt.steps == 0 and len(graph.inquiries) == 2
        assert answer.message.endswith("nobody replied in time")


@pytest.mark.parametrize("navigator", [DRY, pytest.param(CONFIRM, marks=pytest.mark.thorough)])
def test_an_agent_that_drives_at_will_is_held_by_the_navigator(tmp_path: Path, navigator: str) -> None:
    with watched(tmp_path, GO, navigator) as graph:
        answer = graph.ask()
        assert answer.error is ErrorCode.NONE and answer.receipt.steps == 0
        assert f"node.drive is {navigator}" in answer.message and not graph.inquiries


def _sent(graph: Watched, key: str) -> Any:
    """Send a goal as any program could, and return its result."""
    remotes: list[Any] = []
    with GraphClient(graph.runner.graph.environment, lambda node: remotes.append(Remotes(node).action(key))) as client:
        action = remotes[0]
        at = client.pose()
        goal = action.Goal(pose=convert.goal_msg(Pose2(at.x + 1.0, at.y, 0.0), 0)) if key == "drive_to_pose" else \
            action.Goal()
        result = _result(action.run(goal, WAIT_S))
        assert client.pose() == at
        action.close()
        return result
