"""Through the graph as in process: an answerer says beforehand what it does not understand."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.types.questions import Question
from eqa_nodes.nodes.answerer import AnswererNode
from eqa_nodes.ros.ports import RosAnswerer
from eqa_nodes.ros.remote import Remotes
from tests.fixtures.briefs import QUESTION, brief

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


def test_what_a_model_names_although_it_was_not_shown_is_counted(ros: Any, tmp_path: Path) -> None:
    script = tmp_path / "replies.json"
    script.write_text(json.dumps([json.dumps({"reasons": "A door.", "go_to": [{"number": 9, "chance": 0.5}],
                                              "zoom": {"picture": 7, "box": [0.1, 0.1, 0.5, 0.5]}})]))
    node = ros.add(AnswererNode, answerer="vlm", model__backend="scripted", model__model=str(script))
    config = SimpleNamespace(node=SimpleNamespace(call_deadline_s=WAIT_S), model_deadline_s=WAIT_S)
    agent: Any = SimpleNamespace(remote=Remotes(ros.plain("agent")).service, config=config)
    answerer = RosAnswerer(agent)
    said = answerer.advise(QUESTION, brief())
    assert answerer.spent().calls == 1
    assert "(There was no number 9.)" in said.reasons
    assert {**node.counts} == {f"the model named a {what} that was not shown": 1
                               for what in ("part of a picture", "number")}
