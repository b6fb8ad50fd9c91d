"""Over the graph: parameter files, logs of nodes, memories and bags hold no key either."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from contextlib import closing
from pathlib import Path

import pytest

from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.testing.model_server import VlmServer
from tests.fixtures.courses import parameters
from tests.fixtures.key_search import KEY, SERVERS, leaks, shows

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")


def test_what_a_graph_writes_holds_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                          capfd: pytest.CaptureFixture[str]) -> None:
    with VlmServer(SERVERS["refusing"]) as free:
        port = int(free.url.rsplit(":", 1)[1].partition("/")[0])
    for name, value in {"BASE_URL": free.url, "MODEL": "scripted", "API_KEY": KEY}.items():
        monkeypatch.setenv(f"EQA_VLM_{name}", value)
    own = {"answerer": {"answerer": "vlm", "model.max_retries": 0, "model.cassette": str(tmp_path / "tape.jsonl")},
           "memory": {"labels": False}}
    with closing(GraphRunner(tmp_path, parameters(tmp_path, own), Limits(steps=14))) as runner:
        for server in ("refusing", "telling"):
            with VlmServer(SERVERS[server], port) as endpoint:
                answer = runner.run(Sample(server, "Where is the plant?", "", scene="toy:flat")).answer
            assert any(KEY in header.get("authorization", "") for header in endpoint.headers)
            assert (answer.error != 0) == (server == "refusing") and not shows(str(answer))
        written = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert {".yaml", ".mcap", ".sqlite", ".log", ".jsonl"} <= written
    assert leaks(tmp_path) == []
    said = capfd.readouterr()
    assert not shows(said.out + said.err)
