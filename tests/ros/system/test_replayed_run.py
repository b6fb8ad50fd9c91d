"""A scored run whose model was recorded plays back without the model: the same bytes, but for the seconds it took."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import json
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.judges.marking import open_judge
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.running.predictions import PREDICTIONS, read_predictions
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.runners.in_process import InProcessRunner
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion
from tests.fixtures.courses import parameters
from tests.fixtures.exploring_model import EXTRA, model

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")

SAMPLES = [Sample("plant", "Where is the plant?", "in the corner", scene="toy:flat", seed=3),
           Sample("sofa", "What color is the sofa in the living room?", "gray", scene="house:7", seed=4),
           Sample("refused", "Where is the safe?", "in the study", scene="toy:flat", seed=3)]


def mood(request: dict[str, Any]) -> ServerReply:
    """Judge pictures, answer what was seen, guess blind, and refuse one question."""
    said = str(request["messages"][1])
    if "safe" in said:
        return completion(None, "content_filter", tokens=(50, 0))
    reply = model(request)
    if b'abstain' not in reply.body:
        return reply
    return completion('{"answer": "gray", "confidence": 0.7, "images": [1], "abstain": false}')


def timeless(value: Any) -> Any:
    """Return parsed JSON without what is named "seconds"."""
    if isinstance(value, dict):
        return {name: timeless(item) for name, item in value.items() if name != "seconds"}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def run(folder: Path, tape: Path, mode: str) -> tuple[bytes, Any]:
    """Run and score; return the bytes of the predictions and the scores, with every number of seconds cut out."""
    extra = {**EXTRA, "answerer": {"answerer": "vlm", "model.model": "scripted", "model.price_in": 2.0,
                                   "model.cassette": str(tape), "model.cassette_mode": mode}}
    with closing(InProcessRunner(parameters(folder, extra), Limits(steps=25))) as runner:
        assert run_benchmark(SAMPLES, runner, folder, dataset="t").exit_code == 0
    score_run(folder, open_judge())
    return (re.sub(rb'"seconds":[\d.e-]+', b'"seconds":_', (folder / PREDICTIONS).read_bytes()),
            timeless(json.loads((folder / "scores.json").read_bytes())))


def test_a_scored_run_plays_back_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with VlmServer(mood) as server:
        for name, value in {"BASE_URL": server.url, "API_KEY": "none"}.items():
            monkeypatch.setenv(f"EQA_VLM_{name}", value)
        made = run(tmp_path / "made", tmp_path / "tape.jsonl", "record")
        asked = len(server.requests)
    for name in ("BASE_URL", "API_KEY"):
        monkeypatch.delenv(f"EQA_VLM_{name}")
    before = (tmp_path / "tape.jsonl").read_bytes()
    assert run(tmp_path / "played", tmp_path / "tape.jsonl", "replay") == made
    assert (tmp_path / "tape.jsonl").read_bytes() == before and asked == before.count(b"\n") > 5
    found = read_predictions(tmp_path / "played").predictions
    assert found["refused"].answer.error is ErrorCode.MODEL and found["refused"].answer.receipt.tokens_in == 50
    assert found["sofa"].answer.receipt.calls > 0 and found["sofa"].blind is not None
    receipts = [replace(prediction.answer.receipt, seconds=0.0) for prediction in found.values()]
    assert receipts == [replace(p.answer.receipt, seconds=0.0)
                        for p in read_predictions(tmp_path / "made").predictions.values()]
