"""The HTTP backend against a real local server: good replies, every fault, and what each leaves in the counts."""

from __future__ import annotations

import base64
import builtins
import json
import math
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.errors import BudgetSpent, ConfigError, LimitReached, MissingExtra, ModelError
from eqa_nodes.core.ledger import BudgetedBackend
from eqa_nodes.core.model import Message, ask_json
from eqa_nodes.core.types.costs import CallAccount, CallBudget, Usage
from eqa_nodes.models import make_backend
from eqa_nodes.models.quirks import forget_all
from eqa_nodes.models.reply import content_of, first_choice, letter_weights, parse
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")

ASK = (Message("user", ("What color is the sofa?",)),)


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Return a function that makes backends, which are closed at the end."""
    made = []
    forget_all()  # a port may have been another server's
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def make(url: str, **options: Any) -> Any:
        defaults = {"base_url": url, "model": "m", "api_key": "secret-key", "timeout_s": 0.5, "deadline_s": 5.0,
                    "max_retries": 1}
        made.append(make_backend("openai", **{**defaults, **options}))
        return made[-1]

    yield make
    for backend in made:
        backend.close()
        backend.close()


def test_a_good_reply_and_what_was_sent(connect: Callable[..., Any]) -> None:
    with VlmServer([completion("Red")]) as server:
        backend = connect(server.url)
        message = Message("user", ("Picture 1:", b"\xff\xd8jpeg", "What color?"))
        done = backend.generate((Message("system", ("Look.",)), message), max_tokens=50, seed=7)
    assert (done.text, done.tokens_in, done.tokens_out, done.finish_reason) == ("Red", 100, 7, "stop")
    assert backend.usage == Usage(1, 100, 7, images=1)
    sent = server.requests[0]
    assert (sent["model"], sent["temperature"], sent["seed"], sent["max_tokens"]) == ("m", 0.0, 7, 50)
    assert sent["messages"][0] == {"role": "system", "content": "Look."}
    kinds = [part["type"] for part in sent["messages"][1]["content"]]
    assert kinds == ["text", "image_url", "text"]
    prefix, data = sent["messages"][1]["content"][1]["image_url"]["url"].split(",")
    assert prefix == "data:image/jpeg;base64"
    assert base64.b64decode(data) == b"\xff\xd8jpeg"
    assert server.headers[0]["authorization"] == "Bearer secret-key"


@pytest.mark.parametrize(("replies", "kind", "calls"), [
    ([ServerReply(b'{"error": {"message": "slow down"}}', 429)], "rate limited", 2),
    ([ServerReply(b"oops", 500, "text/plain")], "server error", 2),
    ([ServerReply(b"no such model", 404, "text/plain")], "not found", 1),
    ([ServerReply(b'{"error": {"message": "bad key secret-key"}}', 401)], "not authorised", 1),
    ([ServerReply(b'{"error": {"message": "image too large"}}', 400)], "rejected", 1),
    ([ServerReply(b"\x00\xfe\xffrubbish")], "invalid reply", 1),
    ([ServerReply(b"<html>a proxy</html>", content_type="text/html")], "invalid reply", 1),
    ([ServerReply(b'["a list"]')], "invalid reply", 1),
    ([ServerReply(b'{"choices": [{"message": {"content": "Re')], "invalid reply", 1),
    ([ServerReply(b'{"error": {"message": "overloaded"}}')], "server error", 1),
    ([ServerReply(b'{"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 0}}')], "empty", 1),
    ([ServerReply(b'{"choices": null}')], "empty", 1),
    ([completion(None)], "empty", 1),
    ([completion(None, "content_filter")], "refused", 1),
    ([completion("x", delay=0)._replace(delay_s=3.0)], "timed out", 2),
    ([completion("Red")._replace(missing=99)], "cut off", 2),
])
def test_every_fault_is_a_named_error(connect: Callable[..., Any], replies: list[ServerReply], kind: str,
                                      calls: int) -> None:
    with VlmServer(replies) as server:
        backend = connect(server.url)
        with pytest.raises(ModelError, match=rf"^{kind}") as caught:
            backend.generate(ASK)
    assert "secret-key" not in str(caught.value)
    assert backend.usage.calls == calls == len(server.requests)


def test_tokens_of_a_failed_call_count(connect: Callable[..., Any]) -> None:
    with VlmServer([completion(None, tokens=(40, 3))]) as server:
        backend = connect(server.url)
        with pytest.raises(ModelError):
            backend.generate(ASK)
    assert backend.usage == Usage(1, 40, 3)


def test_refused_connection(connect: Callable[..., Any]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelError, match=r"^no connection.*is the server running"):
        connect(f"http://127.0.0.1:{port}/v1", max_retries=0).generate(ASK)


def test_a_server_that_drips_for_ever_meets_the_deadline(connect: Callable[..., Any]) -> None:
    with VlmServer([completion("Red" * 500)._replace(drip_s=0.02)]) as server:
        backend = connect(server.url, deadline_s=0.6)
        with pytest.raises(ModelError, match=r"^timed out: no complete reply"):
            backend.generate(ASK)
        assert backend.usage.calls == 1


def test_requests_that_are_sent_again_count_as_calls_of_the_question(connect: Callable[..., Any]) -> None:
    with VlmServer([ServerReply(b"busy", 503)] * 9) as server:
        backend = BudgetedBackend(connect(server.url, max_retries=5), CallAccount(CallBudget(calls=2)))
        with pytest.raises(ModelError, match="^server error"):
            backend.generate(ASK)
        with pytest.raises(LimitReached, match="^calls"):
            backend.generate(ASK)
    assert len(server.requests) == backend.usage.calls == 2


def test_a_server_without_logprobs_gets_no_second_request_where_one_call_is_left(connect: Callable[..., Any]) -> None:
    refusal = ServerReply(b'{"error": {"message": "no logprobs"}}', 400)
    with VlmServer([refusal] * 3) as server, pytest.raises(LimitReached, match="^calls"):
        BudgetedBackend(connect(server.url), CallAccount(CallBudget(calls=1))).choose(ASK, ("red", "blue"))
    assert len(server.requests) == 1


def test_a_busy_server_is_asked_again(connect: Callable[..., Any]) -> None:
    with VlmServer([ServerReply(b"{}", 429), completion("Red")]) as server:
        backend = connect(server.url)
        assert backend.generate(ASK).text == "Red"
    assert backend.usage == Usage(2, 100, 7)


def test_cut_off_before_any_text(connect: Callable[..., Any]) -> None:
    with VlmServer([completion(None, "length")]) as server:
        done = connect(server.url).generate(ASK)
    assert (done.text, done.finish_reason) == ("", "length")


def test_budgets_end_before_a_call(connect: Callable[..., Any]) -> None:
    with VlmServer([completion("Red")]) as server:
        by_calls, by_tokens = connect(server.url, budget_calls=1), connect(server.url, budget_tokens=100)
        for backend in (by_calls, by_tokens):
            backend.generate(ASK)
            with pytest.raises(BudgetSpent):
                backend.generate(ASK)
        assert len(server.requests) == 2


def _logprobs(**mass: float) -> dict[str, Any]:
    top = [{"token": token, "logprob": math.log(p)} for token, p in mass.items()]
    return {"logprobs": {"content": [{"token": "A", "logprob": -0.1, "top_logprobs": top}]}}


def test_choice_by_logprobs(connect: Callable[..., Any]) -> None:
    with VlmServer([completion("A", **_logprobs(A=0.5, B=0.2, b=0.1, The=0.2))]) as server:
        choice = connect(server.url).choose(ASK, ("red", "blue", "green"))
    assert choice.how == "logprobs"
    assert choice.probabilities == pytest.approx((0.625, 0.375, 0.0))
    assert server.requests[0]["logprobs"] is True
    assert server.requests[0]["max_tokens"] == 1


@pytest.mark.parametrize("first", [completion("A"), ServerReply(b'{"error": {"message": "no logprobs here"}}', 400),
                                   ServerReply(b"{}", 422),
                                   completion("Z", **_logprobs(Zebra=0.9))])
def test_choice_is_stated_where_logprobs_do_not_help(connect: Callable[..., Any], first: ServerReply) -> None:
    stated = completion(json.dumps({"option_1": 0.2, "option_2": 0.6}))
    with VlmServer([first, stated]) as server:
        choice = connect(server.url).choose(ASK, ("red", "blue"))
    assert choice.how == "verbalised"
    assert choice.probabilities == pytest.approx((0.25, 0.75))


@pytest.mark.parametrize(("text", "finish", "said"), [
    ('{"option_9": 1}', "stop", "option_9.*menu"), ("Red, I think", "stop", ""), ('{"option_1": 7}', "stop", ""),
    ('{"option_1": 0}', "stop", ""), ('["a"]', "stop", ""), ("", "stop", ""),
    ('{"option_1": 0.5, "opti', "length", "cut off at 7 tokens")])
def test_a_choice_of_the_wrong_form_is_asked_once_more(connect: Callable[..., Any], text: str, finish: str,
                                                       said: str) -> None:
    with VlmServer([completion(text, finish)]) as server:
        backend = connect(server.url, logprobs=False)
        with pytest.raises(ModelError, match=rf"^wrong form: m answered twice.*{said}"):
            backend.choose(ASK, ("red", "blue"))
    assert backend.usage.calls == len(server.requests) == 2


@pytest.mark.parametrize("reply", [ServerReply(b"<html>busy</html>"), completion(None, "content_filter")])
def test_a_fault_has_the_same_name_in_a_choice_and_in_json(connect: Callable[..., Any], reply: ServerReply) -> None:
    kind = "refused" if b"content_filter" in reply.body else "invalid reply"
    with VlmServer([reply]) as server:
        backend = connect(server.url)
        for ask in (lambda: backend.choose(ASK, ("red", "blue")), lambda: ask_json(backend, ASK, dict)):
            with pytest.raises(ModelError, match=f"^{kind}"):
                ask()
    assert len(server.requests) == 2


def test_a_budget_of_money(connect: Callable[..., Any]) -> None:
    with VlmServer([completion("Red")]) as server:
        backend = connect(server.url, price_in=10.0, price_out=100.0, budget_money=0.003)
        with pytest.raises(BudgetSpent, match=r"budget of 0.003 .* another call, which may cost 0.1 \(0 is spent\)"):
            backend.generate(ASK)
        backend.generate(ASK, 10)
        assert backend.usage.money == pytest.approx(100 * 10e-6 + 7 * 100e-6)
        with pytest.raises(BudgetSpent, match=r"may cost 0.002 \(0.0017 is spent\)"):  # with all ten tokens
            backend.generate(ASK, 10)
    assert len(server.requests) == 1


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(
    inner, max_size=3) | st.dictionaries(st.sampled_from([
        "choices", "content", "usage", "logprobs", "finish_reason", "refusal", "error", "message"]), inner),
    max_leaves=8)


@given(JSON)
def test_json_of_any_form_ends_in_a_reply_or_a_model_error(body: object) -> None:
    try:
        choice = first_choice(parse(json.dumps(body), "m"), "m")
        content_of(choice, "m")
        assert letter_weights(choice, "AB") is None
        kind = "text"
    except ModelError as error:
        kind = str(error).split(":")[0]
    assert kind in ("text", "invalid reply", "empty", "server error", "refused")


def test_threads_share_a_backend(connect: Callable[..., Any]) -> None:
    with VlmServer([completion("Red")]) as server:
        backend = connect(server.url, timeout_s=5.0)
        threads = [threading.Thread(target=backend.generate, args=(ASK,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(5.0)
    assert backend.usage == Usage(4, 400, 28)


@pytest.mark.parametrize(("missing", "names"), [("BASE_URL", "EQA_VLM_BASE_URL.*OPENAI_BASE_URL"),
                                                ("MODEL", "EQA_VLM_MODEL"), ("API_KEY", "EQA_VLM_API_KEY")])
def test_a_missing_setting_names_its_variable(monkeypatch: pytest.MonkeyPatch, missing: str, names: str) -> None:
    for name, value in (("BASE_URL", "http://127.0.0.1:1/v1"), ("MODEL", "m"), ("API_KEY", "k")):
        monkeypatch.setenv(f"EQA_VLM_{name}", value)
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)
    make_backend("openai").close()
    monkeypatch.delenv(f"EQA_VLM_{missing}")
    with pytest.raises(ConfigError, match=names):
        make_backend("openai")


def test_a_base_url_without_scheme(connect: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match="http://"):
        connect("localhost:8000")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "openai":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtra, match=r"pip install 'eqa-nodes\[vlm\]'"):
        make_backend("openai", base_url="http://x", model="m", api_key="k")


def test_unknown_backend_lists_the_known() -> None:
    with pytest.raises(ConfigError, match=r"'gpt'.*openai, scripted"):
        make_backend("gpt")
