"""What a user can mend is said in one line, before anything starts: models, libraries, folders, files, scenes."""

from __future__ import annotations

import errno
import io
import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from eqa_nodes.bench.running.predictions import HOPELESS
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.cli import main
from eqa_nodes.cli.failures import in_one_line
from eqa_nodes.core.errors import EqaError, ModelError
from eqa_nodes.core.storage import checks
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.openai_chat import OpenAIChat
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion
from tests.fixtures.synthetic_run import make_run, plain

VARIABLES = ("EQA_VLM_BASE_URL", "EQA_VLM_MODEL", "EQA_VLM_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY")
SMALL = ("--through", "process", "--image", "64x48", "--max-steps", "4")
REFUSED = ServerReply(b'{"error": {"message": "Incorrect API key provided"}}', 401)
UNKNOWN = ServerReply(b'{"error": {"message": "The model does not exist"}}', 404)
MODEL_VERBS = {  # each asks a model
    "ask": ("ask", "Where is the sofa?", "--scene", "toy:flat", "--answerer", "vlm", *SMALL),
    "graph": ("ask", "Where is the sofa?", "--scene", "toy:flat", "--answerer", "vlm"),
    "run": ("bench", "run", "--questions", "1", "--split", "train", "--answerer", "vlm", *SMALL),
    "workers": ("bench", "run", "--questions", "2", "--split", "train", "--workers", "2", "--answerer", "vlm", *SMALL),
    "tasks": ("bench", "tasks", "--questions", "1", "--agent", "model"),
    "generate": ("generate", "express", "--count", "1", "--generator", "model"),
    "score": ("bench", "score", "run", "--judge", "llm-match"),
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, without any setting of a model."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command line that must be refused; return its one line. Skip where it would start a graph without ROS."""
    if words[0] in ("ask", "console") and not {"--through", "--history"} & set(words) and find_spec("rclpy") is None:
        pytest.skip("rclpy is absent: pip install 'eqa-nodes[ros]', or source a ROS distribution")
    capfd.readouterr()
    assert main(words) == 2
    out, err = capfd.readouterr()
    assert err.startswith("eqa: ") and err.count("\n") == 1, err
    assert "Traceback" not in out + err
    return err


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[VlmServer]:
    """A server that refuses everybody, and the variables that lead to it."""
    with VlmServer([REFUSED]) as server:
        monkeypatch.setenv("EQA_VLM_BASE_URL", server.url)
        monkeypatch.setenv("EQA_VLM_MODEL", "scripted")
        monkeypatch.setenv("EQA_VLM_API_KEY", "key-1234")
        yield server


@pytest.mark.parametrize("verb", MODEL_VERBS)
def test_a_missing_setting_of_the_model_is_named_first(verb: str, place: Path, monkeypatch: pytest.MonkeyPatch,
                                                       capfd: pytest.CaptureFixture[str]) -> None:
    make_run(place / "run")
    before = sorted(place.rglob("*"))
    for name in VARIABLES[:3]:
        assert name in refused(capfd, *MODEL_VERBS[verb])
        monkeypatch.setenv(name, "http://127.0.0.1:1/v1" if name == "EQA_VLM_BASE_URL" else "word")
    assert [path for path in place.rglob("*") if path not in before and path.suffix != ".jsonl"] == []


@pytest.mark.parametrize("verb", MODEL_VERBS)
def test_a_key_that_is_refused_ends_it_before_anything_starts(verb: str, place: Path, endpoint: VlmServer,
                                                              capfd: pytest.CaptureFixture[str]) -> None:
    run_benchmark(*plain(HOPELESS, "a mug"), place / "run")
    assert "not authorised (EQA_VLM_API_KEY)" in refused(capfd, *MODEL_VERBS[verb])
    assert not (place / "runs").exists() and all("image_url" not in str(sent) for sent in endpoint.requests)


def test_an_endpoint_that_nobody_serves_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with VlmServer([completion("ready")]) as server:
        url = server.url
    monkeypatch.setenv("EQA_VLM_API_KEY", "key")
    with pytest.raises(ModelError, match=f"no connection: {re.escape(url)}"):
        OpenAIChat.check(ModelConfig(base_url=url, model="scripted"))


def test_a_model_that_the_server_does_not_know_is_named_with_those_it_has() -> None:
    with VlmServer([UNKNOWN], models=("llava", "qwen")) as server:
        with pytest.raises(ModelError, match="not found .*EQA_VLM_MODEL.* it has llava, qwen"):
            OpenAIChat.check(ModelConfig(base_url=server.url, model="lava"), )
        assert len(server.requests) == 1


@pytest.fixture(autouse=True)
def key(place: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Set a key for those tests that call no verb."""
    if "capfd" not in request.fixturenames:
        monkeypatch.setenv("EQA_VLM_API_KEY", "key")


def test_a_listed_model_is_not_asked_and_an_alias_or_a_missing_list_costs_one_word() -> None:
    for models, requests in ((("scripted",), 0), (("scripted:latest",), 1), (None, 1)):
        with VlmServer([completion("ready")], models=models) as server:
            OpenAIChat.check(ModelConfig(base_url=server.url, model="scripted", budget_calls=1))
            assert len(server.requests) == requests
            assert all("image_url" not in str(request) for request in server.requests)


def test_a_busy_server_is_no_reason_to_refuse() -> None:
    for reply in (ServerReply(b"{}", 429), ServerReply(b"oops", 500), completion(None)):
        with VlmServer([reply], models=None) as server:
            OpenAIChat.check(ModelConfig(base_url=server.url, model="scripted"))


def test_a_judge_that_fails_at_every_answer_ends_early(place: Path, monkeypatch: pytest.MonkeyPatch,
                                                       capfd: pytest.CaptureFixture[str]) -> None:
    asked, runner = plain(20, "a mug")
    run_benchmark(asked, runner, place / "run")
    with VlmServer([ServerReply(b"{}", 400)]) as server:
        monkeypatch.setenv("EQA_VLM_BASE_URL", server.url)
        monkeypatch.setenv("EQA_VLM_MODEL", "scripted")
        monkeypatch.setenv("EQA_VLM_API_KEY", "key")
        line = refused(capfd, "bench", "score", "run", "--judge", "llm-match", "--judge-threads", "1")
        assert f"each of the first {HOPELESS} answers" in line and len(server.requests) < 10


BAD_FOLDERS = ("/proc/none/x", "file", "file/x", "/dev/null")
WRITING = {
    "ask": ("ask", "Where is the sofa?", "--scene", "toy:flat", *SMALL, "--out"),
    "graph": ("ask", "Where is the sofa?", "--scene", "toy:flat", "--out"),
    "evidence": ("ask", "Where is the sofa?", "--scene", "toy:flat", *SMALL, "--evidence"),
    "demo": ("demo", "--out"), "console": ("console", "--out"),
    "run": ("bench", "run", "--questions", "1", *SMALL, "--out"),
    "em": ("bench", "run", "--questions", "1", "--task", "em", "--cache"),
    "tasks": ("bench", "tasks", "--questions", "1", "--out"), "write": ("bench", "tasks", "--write"),
    "human": ("bench", "human", "--questions", "1", "--out"),
    "explore": ("bench", "explore", "--questions", "1", "--out"),
    "calibrate": ("bench", "calibrate", "--questions", "1", "--out"),
    "perception": ("bench", "perception", "--detector", "labels", "--save"), "learn": ("learn", "perceiver", "--out"),
    "generate": ("generate", "express", "--count", "1", "--out"),
    "replay": ("replay", "file", "--out"), "record": ("record", "/tf", "--out"),
    "history": ("history", "record", "house:3"), "export": ("history", "export", "file"),
}


@pytest.mark.parametrize("verb", WRITING)
def test_a_folder_that_cannot_be_written_is_named_before_anything_starts(verb: str, place: Path,
                                                                         capfd: pytest.CaptureFixture[str]) -> None:
    (place / "file").write_text("")
    for folder in BAD_FOLDERS:
        assert f"{folder} cannot be written to (" in refused(capfd, *WRITING[verb], folder)
    assert sorted(place.iterdir()) == [place / "file"]


@pytest.mark.parametrize("words", [
    ("bench", "compare", "a", "b", "--json"), ("bench", "compare", "a", "b", "--markdown"),
    ("bench", "run", "--questions", "1", "--dry-run", "--json"), ("bench", "mark-page", "run", "--page"),
    ("history", "video", "absent")])
def test_a_file_that_cannot_be_written_is_named_before_anything_starts(words: tuple[str, ...], place: Path,
                                                                       capfd: pytest.CaptureFixture[str]) -> None:
    (place / "folder").mkdir()
    (place / "file").write_text("")
    for file in ("/proc/none/x", "file/x", "folder"):
        assert "cannot be written to (" in refused(capfd, *words, file)


def test_a_full_disk_is_found_before_anything_starts(place: Path, monkeypatch: pytest.MonkeyPatch,
                                                     capfd: pytest.CaptureFixture[str]) -> None:
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(checks.tempfile, "TemporaryFile", lambda **options: Full())
    assert "No space left" in refused(capfd, *WRITING["run"], "out")


def test_a_try_leaves_nothing_behind(place: Path) -> None:
    (place / "kept").mkdir()
    for folder in ("a/b/c", "kept", "kept/d"):
        checks.check_folder(place / folder)
    checks.check_file(place / "e" / "file")
    assert sorted(place.rglob("*")) == [place / "kept"]


def test_what_the_file_system_refuses_later_is_one_line_too(place: Path, monkeypatch: pytest.MonkeyPatch,
                                                            capfd: pytest.CaptureFixture[str]) -> None:
    asked, runner = plain(1)
    run_benchmark(asked, runner, place / "run")
    (place / "run" / "scores.json.part").mkdir()  # as good as a folder that became read-only
    assert "scores.json.part: Is a directory" in refused(capfd, "bench", "score", "run")


def test_a_fault_of_the_program_keeps_its_traceback() -> None:
    for fault in (ValueError("x"), ModuleNotFoundError("x", name="eqa_nodes.absent"), OSError("no file")):
        assert in_one_line(fault) is None
    assert in_one_line(EqaError("x")) == "x"
    assert in_one_line(ModuleNotFoundError("x", name="nobody.knows")) == "nobody is not installed: pip install nobody"


@pytest.mark.parametrize(("words", "complaint"), [
    (("ask", "Where is it?", "--scene", "castle:1"), "castle:1"),
    (("ask", "Where is it?", "--scene", "house:77777"), "house:77777"),
    (("ask", "Where is it?", "--scene", "mesh:absent.glb"), "absent.glb"),
    (("console", "--scene", "castle:1", "--port", "0"), "castle:1"),
    (("bench", "run", "--dataset", "express", "--data", "absent"), "absent"),
    (("bench", "run", "--dataset", "hm-eqa"), "EQA_DATA"),
    (("ask", "Where is it?", "--history", "absent"), "absent"), (("replay", "absent"), "absent"),
    (("ask", "Where is it?", "--params", "absent.yaml", *SMALL), "absent.yaml"),
    (("generate", "express", "--scene", "castle:1"), "castle:1"), (("generate", "finish", "absent", "--verdicts", "x"),
                                                                   "absent")])
def test_what_is_not_there_is_named_before_a_graph_starts(words: tuple[str, ...], complaint: str, place: Path,
                                                          monkeypatch: pytest.MonkeyPatch,
                                                          capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("EQA_DATA", raising=False)
    assert complaint in refused(capfd, *words)
    assert list(place.rglob("*.log")) == []
