"""Over the real graph: what a question means is asked back, with the rooms of the real memory as options."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from contextlib import closing
from pathlib import Path

import pytest

from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.types.inquiries import WHICH, Inquiry
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Limits, Question
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.runners.in_graph import GraphRunner
from tests.fixtures.courses import parameters

pytestmark = pytest.mark.timeout(600)
WAIT_S = 300.0
KETTLE = Sample("kettle", "Where is the kettle?", "", scene="house:1001", seed=4)


def test_rooms_of_memory_are_the_options_and_the_reply_is_what_is_answered(tmp_path: Path) -> None:
    inquiries, replies = list[Inquiry](), list[int]()
    closed, threads = threading.Event(), list[threading.Thread]()

    def hear(progress: Progress) -> None:
        inquiry = progress.inquiry
        if inquiry is None:
            return
        if not inquiry.open:
            closed.set()
            return
        inquiries.append(inquiry)
        threads.append(threading.Thread(target=runner.reply, args=(inquiry.id, replies[0])))
        threads[-1].start()

    own = parameters(tmp_path, {"agent": {"agent.ask_back": True, "agent.reply_s": WAIT_S}})
    runner = GraphRunner(tmp_path, own, Limits(steps=60), listener=hear)
    with closing(runner):
        runner.run(KETTLE)  # it looks round, and remembers rooms
        assert not inquiries
        client = runner.client
        client.reset(KETTLE.scene, "again", None, KETTLE.seed, keep_memory=True)
        replies[:] = [1]
        answer = client.ask(Question("Is the window in Pia's room open?", may_explore=False))
        named = {view.region for view in _remembered(runner)} - {""}
        (inquiry,) = inquiries
        assert inquiry.kind == WHICH and inquiry.text == "Which room is Pia's?" and closed.wait(WAIT_S)
        assert {option.removeprefix("the ") for option in inquiry.options[:-1]} <= named and len(named) >= 2
        assert answer.error is ErrorCode.NONE
        assert answer.message.startswith(f'"Pia\'s room" was understood as {inquiry.options[0]}')
        for thread in threads:
            thread.join(WAIT_S)


def _remembered(runner: GraphRunner) -> list[object]:
    from eqa_nodes.wire import messages

    found = runner.client.services["recall"].call(WAIT_S, limit=200)
    return [messages.keyframe_of(view) for view in found.keyframes]
