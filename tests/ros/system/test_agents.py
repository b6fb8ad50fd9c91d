"""A named agent explores first and answers the same in process and through the graph."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.runners.in_process import InProcessRunner
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion
from eqa_nodes.testing.talkative import ANSWER
from tests.fixtures.courses import course
from tests.fixtures.exploring_model import explored

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")

PLANT = Sample("plant", "Where is the plant?", "", scene="toy:flat", seed=3)


def model(request: dict[str, Any]) -> ServerReply:
    """Describe a picture by its size; answer from the last one."""
    prompt, content = request["messages"][0]["content"], request["messages"][1]["content"]
    if prompt.startswith("You describe"):
        return completion(f"seen in {sum(len(json.dumps(part)) for part in content)} bytes")
    return completion(json.dumps(ANSWER))


@pytest.mark.parametrize("name", ["socratic-graph", pytest.param("blind", marks=pytest.mark.thorough)])
def test_an_agent_is_the_same_in_process_and_through_the_graph(name: str, tmp_path: Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    limits, config = Limits(steps=30), RunConfig(agent=name, image="160x120")
    with VlmServer(model) as server:
        for key, value in {"BASE_URL": server.url, "MODEL": "scripted", "API_KEY": "none"}.items():
            monkeypatch.setenv(f"EQA_VLM_{key}", value)
        in_process = InProcessRunner(replace(config, folder=tmp_path / "here").parameters, limits)
        here, asked = explored(in_process, server, PLANT)
        graph = GraphRunner(tmp_path / "there", replace(config, folder=tmp_path / "there").parameters, limits)
        there, asked_there = explored(graph, server, PLANT)
    assert course(here) == course(there)
    assert asked == asked_there and here.answer.receipt.calls == len(asked) > 0
    assert [e.note for e in here.answer.evidence] == [e.note for e in there.answer.evidence]
    assert (here.answer.receipt.steps > 0) == (name != "blind") == bool(here.answer.evidence)
    assert here.answer.receipt.privileged == there.answer.receipt.privileged
