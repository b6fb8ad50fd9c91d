"""Replies in pieces: the same as in one piece, and every way in which a stream can go wrong has a name."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.errors import BudgetSpent, ConfigError, ModelError
from eqa_nodes.core.model import Message, ask_json
from eqa_nodes.core.types.costs import Usage
from eqa_nodes.models import make_backend
from eqa_nodes.models.quirks import forget_all
from eqa_nodes.models.reply import content_of, first_choice, joined, letter_weights
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion, stream

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")

ASK = (Message("user", ("What color is the sofa?",)),)
MENU = ("red", "blue")


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Return a function that makes backends, which are closed at the end."""
    made = []
    forget_all()  # a port may have been another server's
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def make(server: VlmServer, **options: Any) -> Any:
        defaults = {"base_url": server.url, "model": "m", "timeout_s": 20.0, "deadline_s": 20.0, "max_retries": 1}
        made.append(make_backend("openai", "secret-key", **{**defaults, **options}))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


def test_pieces_make_the_reply(connect: Callable[..., Any]) -> None:
    with VlmServer([stream("Re", "d", " ✓")]) as server:
        backend = connect(server, stream=True)
        assert backend.generate(ASK, max_tokens=9, seed=2) == ("Red ✓", 100, 7, "stop")
    assert backend.usage == Usage(1, 100, 7)
    sent = server.requests[0]
    assert (sent["stream"], sent["stream_options"], sent["max_tokens"]) == (True, {"include_usage": True}, 9)


def test_a_server_that_cannot_stream(connect: Callable[..., Any]) -> None:
    with VlmServer([completion("Red", "length")]) as server:
        assert connect(server, stream=True).generate(ASK) == ("Red", 100, 7, "length")


def test_probabilities_come_through_a_stream(connect: Callable[..., Any]) -> None:
    top = [{"token": token, "logprob": math.log(p)} for token, p in (("A", 0.6), ("B", 0.2))]
    reply = stream("A", logprobs={"content": [{"token": "A", "logprob": -0.1, "top_logprobs": top}]})
    with VlmServer([reply]) as server:
        choice = connect(server, stream=True).choose(ASK, MENU)
    assert choice.how == "logprobs" and choice.probabilities == pytest.approx((0.75, 0.25))


ENDLESS = stream(*["la "] * 2000)._replace(drip_s=0.005)
FAULTS = {
    "hangs": (completion("x")._replace(delay_s=3.0), "timed out", True),
    "hangs in a stream": (stream("x")._replace(delay_s=3.0), "timed out", True),
    "never ends": (ENDLESS, "timed out", True),
    "falls silent in a stream": (stream("x")._replace(drip_s=1.0), "timed out", True),
    "garbage": (ServerReply(b"<html>busy</html>", content_type="text/html"), "invalid reply", True),
    "garbage events": (ServerReply(b"data: {\"choices\": [\n\n"), "invalid reply", True),
    "garbage after a good start": (ServerReply(stream("x", finish=None).body + b"\xff\xfe\n"), "invalid reply", True),
    "breaks off": (stream("Re", finish=None), "cut off", True),
    "breaks off in a line": (ServerReply(stream("Re").body[:150]), "cut off", True),
    "loses its connection": (stream("Re", finish=None)._replace(missing=99), "cut off", True),
    "says nothing": (stream(), "empty", True),
    "reports an error": (ServerReply(b'data: {"error": {"message": "overloaded"}}\n\n'), "server error", True),
    "refuses": (stream(finish="content_filter"), "refused", True),
    "refuses in one piece": (completion(None, "content_filter"), "refused", False),
    "garbage in one piece": (ServerReply(b"<html>busy</html>"), "invalid reply", False),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("way", ["generate", "choose", "json"])
def test_every_fault_has_a_name_in_generate_and_choose(connect: Callable[..., Any], fault: str, way: str) -> None:
    reply, kind, streams = FAULTS[fault]
    limits = {"timeout_s": 0.3, "deadline_s": 0.6} if kind == "timed out" else {"timeout_s": 20.0, "deadline_s": 20.0}
    with VlmServer([reply]) as server:
        backend = connect(server, stream=streams, max_retries=0, **limits)
        with pytest.raises(ModelError, match=f"^{kind}"):
            {"generate": lambda: backend.generate(ASK), "choose": lambda: backend.choose(ASK, MENU),
             "json": lambda: ask_json(backend, ASK, dict)}[way]()
        assert backend.usage.calls == 1


@pytest.mark.parametrize("text", ["Red, I think", '{"option_9": 1}', '{"option_1": 7}', '{"option_1": 0}', '["a"]', ""])
@pytest.mark.parametrize("streams", [False, True])
def test_wrong_forms_are_asked_again_once(connect: Callable[..., Any], text: str, streams: bool) -> None:
    with VlmServer([stream(text) if streams else completion(text)]) as server:
        backend = connect(server, stream=streams, logprobs=False)
        with pytest.raises(ModelError, match="^wrong form: m answered twice"):
            backend.choose(ASK, MENU)
    assert backend.usage.calls == 2


@pytest.mark.parametrize("streams", [False, True])
def test_a_reply_that_is_cut_off_is_asked_again_once(connect: Callable[..., Any], streams: bool) -> None:
    text = '{"option_1": 0.5, "opti'
    with VlmServer([stream(text, finish="length") if streams else completion(text, "length")]) as server:
        backend = connect(server, stream=streams, logprobs=False)
        with pytest.raises(ModelError, match="^wrong form.*cut off at 7 tokens"):
            backend.choose(ASK, MENU)
    assert backend.usage.calls == 2


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_refuses_logprobs_states_probabilities(connect: Callable[..., Any], status: int) -> None:
    with VlmServer([ServerReply(b"{}", status), completion('{"option_1": 0.2, "option_2": 0.6}')]) as server:
        assert connect(server).choose(ASK, MENU).probabilities == pytest.approx((0.25, 0.75))


def test_a_budget_of_money(connect: Callable[..., Any]) -> None:
    with VlmServer([completion("Red")]) as server:
        backend = connect(server, price_in=10.0, price_out=100.0, budget_money=0.003)
        with pytest.raises(BudgetSpent, match=r"budget of 0.003 .* another call, which may cost 0.1 \(0 is spent\)"):
            backend.generate(ASK)
        backend.generate(ASK, 10)
        assert backend.usage.money == pytest.approx(100 * 10e-6 + 7 * 100e-6)
        with pytest.raises(BudgetSpent, match=r"may cost 0.002 \(0.0017 is spent\)"):  # with all ten tokens
            backend.generate(ASK, 10)
    assert len(server.requests) == 1
    with pytest.raises(ConfigError, match="price-in"):
        make_backend("openai", budget_money=1.0)


def test_a_rate_limit_makes_calls_wait_up_to_the_deadline(connect: Callable[..., Any]) -> None:
    with VlmServer([completion("Red")]) as server:
        by_calls, by_tokens = connect(server, rate_calls=2), connect(server, rate_tokens=150)
        for backend in (by_calls, by_tokens):
            backend.generate(ASK)
            backend.generate(ASK)
            with pytest.raises(ModelError, match=r"^rate limit.*start in (5\d|60) s, after its deadline of 20 s"):
                backend.generate(ASK)
    assert len(server.requests) == 4


@given(st.lists(st.text(max_size=20), max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_any_text_in_any_pieces_is_put_together(pieces: list[str], newline: str) -> None:
    chunks = [json.dumps({"choices": [{"delta": {"content": piece}}]}, ensure_ascii=False) for piece in pieces]
    text = "".join(f"data: {chunk}{newline}{newline}" for chunk in chunks)
    message = joined(text, "m")["choices"][0]["message"]
    assert (message["content"] or "") == "".join(pieces)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(
    inner, max_size=3) | st.dictionaries(st.sampled_from([
        "choices", "delta", "content", "usage", "logprobs", "finish_reason", "refusal", "error", "message"]), inner),
    max_leaves=8)


@given(st.lists(JSON, max_size=4))
def test_events_of_any_form_end_in_a_reply_or_a_model_error(events: list[object]) -> None:
    try:
        reply = joined("".join(f"data: {json.dumps(event)}\n\n" for event in events), "m")
        content_of(first_choice(reply, "m"), "m")
        assert letter_weights(first_choice(reply, "m"), "AB") is None
    except ModelError as error:
        kind = str(error).split(":")[0]
    else:
        kind = "text"
    assert kind in ("text", "invalid reply", "empty", "server error", "refused")


@given(st.text(alphabet='data: {}[]"choicesdelta\n\r,0', max_size=60))
def test_rubbish_ends_in_a_reply_or_a_model_error(text: str) -> None:
    try:
        kind = type(joined(text, "m")).__name__
    except ModelError as error:
        kind = str(error).split(":")[0]
    assert kind in ("dict", "invalid reply", "empty", "server error")
