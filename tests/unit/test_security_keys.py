"""API keys are neither shown nor written, whatever the server does with them."""

from __future__ import annotations

import json
import zipfile
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from eqa_nodes.bench.report.page import write_report
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.cli import main
from eqa_nodes.config.graph import merged
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.model import Message
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models import make_backend
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.openai_chat import OpenAIChat
from eqa_nodes.models.transport import hidden
from eqa_nodes.runners.in_process import InProcessRunner
from eqa_nodes.testing.model_server import VlmServer
from tests.fixtures.key_search import ESCAPED, KEY, SERVERS, leaks, shows, telling

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")

SMALL = {"bridge": {"robot.camera.width": 160, "robot.camera.height": 120}}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The environment of a user who has a key."""
    for name, value in {"EQA_VLM_MODEL": "scripted", "EQA_VLM_API_KEY": KEY, "OPENAI_API_KEY": KEY}.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


@pytest.mark.parametrize("server", SERVERS)
def test_a_run_and_its_report_hold_no_key(server: str, tmp_path: Path, known: pytest.MonkeyPatch,
                                          capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    with VlmServer(SERVERS[server]) as endpoint:
        known.setenv("EQA_VLM_BASE_URL", endpoint.url)
        own = {"answerer": {"answerer": "vlm", "model.cassette": str(tmp_path / "cassette.jsonl"),
                            "model.max_retries": 0}}
        parameters = merged(None, SMALL, own, {"memory": {"folder": str(out / "memory")}})
        with closing(InProcessRunner(parameters, Limits(steps=14))) as runner:
            run_benchmark([Sample("q", "Where is the plant?", "there", scene="toy:flat")], runner, out,
                          config={"nodes": parameters})
        assert main(["bench", "score", str(out)]) == 0
        write_report(out)
        assert any(KEY in header.get("authorization", "") for header in endpoint.headers)  # it was really used
    assert leaks(tmp_path) == []
    said = capfd.readouterr()
    assert not shows(said.out + said.err)


@pytest.mark.parametrize("server", [
    pytest.param(server, marks=[] if server in ("refusing", "telling") else pytest.mark.thorough)
    for server in SERVERS])
def test_a_question_on_the_command_line_shows_no_key(server: str, tmp_path: Path, known: pytest.MonkeyPatch,
                                                     capfd: pytest.CaptureFixture[str]) -> None:
    with VlmServer(SERVERS[server]) as endpoint:
        known.setenv("EQA_VLM_BASE_URL", endpoint.url)
        code = main(["ask", "Where is the plant?", "--through", "process", "--scene", "toy:flat", "--answerer", "vlm",
                     "--image", "160x120", "--max-steps", "14", "--out", str(tmp_path / "run"),
                     "--evidence", str(tmp_path / "evidence"), "--cassette", str(tmp_path / "tape.jsonl")])
    assert code == (0 if server in ("telling", "escaping", "nesting") else 1)
    assert leaks(tmp_path) == []
    said = capfd.readouterr()
    assert not shows(said.out + said.err) and said.out


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY}é", f"{KEY}\x7f"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigError, match="EQA_VLM_API_KEY") as found:
        make_backend("openai", key, base_url="http://127.0.0.1:9/v1", model="m")
    assert not shows(str(found.value))


def test_the_line_break_of_a_file_is_no_part_of_a_key() -> None:
    with VlmServer(telling) as endpoint, closing(make_backend("openai", f" {KEY}\n", base_url=endpoint.url,
                                                              model="m")) as backend:
        assert not shows(backend.generate([Message("user", ("hello",))]).text)
        assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("url", [f"http://me:{KEY}@127.0.0.1/v1", "https://me:secret@host/v1", "http://host:port/v1"])
def test_a_base_url_with_a_password_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ConfigError, match="recorded|cannot be used") as found:
        make_backend("openai", "none", base_url=url, model="m")
    assert not shows(str(found.value)) and "secret" not in str(found.value)


def test_no_parameter_takes_a_key() -> None:
    from eqa_nodes.config.graph import merged
    from eqa_nodes.config.parameters import leaves

    names = [name for own in vars(merged(None).settings).values() for name, _ in leaves(own)]
    assert "model.base_url" in names
    assert not [name for name in names if "key" in name.split(".")[-1].split("_")]


def test_words_that_stand_in_for_a_key_stay_in_replies() -> None:
    assert hidden("none of them", "none") == "none of them"
    assert hidden(f"a {KEY} b", KEY) == "a ... b"


@pytest.mark.parametrize("written", [
    ESCAPED, ESCAPED.upper().replace("U", "u"), json.dumps(ESCAPED), json.dumps(json.dumps(ESCAPED)),
    KEY.replace("/", "\\/"), "".join(f"%{ord(c):02X}" for c in KEY), quote(KEY, safe=""),
    "".join(f"&#{ord(c)};" for c in KEY), "".join(f"&#x{ord(c):x};" for c in KEY), KEY[:9] + ESCAPED[54:]])
def test_a_key_is_found_in_the_escapes_of_json_html_and_urls(written: str) -> None:
    assert hidden(f"a {written} b", KEY).replace('"', "").replace("\\", "") == "a ... b"


def test_a_list_of_models_holds_no_key() -> None:
    with VlmServer(telling, models=(f"m-{KEY}",)) as endpoint, closing(
            OpenAIChat(ModelConfig(base_url=endpoint.url, model="m"), KEY)) as backend:
        assert backend.models() == ["m-..."]


def test_the_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    (tmp_path / "plain.log").write_text(f"Authorization: Bearer {KEY}")
    with zipfile.ZipFile(tmp_path / "packed.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.json", KEY * 10)
    (tmp_path / "clean.log").write_text("Bearer ...")
    assert [path.name for path in leaks(tmp_path)] == ["packed.zip", "plain.log"]
