"""Through the graph as in process: an answerer says beforehand what it does not understand."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from types import SimpleNamespace
from typing import Any

from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.types.questions import Question
from eqa_nodes.nodes.answerer import AnswererNode
from eqa_nodes.ros.ports import RosAnswerer
from eqa_nodes.ros.remote import Remotes

WAIT_S = 60.0


def test_the_agent_hears_before_it_moves_that_a_question_is_not_understood(ros: Any) -> None:
    ros.add(AnswererNode)
    config = SimpleNamespace(node=SimpleNamespace(call_deadline_s=WAIT_S), model_deadline_s=WAIT_S)
    agent: Any = SimpleNamespace(remote=Remotes(ros.plain("agent")).service, config=config)
    answerer = RosAnswerer(agent)
    assert answerer.why_unanswerable(Question("sofa")) == understand("sofa").refusal
    assert not answerer.why_unanswerable(Question("Where is the sofa?"))
    assert answerer.spent().calls == 0
    assert answerer.assess(Question("Where is the sofa?"), []) == []
