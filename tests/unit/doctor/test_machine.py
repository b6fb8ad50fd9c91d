"""`eqa doctor` of a machine and a model: what is amiss is said with its remedy, and the key is never said."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.findings import Finding
from eqa_nodes.core.model import Message
from eqa_nodes.doctor import machine
from eqa_nodes.doctor.machine import _picture, judge_model
from eqa_nodes.models import make_backend
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.reply import wire
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion

KEY = "sk-nobody-may-read-this"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set."""
    for name in ("EQA_VLM_BASE_URL", "EQA_VLM_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY", "EQA_SCENES",
                 "EQA_HABITAT_PYTHON", "ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EQA_VLM_API_KEY", KEY)


def test_disk_is_told_in_hours(tmp_path: Path) -> None:
    assert "hours of 23.0 MB/s" in machine.disk(tmp_path).found
    full = machine.disk(tmp_path, 1e15)
    assert full.state == "warning" and "0.0 hours" in full.found and full.remedy
    nothing = machine.disk(tmp_path, 0.0).found
    assert nothing.endswith("GB free here: no message was received that a recording would store")


@pytest.mark.parametrize(("free_gb", "mb_s", "state"), [
    (2.01, 1.0, "ok"), (1.99, 1.0, "warning"), (9.1, 10.0, "ok"), (8.9, 10.0, "warning")])
def test_2_gb_and_a_quarter_of_an_hour_must_fit_on_the_disk(free_gb: float, mb_s: float, state: str, tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of an hour of 10 MB/s is 9 GB."""
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda folder: SimpleNamespace(free=int(free_gb * 1e9)))
    assert machine.disk(tmp_path, mb_s * 1e6).state == state


_LARGE = [wire(_picture(64))]


def _server(request: Mapping[str, Any], logprobs: bool = True, tiny: bool = True) -> ServerReply:
    """A model that sees red; logprobs, pictures of one pixel: whether it takes them."""
    if not tiny and len(json.dumps(request)) < len(json.dumps(_LARGE)):
        return ServerReply(b'{"error": {"message": "image too small"}}', 400)
    if not request.get("logprobs"):
        return completion("Red.")
    if not logprobs:
        return ServerReply(b'{"error": {"message": "no logprobs"}}', 400)
    top = [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -2.4}]
    return completion("A", logprobs={"content": [{**top[0], "top_logprobs": top}]})


def asked(server: VlmServer, **more: Any) -> list[Finding]:
    pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")
    return judge_model(ModelConfig(base_url=server.url, model="seer", **more))


def test_an_endpoint_is_asked_about_one_pixel() -> None:
    with VlmServer(_server) as server:
        model, choices = asked(server)
    assert (model.state, choices.state) == ("ok", "ok")
    assert "seer answers 'Red.' to a picture of 1x1 pixels" in model.found and "100 tokens in, 7 out" in model.found
    assert choices.found == "by logprobs" and len(server.requests) == 2
    assert "image_url" in json.dumps(server.requests[0])


def test_a_server_that_wants_larger_pictures_gets_one() -> None:
    with VlmServer(lambda request: _server(request, tiny=False)) as server:
        model, choices = asked(server)
    assert (model.state, choices.state) == ("ok", "ok") and "64x64 pixels" in model.found


@pytest.mark.parametrize("tiny", [True, False])
def test_a_server_without_logprobs_is_a_warning_and_costs_little(tiny: bool) -> None:
    with VlmServer(lambda request: _server(request, logprobs=False, tiny=tiny)) as server:
        model, choices = asked(server)
    assert (model.state, choices.state) == ("ok", "warning") and len(server.requests) <= 4
    assert "no logprobs" in choices.found and choices.remedy


@pytest.mark.parametrize(("replies", "words"), [
    ([ServerReply(json.dumps({"error": f"bad key {KEY}"}).encode(), 401)], "not authorised"),
    ([ServerReply(b"{}", 404)], "EQA_VLM_MODEL"), ([ServerReply(b"<html>", 200)], "")])
def test_a_server_that_refuses_is_an_error_and_the_key_is_not_told(replies: list[ServerReply], words: str) -> None:
    with VlmServer(replies) as server:
        (model,) = asked(server)
    assert model.state == "error" and words in model.found and model.remedy and KEY not in str(model)


def test_a_silent_answer_is_a_warning_and_a_dead_server_an_error() -> None:
    with VlmServer([completion("")]) as server:
        assert asked(server)[0].state == "warning"
    (dead,) = asked(server)
    assert dead.state == "error" and "cannot be reached" in dead.found


def test_scripts_and_cassettes_are_read_and_not_asked(tmp_path: Path) -> None:
    replies, tape = tmp_path / "replies.json", tmp_path / "tape.jsonl"
    replies.write_text('["red", "blue"]')
    (found,) = judge_model(ModelConfig(backend="scripted", model=str(replies)))
    assert found.state == "ok" and "2 replies" in found.found
    assert judge_model(ModelConfig(backend="scripted"))[0].state == "warning"
    assert judge_model(ModelConfig(backend="scripted", model="nowhere.json"))[0].state == "error"
    config = ModelConfig(backend="scripted", model=str(replies), cassette=str(tape))
    (empty,) = judge_model(config)
    assert empty.state == "ok" and "0 calls" in empty.found and not tape.exists()
    make_backend("scripted", model=str(replies), cassette=str(tape)).generate([Message("user", ("Hello",))])
    for mode in ("auto", "replay"):
        (found,) = judge_model(replace(config, cassette_mode=mode))
        assert found.state == "ok" and "1 calls" in found.found
    (lost,) = judge_model(ModelConfig(cassette=str(tmp_path / "none.jsonl"), cassette_mode="replay"))
    assert lost.state == "error" and "cassette_mode record" in lost.found


@pytest.mark.parametrize("strict", [False, True])
def test_lines_and_exit_codes(strict: bool, monkeypatch: pytest.MonkeyPatch,
                              capsys: pytest.CaptureFixture[str]) -> None:
    def line(state: str) -> Callable[[], Finding]:
        return lambda: Finding("made up", state, f"[{state}]", "" if state == "ok" else "mend it")

    words = ["doctor", *(["--strict"] if strict else [])]
    for state, code in (("ok", 0), ("warning", int(strict)), ("error", 1)):
        monkeypatch.setattr(machine, "CHECKS", (line(state),))
        monkeypatch.setattr("eqa_nodes.doctor.machine.judge_model", lambda config: [])
        assert main(words) == code
        printed = capsys.readouterr().out
        assert f"[{state}]" in printed and ("mend it" in printed) == (state != "ok")
        assert main([*words, "--json"]) == code
        assert json.loads(capsys.readouterr().out) == [line(state)()._asdict()]
