"""A local model behind `eqa serve`, and the whole graph in front of it."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from eqa_nodes.cli.serve import NEEDED
from eqa_nodes.core.errors import ErrorCode, ModelError
from eqa_nodes.core.model import Completion, Message
from eqa_nodes.core.types.questions import Limits, Question
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.runners.in_graph import GraphRunner
from tests.fixtures.courses import parameters
from tests.fixtures.tiny_models import jpeg, save_tiny

missing = [library for library in NEEDED if find_spec(library) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed: "
                                                      "pip install 'eqa-nodes[local,serve]'")
ASK = (Message("system", ("Look.",)), Message("user", ("Picture 1:", jpeg(), "What color is it?")))


class Served(NamedTuple):
    """A running `eqa serve` and the variables that it printed."""

    process: subprocess.Popen[str]
    variables: dict[str, str]


def _said(folder: Path | str) -> Completion:
    return open_model(ModelConfig("transformers", str(folder), dtype="float32")).generate(ASK, 12)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a tiny random model with more than a word to say; interrupted at the end, it must be gone."""
    root = tmp_path_factory.mktemp("served")
    folder = next(folder for seed in range(50) if _said(
        folder := save_tiny("smolvlm", root / f"tiny-{seed}", seed, brief=True)).tokens_out > 4)
    process = subprocess.Popen([sys.executable, "-m", "eqa_nodes.cli", "serve", str(folder), "--port", "0"],
                               stdout=subprocess.PIPE, text=True)
    late = threading.Timer(100.0, process.kill)
    late.start()
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline().split() for _ in range(3)]
        late.cancel()
        assert all(len(words) == 2 and words[0] == "export" for words in lines), "it did not come up"
        yield Served(process, dict(words[1].split("=", 1) for words in lines))
        process.send_signal(signal.SIGINT)
        assert process.wait(20.0) == 130
    finally:
        late.cancel()
        process.kill()
        process.wait()


@pytest.fixture
def pointed(served: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """Set the variables as the user is told to."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name, value in served.variables.items():
        monkeypatch.setenv(name, value)
    return served


@pytest.mark.parametrize("stream", [False, True])
def test_it_writes_what_the_model_writes(pointed: Served, stream: bool) -> None:
    """The same words as from the model itself; a stream leaves out the letter that is the end."""
    expected = _said(pointed.variables["EQA_VLM_MODEL"])
    with closing(open_model(ModelConfig(stream=stream))) as remote:
        found = remote.generate(ASK, 12)
        assert found[1:] == expected[1:] and len(found.text) > 2
        assert expected.text.startswith(found.text.strip()) if stream else found.text.strip() == expected.text
        with pytest.raises(ModelError, match="^wrong form.*answered twice"):
            remote.choose(ASK, ("red", "blue"))


def test_the_whole_graph_asks_it(pointed: Served, tmp_path: Path) -> None:
    """A random model talks rubbish, a named error after one more try; the graph goes on, and shows pictures."""
    extra = {"answerer": {"answerer": "vlm"}, "memory": {"labels": False}}
    with closing(GraphRunner(tmp_path, parameters(tmp_path, extra), Limits(steps=20))) as runner:
        blind = runner.run(Sample("plant", "Where is the plant?", "", scene="toy:flat", seed=3)).answer
        runner.client.reset("toy:flat", "again", None, 3)
        seeing = runner.client.ask(Question("Where is the plant?", may_explore=False))
    for answer in (blind, seeing):
        assert answer.error == ErrorCode.MODEL and "answered twice in another form" in answer.message
        assert answer.receipt.calls == 2 and answer.receipt.tokens_in > 100 and answer.receipt.tokens_out >= 2


def test_requests_end_with_their_clients(pointed: Served) -> None:
    """Eight clients ask for replies that would take hours, and leave: the next one is served."""
    address = urlsplit(pointed.variables["EQA_VLM_BASE_URL"])
    assert address.hostname and address.port
    model = pointed.variables["EQA_VLM_MODEL"]
    ends = json.loads((Path(model) / "generation_config.json").read_text())["eos_token_id"]
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Say more."}], "max_tokens": 10**8,
                       "logit_bias": dict.fromkeys(ends, -1e9)})
    for _ in range(8):
        client = HTTPConnection(address.hostname, address.port, timeout=60.0)
        client.request("POST", f"{address.path}/chat/completions", body, {"Content-Type": "application/json"})
        client.close()
    with closing(open_model(ModelConfig())) as remote:
        assert remote.generate(ASK, 12).tokens_out > 0


def test_a_model_that_cannot_be_loaded_ends_it(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "nonsense"}')
    done = subprocess.run([sys.executable, "-m", "eqa_nodes.cli", "serve", str(tmp_path), "--port", "0"], text=True,
                          capture_output=True, timeout=90)
    assert done.returncode == 2 and not done.stdout
    assert "has ended with code" in done.stderr and "processing classes" in done.stderr
