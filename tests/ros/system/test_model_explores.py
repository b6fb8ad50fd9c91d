"""A model behind a real HTTP server steers an exploration: in process and through the graph it is the same one."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import json
import re
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.running.runner import EpisodeResult, EpisodeRunner
from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.trace import destinations
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.runners.in_process import InProcessRunner
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion
from tests.ros.system.test_lockstep import course, parameters

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")

PLANT = Sample("model", "Where is the plant?", "", scene="toy:flat", seed=3)
EXTRA = {"answerer": {"answerer": "vlm"}, "memory": {"labels": False}, "explorer": {"policy": "best"}}


def model(request: dict[str, Any]) -> ServerReply:
    """Judge by the bytes of the pictures: arbitrary, but always the same, and other for other pictures."""
    prompt, parts = request["messages"][0]["content"], request["messages"][1]["content"]
    if '{"views"' in prompt:
        headings = [part["text"] for part in parts if part.get("text", "").startswith("Picture")]
        images = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        return completion(json.dumps({"views": [entry(*pair) for pair in zip(headings, images, strict=True)]}))
    if '"go_to"' in prompt:
        return completion(json.dumps(advice(parts)))
    if '{"regions"' in prompt:
        return completion('{"regions": {"living room": 0.9, "hallway": 0.4}}')
    return completion('{"answer": "", "confidence": 0.0, "images": [], "abstain": true}')


def entry(heading: str, image: str) -> dict[str, Any]:
    luck = zlib.crc32(image.encode())
    drawn = re.search("letters ([A-Z](?:, [A-Z])*)", heading)
    letters = drawn[1].split(", ") if drawn else []
    return {"image": int(heading.split()[1].rstrip(":")), "relevance": luck % 11 / 10, "enough": 0.0,
            "worth": luck % 7 / 6, "places": {a: (1 + luck // 3 ** i % 3) / 3 for i, a in enumerate(letters)},
            "target": letters[0] if letters and luck % 5 == 0 else "", "region": ("hallway", "living room")[luck % 2],
            "says": "", "note": "scripted"}


def advice(parts: list[dict[str, Any]]) -> dict[str, Any]:
    texts = " ".join(part["text"] for part in parts if "text" in part)
    numbers = sorted(set(map(int, re.findall(r"number (\d+) is", texts))))
    luck = zlib.crc32("".join(part["image_url"]["url"] for part in parts if part["type"] == "image_url").encode())
    room = ("hallway", "living room")[luck % 2]
    return {"reasons": "scripted", "answer": "", "missing": "the plant",
            "evidence": [{"picture": 1, "point": [0.5, 0.9]}],
            "go_to": [{"number": n, "chance": (1 + luck // 3 ** n % 7) / 8, "room": room} for n in numbers]}


def explored(runner: EpisodeRunner, server: VlmServer,
             sample: Sample = PLANT) -> tuple[EpisodeResult, list[dict[str, Any]]]:
    before = len(server.requests)
    with closing(runner):
        return runner.run(sample), server.requests[before:]


def test_a_model_explores_the_same_in_process_and_through_the_graph(tmp_path: Path,
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
    limits = Limits(steps=60, calls=5)
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
