"""A model behind a real HTTP server steers an exploration: in process and through the graph it is the same one."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from pathlib import Path

import pytest

from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.samples import EpisodeResult
from eqa_nodes.core.types.trace import destinations
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.runners.in_process import InProcessRunner
from eqa_nodes.testing.model_server import VlmServer
from tests.fixtures.courses import course, parameters
from tests.fixtures.exploring_model import EXTRA, explored, model

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")


@pytest.mark.thorough
def test_a_model_that_judges_views_explores_the_same_in_process_and_through_the_graph(tmp_path: Path,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    limits, extra = Limits(steps=40), {**EXTRA, "agent": {"agent.consult": False}}
    with VlmServer(model) as server:
        for name, value in {"BASE_URL": server.url, "MODEL": "scripted", "API_KEY": "none"}.items():
            monkeypatch.setenv(f"EQA_VLM_{name}", value)
        here, asked = explored(InProcessRunner(parameters(tmp_path / "here", extra), limits), server)
        there, asked_there = explored(GraphRunner(tmp_path / "there", parameters(tmp_path / "there", extra), limits),
                                      server)
    assert course(here) == course(there)
    assert asked == asked_there
    assert len(here.trace.decisions) > 1 and here.answer.receipt.calls == len(asked) > 3
    texts = [str(part["text"]) for body in asked for part in body["messages"][1]["content"] if "text" in part]
    assert any("letters A" in text for text in texts)


def test_one_call_a_decision_is_the_same_in_process_and_through_the_graph(tmp_path: Path,
                                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(steps=40, calls=5)
    with VlmServer(model) as server:
        for name, value in {"BASE_URL": server.url, "MODEL": "scripted", "API_KEY": "none"}.items():
            monkeypatch.setenv(f"EQA_VLM_{name}", value)
        here, asked = explored(InProcessRunner(parameters(tmp_path / "here", EXTRA), limits), server)
        there, asked_there = explored(GraphRunner(tmp_path / "there", parameters(tmp_path / "there", EXTRA), limits),
                                      server)
    assert course(here) == course(there)
    assert asked == asked_there and len(here.trace.decisions) > 1
    prompts = [body["messages"][0]["content"] for body in asked]
    assert all('"go_to"' in prompt for prompt in prompts[:-1]) and len(asked) <= 5
    texts = [str(part["text"]) for body in asked for part in body["messages"][1]["content"] if "text" in part]
    assert any("number 1 is" in text for text in texts) and any("You said before: scripted" in text for text in texts)
    assert timeless(here) == timeless(there) and len(here.trace.calls) == len(asked)
    assert all(call.kind == "decide" and call.reasons == "scripted" for call in here.trace.calls[:-1])
    assert any(p.marks for p in here.trace.calls[0].pictures) and any(p.points for p in here.trace.calls[0].pictures)
    went = destinations(here.trace)
    assert went[0] is not None and went[0].option and went == destinations(there.trace)


def timeless(result: EpisodeResult) -> list[ModelCall]:
    """Return the calls without what differs from run to run."""
    return [call._replace(seconds=0.0) for call in result.trace.calls]
