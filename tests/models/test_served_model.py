"""A local model behind `transformers serve`, and the whole graph in front of it."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from eqa_nodes.core.errors import ErrorCode, ModelError
from eqa_nodes.core.model import Completion, Message
from eqa_nodes.core.types.questions import Limits, Question
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.testing.waiting import until
from tests.fixtures.courses import parameters
from tests.fixtures.tiny_models import jpeg, save_tiny

missing = [library for library in ("torch", "transformers", "accelerate", "fastapi", "uvicorn", "openai")
           if find_spec(library) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed: "
                                                      "pip install 'transformers[serving]'")
ASK = (Message("system", ("Look.",)), Message("user", ("Picture 1:", jpeg(), "What color is it?")))
LOADING_S = 100.0


def _said(folder: Path | str) -> Completion:
    return open_model(ModelConfig("transformers", str(folder), dtype="float32")).generate(ASK, 12)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Serve a tiny random model that replies more than one word; yield the URL and the folder of the model."""
    root = tmp_path_factory.mktemp("served")
    folder = next(folder for seed in range(50) if _said(
        folder := save_tiny("smolvlm", root / f"tiny-{seed}", seed, brief=True)).tokens_out > 4)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder), "--host", "127.0.0.1",
             "--port", str(port), "--device", "cpu", "--dtype", "auto"]
    process = subprocess.Popen(words, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def healthy() -> bool:
        assert process.poll() is None, "the server ended while it was loading the model"
        try:
            with direct.open(f"http://127.0.0.1:{port}/health", timeout=5.0):
                return True
        except OSError:
            return False

    try:
        until(healthy, within_s=LOADING_S)
        yield f"http://127.0.0.1:{port}/v1", str(folder)
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def model(served: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the variables of docs/models.md, and return the name of the model."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name, value in zip(("BASE_URL", "MODEL", "API_KEY"), (*served, "none"), strict=True):
        monkeypatch.setenv(f"EQA_VLM_{name}", value)
    return served[1]


def test_it_writes_what_the_model_writes(model: str) -> None:
    expected = _said(model)
    with closing(open_model(ModelConfig())) as remote:
        found = remote.generate(ASK, 12)
        assert found[1:] == expected[1:] and len(found.text) > 2 and found.text.strip() == expected.text
        with pytest.raises(ModelError, match="^wrong form.*answered twice"):
            remote.choose(ASK, ("red", "blue"))


def test_the_whole_graph_asks_it(model: str, tmp_path: Path) -> None:
    """A random model replies nonsense: a named error after one more try, also with pictures; of two questions that a
    small model is asked instead, too.
    """
    extra = {"answerer": {"answerer": "vlm"}, "memory": {"labels": False}}
    with closing(GraphRunner(tmp_path, parameters(tmp_path, extra), Limits(steps=20))) as runner:
        blind = runner.run(Sample("plant", "Where is the plant?", "", scene="toy:flat", seed=3)).answer
        runner.client.reset("toy:flat", "again", None, 3)
        seeing = runner.client.ask(Question("Where is the plant?", may_explore=False))
    for answer in (blind, seeing):
        assert answer.error == ErrorCode.MODEL and "answered twice in another form" in answer.message
        assert answer.receipt.tokens_in > 100 and answer.receipt.tokens_out >= 2
    assert (blind.receipt.calls, seeing.receipt.calls) == (4, 2)
