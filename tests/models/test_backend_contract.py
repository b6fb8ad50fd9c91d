"""What every model backend promises: a server, a script, a cassette, a local model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.core.errors import BudgetSpent, ModelError
from eqa_nodes.core.model import TEXT, Backend, Choice, Message, an_object, ask_json, generate_many, images_in
from eqa_nodes.core.types.costs import Usage
from eqa_nodes.models import open_model
from eqa_nodes.models.cassette import Cassette
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.scripted import ScriptedBackend
from eqa_nodes.testing.model_server import VlmServer, completion
from tests.fixtures.tiny_models import jpeg, save_tiny

ASK = (Message("system", ("Look.",)), Message("user", ("Picture 1:", jpeg(), "What color is the sofa?")))
MENU = ("red", "blue", "green")
STATED = Choice((0.5, 0.25, 0.25), "verbalised")
Opener = Callable[..., Backend]


def _server(exit_stack: ExitStack, folder: Path, **options: Any) -> Backend:
    """The server states probabilities where the options stand in the question, else it writes a word."""
    def reply(request: dict[str, Any]) -> Any:
        stated = '{"option_1": 0.5, "option_2": 0.25, "option_3": 0.25}'
        text = stated if "option_1" in str(request["messages"][-1]) else "red"
        return completion(text)

    server = exit_stack.enter_context(VlmServer(reply))
    return open_model(ModelConfig(base_url=server.url, model="m", logprobs=False, **options), "key")


class _Player(ScriptedBackend):
    """A script that answers each kind of call."""

    def __init__(self, **options: Any) -> None:
        super().__init__(["red"] * 99, config=ModelConfig(**options))

    def choose(self, messages: Any, options: Any, seed: int = 0) -> Choice:
        self._replies = [STATED] * 99
        try:
            return super().choose(messages, options, seed)
        finally:
            self._replies = ["red"] * 99


def _scripted(exit_stack: ExitStack, folder: Path, **options: Any) -> Backend:
    return _Player(**options)


def _recording(exit_stack: ExitStack, folder: Path, **options: Any) -> Backend:
    config = ModelConfig(cassette=str(folder / "tape.jsonl"), cassette_mode="record", model="scripted", **options)
    return Cassette(config, lambda: _Player())


def _replaying(exit_stack: ExitStack, folder: Path, **options: Any) -> Backend:
    """What the tests below ask is recorded before."""
    tape = _recording(exit_stack, folder)
    tape.generate(ASK, 8)
    generate_many(tape, [ASK, ASK[1:]], 8)
    tape.choose(ASK, MENU)
    with pytest.raises(ModelError):
        ask_json(tape, ASK, dict, 8)
    config = ModelConfig(cassette=str(folder / "tape.jsonl"), cassette_mode="replay", **options)
    return Cassette(config, lambda: pytest.fail("a replay opened the model"))


def _local(exit_stack: ExitStack, folder: Path, **options: Any) -> Backend:
    if find_spec("torch") is None or find_spec("transformers") is None:
        pytest.skip("torch or transformers are not installed: pip install 'eqa-nodes[local]'")
    model = save_tiny("smolvlm", folder / "tiny")
    return open_model(ModelConfig("transformers", str(model), dtype="float32", **options))  # bfloat16 rounds by batch


OPENERS: dict[str, Callable[..., Backend]] = {
    "openai": _server, "scripted": _scripted, "recording": _recording,
    "replaying": _replaying, "transformers": _local}


@pytest.fixture(params=OPENERS)
def opened(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opener]:
    """Return a function that opens the backend with fields of ModelConfig; it is closed at the end, twice."""
    if request.param.startswith("openai"):
        pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ExitStack() as exit_stack:
        def make(**options: Any) -> Backend:
            backend = OPENERS[request.param](exit_stack, tmp_path, **options)
            exit_stack.callback(backend.close)
            exit_stack.callback(backend.close)
            return backend
        yield make


def test_a_turn_is_text_with_what_it_cost(opened: Opener) -> None:
    backend = opened()
    assert backend.model and backend.usage == Usage()
    done = backend.generate(ASK, max_tokens=8)
    assert isinstance(done.text, str) and done.finish_reason in ("stop", "length")
    assert done.tokens_in > 0 < done.tokens_out
    assert backend.usage == Usage(1, done.tokens_in, done.tokens_out, images=images_in(ASK))


def test_a_schema_is_a_help_that_may_be_ignored(opened: Opener) -> None:
    backend = opened()
    plain = backend.generate(ASK, 8)
    assert type(backend.generate(ASK, 8, 0, an_object(answer=TEXT))) is type(plain)


def test_the_same_request_gets_the_same_reply(opened: Opener) -> None:
    backend = opened()
    assert backend.generate(ASK, 8, seed=0) == backend.generate(ASK, 8, seed=0)


def test_a_choice_is_a_probability_for_each_option(opened: Opener) -> None:
    backend = opened()
    choice = backend.choose(ASK, MENU)
    assert len(choice.probabilities) == 3 and sum(choice.probabilities) == pytest.approx(1.0)
    assert min(choice.probabilities) >= 0.0 and choice.how in ("logits", "logprobs", "verbalised")
    assert backend.choose(ASK, MENU) == choice


@pytest.mark.parametrize("count", [0, 1, 27])
def test_a_choice_of_too_few_or_too_many_options(opened: Opener, count: int) -> None:
    with pytest.raises(ModelError):
        opened().choose(ASK, ["x"] * count)


def test_usage_is_a_copy(opened: Opener) -> None:
    backend = opened()
    before = backend.usage
    backend.generate(ASK, 8)
    assert before == Usage() != backend.usage


def test_a_budget_of_calls_ends_before_a_call(opened: Opener) -> None:
    backend = opened(budget_calls=1)
    backend.generate(ASK, 8)
    for ask in (lambda: backend.generate(ASK, 8), lambda: backend.choose(ASK, MENU)):
        with pytest.raises(BudgetSpent, match="1 model calls"):
            ask()
    assert backend.usage.calls == 1


def test_a_budget_of_money_ends_before_a_call(opened: Opener) -> None:
    free = opened(price_in=2.0, price_out=4.0)
    done = free.generate(ASK, 8)
    assert free.usage.money == pytest.approx((2.0 * done.tokens_in + 4.0 * done.tokens_out) / 1e6)
    backend = opened(price_in=2.0, price_out=4.0, budget_money=1e-6)
    with pytest.raises(BudgetSpent, match="budget of 1e-06 .*does not cover another call"):
        backend.generate(ASK, 8)
    assert backend.usage.money == 0.0


def test_a_wrong_form_has_a_name_after_one_more_try(opened: Opener) -> None:
    backend = opened()
    with pytest.raises(ModelError, match="^wrong form.*answered twice"):
        ask_json(backend, ASK, dict, 8)
    assert backend.usage.calls == 2


def test_many_turns_are_those_of_one_by_one(opened: Opener) -> None:
    one, many = opened(), opened()
    expected = [one.generate(ASK, 8), one.generate(ASK[1:], 8)]
    assert generate_many(many, [ASK, ASK[1:]], 8) == expected
    assert many.usage == one.usage


def test_threads_share_a_backend(opened: Opener) -> None:
    backend, found = opened(), []
    threads = [threading.Thread(target=lambda: found.append(backend.generate(ASK, 8))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    assert len(found) == 4 == backend.usage.calls and len(set(found)) == 1
    assert backend.usage.tokens_in == 4 * found[0].tokens_in
