"""Servers that refuse a part of a request: what is asked instead, what is remembered, and what is only named."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PIL import Image

from eqa_nodes.core.errors import LimitReached, ModelError
from eqa_nodes.core.ledger import BudgetedBackend
from eqa_nodes.core.model import Message, ask_json
from eqa_nodes.core.types.costs import CallAccount, CallBudget
from eqa_nodes.models import openai_chat, quirks
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.quirks import forget_all
from eqa_nodes.testing import model_manners as manners
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion
from tests.fixtures.logs import logged

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")

ASK = (Message("user", ("What color is the sofa? Reply in JSON.",)),)
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"],
          "additionalProperties": False}
RED = completion('{"answer": "red"}')


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    """Let nothing be known, as in a new process."""
    forget_all()
    yield
    forget_all()


def jpeg(width: int = 640, height: int = 480) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(out, "JPEG")
    return out.getvalue()


def shown(*pictures: bytes) -> tuple[Message, ...]:
    parts: list[str | bytes] = []
    for number, picture in enumerate(pictures, 1):
        parts += [f"Picture {number}:", picture]
    return (Message("user", ("What color? Reply in JSON.", *parts)),)


def generated(connect: Callable[..., Any], manner: Any, messages: Any = ASK, **options: Any) -> tuple[Any, Any]:
    """Return the reply to a second call, and the server's requests."""
    with VlmServer(manner) as server:
        backend = connect(server.url, **options)
        backend.generate(messages, 2048, 0, SCHEMA)
        before = len(server.requests)
        done = backend.generate(messages, 2048, 0, SCHEMA)
        assert len(server.requests) == before + 1, "what was learned is remembered"
        return done, server.requests


def test_a_model_that_thinks_is_asked_in_its_own_way(connect: Callable[..., Any]) -> None:
    with logged(quirks.__name__) as log:
        done, requests = generated(connect, manners.thinking_openai(RED))
    assert done.text == '{"answer": "red"}'
    last = requests[-1]
    assert "temperature" not in last and "max_tokens" not in last and last["seed"] == 0
    assert last["max_completion_tokens"] == 2048 + 8192
    assert len(requests) == 5, "three lessons, the reply, and the second call"
    told = log.text.splitlines()
    assert [sum(word in text for text in told) for word in ("max_completion_tokens", "temperature", "thinks")
            ] == [1, 1, 1]


def test_a_model_that_thinks_states_its_choice(connect: Callable[..., Any]) -> None:
    stated = completion(json.dumps({"option_1": 0.2, "option_2": 0.6}))
    with VlmServer(manners.thinking_openai(stated, thoughts=0)) as server:
        backend = connect(server.url)
        assert [backend.choose(ASK, ("red", "blue")).how for _ in range(2)] == ["verbalised"] * 2
    assert sum("logprobs" in request for request in server.requests) == 3  # with each of the lessons, and never again


def test_another_backend_of_the_process_knows_it_too(connect: Callable[..., Any]) -> None:
    with VlmServer(manners.thinking_openai(RED, thoughts=0)) as server:
        connect(server.url).generate(ASK)
        first = len(server.requests)
        connect(server.url).generate(ASK)
        assert len(server.requests) == first + 1
        connect(server.url, model="another").generate(ASK)
        assert len(server.requests) == 2 * first + 1, "another model may take other fields"


@pytest.mark.parametrize(("manner", "gone", "form", "calls"), [
    (manners.gemini(RED), {"seed"}, "json_schema", 3),
    (manners.gemini_without_schemas(RED), set(), "json_object", 3),
    (manners.mistral(RED), {"seed"}, "json_schema", 2),
    (manners.litellm(RED), {"temperature"}, "json_schema", 2),
    (manners.litellm(RED, ("response_format", "seed")), {"seed"}, None, 2),
    (manners.without_schemas(RED), set(), "json_object", 2),
    (manners.without_forms(RED), set(), None, 2),
    (manners.silent(RED), set(), None, 2),
    (manners.through_openrouter(manners.gemini(RED)), {"seed"}, "json_schema", 3),
    (manners.through_openrouter(manners.thinking_openai(RED, 0)), {"temperature", "max_tokens"}, "json_schema", 3),
], ids=["gemini", "gemini's states", "mistral", "litellm", "litellm without forms", "no schemas", "xai", "silent",
        "openrouter gemini", "openrouter thinking"])
def test_what_is_refused_is_left_out(connect: Callable[..., Any], manner: manners.Manner, gone: set[str],
                                     form: str | None, calls: int) -> None:
    done, requests = generated(connect, manner)
    assert done.text == '{"answer": "red"}'
    assert not gone & set(requests[-1]) and {"seed", "temperature"} - gone <= set(requests[-1])
    assert requests[-1].get("response_format", {}).get("type") == form
    assert len(requests) == calls + 1


def test_a_schema_is_sent_as_it_is_taken(connect: Callable[..., Any]) -> None:
    with VlmServer([RED]) as server:
        connect(server.url).generate(ASK, 50, 0, SCHEMA)
    sent = server.requests[0]["response_format"]
    assert sent == {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}}


def test_a_loose_schema_is_sent_again_unstrictly(connect: Callable[..., Any]) -> None:
    loose = {"type": "object", "properties": {"answer": {"type": "string"}}}
    with VlmServer([RED]) as server:
        connect(server.url).generate(ASK, 50, 0, loose)
    assert [request["response_format"]["json_schema"].get("strict") for request in server.requests] == [True, None]


def test_anthropic_ignores_the_form_and_the_reply_is_read_nevertheless(connect: Callable[..., Any]) -> None:
    with VlmServer(manners.anthropic('{"answer": "red"}')) as server:
        backend = connect(server.url)
        assert ask_json(backend, ASK, lambda reply: reply["answer"], schema=SCHEMA) == "red"
        with pytest.raises(ModelError, match="^wrong form"):
            backend.choose(ASK, ("red", "blue"))  # it has no logprobs, and states what was not asked for
    assert len(server.requests) == 4


def test_pictures_that_are_too_large_are_scaled_down_once(connect: Callable[..., Any]) -> None:
    messages = shown(jpeg(640, 480), jpeg(300, 200))
    done, requests = generated(connect, manners.anthropic("{}", largest_px=400), messages)
    assert "Here is what I see" in done.text
    assert [Image.open(io.BytesIO(data)).size for data in manners.images(requests[-1])] == [(400, 300), (300, 200)]
    assert len(requests) == 3


def test_a_body_that_is_too_large_has_half_the_side(connect: Callable[..., Any]) -> None:
    too_large = ServerReply(b"<html>413 Request Entity Too Large</html>", 413, "text/html")

    def serve(body: dict[str, Any]) -> ServerReply:
        large = any(max(Image.open(io.BytesIO(data)).size) > 200 for data in manners.images(body))
        return too_large if large else RED

    with VlmServer(serve) as server:
        backend = connect(server.url)
        with pytest.raises(ModelError, match=r"^pictures too large: .*--image-side"):
            backend.generate(shown(jpeg(640, 480)))  # half of it is too large still
        assert backend.generate(shown(jpeg(300, 300))).text
    assert [max(Image.open(io.BytesIO(manners.images(request)[0])).size) for request in server.requests] == [
        640, 320, 300, 150]


def test_pictures_beyond_the_most_are_left_out_and_the_model_is_told(connect: Callable[..., Any]) -> None:
    pictures = [jpeg(20 + number, 20) for number in range(7)]
    with logged(quirks.__name__) as log:
        _, requests = generated(connect, manners.vllm(RED, most_images=3), shown(*pictures))
    assert manners.images(requests[-1]) == [pictures[0], pictures[1], pictures[6]]
    texts = [part["text"] for part in requests[-1]["messages"][0]["content"] if part["type"] == "text"]
    assert sum("left out" in text for text in texts) == 4 and "Picture 4:" in texts
    assert "at most 3 pictures" in log.text


@pytest.mark.parametrize("message", [
    "Too many images in request: 7 images provided, but the model supports a maximum of 3 images.",
    "Too many images in request. Max is 3.", "too many images in the message, max allowed is 3",
    "Too much media: 0 document pages + 7 images > 3", "Image count 7 exceeds limit 3 per request.",
    "request contains 7 images, exceeding the maximum of 3 allowed per request", "Too many images"])
def test_the_most_pictures_are_read_in_many_words(connect: Callable[..., Any], message: str) -> None:
    def serve(body: dict[str, Any]) -> ServerReply:
        return manners.error(400, message=message) if len(manners.images(body)) > 3 else RED

    _, requests = generated(connect, serve, shown(*[jpeg(20, 20)] * 7))
    assert len(manners.images(requests[-1])) == 3


def test_a_reply_is_shortened_to_the_room_that_is_left(connect: Callable[..., Any]) -> None:
    with VlmServer(manners.vllm(RED, context=2000, reads=1500)) as server:
        assert connect(server.url).generate(ASK, 2048).text
    assert [request["max_tokens"] for request in server.requests] == [2048, 500]


def test_a_limit_of_the_replys_tokens_is_kept(connect: Callable[..., Any]) -> None:
    def serve(body: dict[str, Any]) -> ServerReply:
        return RED if body["max_tokens"] <= 1024 else manners.error(400, message=(
            f"max_tokens is too large: {body['max_tokens']}. This model supports at most 1024 completion tokens, "
            f"whereas you provided {body['max_tokens']}."), param="max_tokens", code="invalid_value")

    _, requests = generated(connect, serve)
    assert requests[-1]["max_tokens"] == 1024


NAMED = {
    "too long": [
        manners.vllm(RED, context=2000, reads=5000),
        lambda _: manners.error(400, message="This model's maximum context length is 128000 tokens. However, your "
                                "messages resulted in 150000 tokens.", code="context_length_exceeded"),
        lambda _: manners.json_error(400, {"error": {"code": 400, "type": "exceed_context_size_error", "message":
            "the request exceeds the available context size", "n_prompt_tokens": 14429, "n_ctx": 8192}}),
        lambda _: manners.json_error(400, [{"error": {"code": 400, "message":
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}])],
    "not a chat model": [
        lambda _: manners.error(404, message="This is not a chat model and thus not supported in the "
                                "v1/chat/completions endpoint.", param="model"),
        lambda _: manners.error(404, message="This model is only supported in v1/responses and not in "
                                "v1/chat/completions.", param="model"),
        lambda _: manners.error(400, message='"all-minilm" does not support chat', type="api_error")],
    "no pictures": [
        lambda _: manners.json_error(404, {"error": {"code": 404, "message":
                                  "No endpoints found that support image input"}}),
        lambda _: manners.error(500, message="image input is not supported - hint: if this is unexpected, you may need "
                                "to provide the mmproj", type="server_error"),
        lambda _: manners.error(400, message="Invalid content type. image_url is only supported by certain models."),
        lambda _: manners.error(500, message="Failed to create new sequence: failed to process inputs: this model is "
                                "missing data required for image input", type="api_error")],
    "refused": [
        lambda _: manners.error(400, message="The response was filtered due to the prompt triggering Azure OpenAI's "
                                "content management policy.", param="prompt", code="content_filter"),
        lambda _: manners.json_error(403, {"error": {"code": 403, "message": "Your input was flagged"}}),
        lambda _: manners.error(400, message="Content Exists Risk"),
        lambda _: manners.error(400, message="Input data may contain inappropriate content.",
                                code="data_inspection_failed")],
    "no quota": [
        lambda _: manners.error(429, message="You exceeded your current quota, please check your plan and billing "
                                "details.", type="insufficient_quota", code="insufficient_quota"),
        lambda _: manners.error(402, message="Insufficient Balance", code="invalid_request_error"),
        lambda _: manners.error(400, message="Your credit balance is too low to access the Anthropic API.")],
}


@pytest.mark.parametrize(("kind", "manner"), [(kind, each) for kind, all_of in NAMED.items() for each in all_of])
def test_what_cannot_be_mended_has_a_name_and_a_remedy(connect: Callable[..., Any], kind: str, manner: Any) -> None:
    with VlmServer(manner) as server, pytest.raises(ModelError, match=f"^{kind}: m at .*(choose|show)"):
        connect(server.url, max_retries=2).generate(shown(jpeg()))
    assert len(server.requests) == 1


def test_the_code_of_a_content_filter_is_named(connect: Callable[..., Any]) -> None:
    with VlmServer(NAMED["refused"][0]) as server, pytest.raises(ModelError, match=r"\(content_filter: "):
        connect(server.url).choose(ASK, ("red", "blue"))
    assert len(server.requests) == 1, "the probabilities are not what was refused"


def test_a_quota_of_the_minute_is_asked_again(connect: Callable[..., Any]) -> None:
    minute = manners.json_error(429, [{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded "
                                "your current quota, please check your plan. Please retry in 0.1s."}}])
    with VlmServer([minute, RED]) as server:
        assert connect(server.url, max_retries=1).generate(ASK).text


@pytest.mark.parametrize(("status", "message", "param"), [
    (400, "Conversation roles must alternate user/assistant/user/assistant/...", None),
    (400, 'Error rendering prompt with jinja template: "System role not supported".', None),
    (500, "Value is not callable: null at row 1: Only user and assistant roles are supported!", None),
    (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model.", "messages[0].role"),
    (400, "Developer instruction is not enabled for models/gemma-3-27b-it", None),
    (400, "Unexpected role 'system'; expected 'user'", None)])
def test_roles_alternate_without_the_system_where_a_model_wants_that(connect: Callable[..., Any], status: int,
                                                                     message: str, param: str | None) -> None:
    def serve(body: dict[str, Any]) -> ServerReply:
        roles = [turn["role"] for turn in body["messages"]]
        if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
            return manners.error(status, message=message, param=param)
        return RED

    turns = (Message("system", ("Look.",)), Message("user", ("Here:", jpeg())), Message("assistant", ("Yes?",)),
             Message("user", ("What",)), Message("user", ("color?",)))
    done, requests = generated(connect, serve, turns)
    assert done.text == '{"answer": "red"}' and len(requests) == 3
    sent = requests[-1]["messages"]
    assert [part.get("text") for part in sent[0]["content"]] == ["Look.", "Here:", None]
    assert sent[2]["content"] == "What\ncolor?"


def test_a_server_that_loads_its_model_is_waited_for(connect: Callable[..., Any],
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_chat, "_LOADING_S", 0.01)
    loading = manners.json_error(503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}})
    with VlmServer([*[loading] * 5, RED]) as server:
        backend = connect(server.url)
        assert backend.generate(ASK).text and backend.usage.calls == 1
    assert len(server.requests) == 6
    with VlmServer([loading]) as server, pytest.raises(ModelError, match="^loading: .*--deadline"):
        connect(server.url, deadline_s=0.3).generate(ASK)


def test_an_endpoint_is_checked_as_long_as_a_call_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ModelConfig] = []

    class Listed:
        model = "m"

        def __init__(self, config: ModelConfig) -> None:
            asked.append(config)

        def models(self) -> list[str]:
            return ["m"]

        def close(self) -> None:
            """Nothing is open."""

    check = openai_chat.OpenAIChat.check
    monkeypatch.setattr(openai_chat, "OpenAIChat", Listed)
    check(ModelConfig(timeout_s=90.0, deadline_s=300.0))
    assert [(config.timeout_s, config.deadline_s) for config in asked] == [(90.0, 300.0)]


@pytest.mark.parametrize(("path", "usual"), [("", "/v1"), ("/", "/v1"), ("/api", "/v1"), ("/v2", ""),
                                             ("/v1beta/openai", ""), ("/proxy", "/proxy/v1"),
                                             ("/v1/chat/completions", "/v1")])
@pytest.mark.parametrize("refused", [ServerReply(b"404 page not found", 404, "text/plain"), ServerReply(
    b'{"error": "Unexpected endpoint or method. (POST /chat/completions)"}')], ids=["a status", "a reply"])
def test_a_wrong_base_url_is_named_with_the_right_one(connect: Callable[..., Any], path: str, usual: str,
                                                      refused: ServerReply) -> None:
    with VlmServer([RED], elsewhere=refused) as server, pytest.raises(ModelError, match="^not found") as caught:
        connect(server.url.removesuffix("/v1") + path).generate(ASK)
    named = f"asked at {server.url.removesuffix('/v1')}{usual}: set --base-url"
    assert (named in str(caught.value)) == bool(usual) and ("asked at" in str(caught.value)) == bool(usual)


@pytest.mark.parametrize(("read", "written", "wrong"), [
    (4076, 20, "^too long: 4076 tokens of the request and 20 of the reply fill the context of m"),
    (8100, 91, "^too long: "), (4000, 500, "cut off at 500 tokens"), (3584, 512, "cut off at 512 tokens"),
    (100, 2048, "cut off at 2048 tokens")])
def test_a_full_context_is_not_called_the_limit_of_the_reply(connect: Callable[..., Any], read: int, written: int,
                                                             wrong: str) -> None:
    with VlmServer([completion('{"answer": "r', "length", (read, written))]) as server, pytest.raises(
            ModelError, match=wrong):
        ask_json(connect(server.url), ASK, lambda reply: reply["answer"], 2048)
    assert len(server.requests) == (1 if wrong.startswith("^too long") else 2), "a shorter reply does not fit either"


def test_thoughts_that_only_the_sum_counts_are_paid_and_no_full_context(connect: Callable[..., Any]) -> None:
    usage = {"prompt_tokens": 2000, "completion_tokens": 48, "total_tokens": 4048}
    reply = {**json.loads(completion('{"answer": "r', "length").body), "usage": usage}
    with VlmServer([ServerReply(json.dumps(reply).encode())]) as server:
        done = connect(server.url).generate(ASK, 2048)
    assert (done.tokens_out, done.finish_reason) == (2048, "length")


def test_a_lesson_that_does_not_help_is_dropped(connect: Callable[..., Any]) -> None:
    about_something_else = manners.error(400, message="The seed of the tenant 1234 is not available: temperature alarm")
    with VlmServer([about_something_else]) as server:
        with pytest.raises(ModelError, match="^rejected"):
            connect(server.url).generate(ASK)
        with pytest.raises(ModelError, match="^rejected"):
            connect(server.url).generate(ASK)
    assert [{"seed", "temperature"} <= set(request) for request in server.requests] == [True, False, True, False]


def test_a_broken_picture_that_is_too_large_is_named(connect: Callable[..., Any]) -> None:
    refused = manners.error(400, message="image exceeds 5 MB maximum: 6500712 bytes > 5242880 bytes")
    with VlmServer([refused]) as server, pytest.raises(ModelError, match="^pictures too large"):
        connect(server.url).generate(shown(b"\xff\xd8jpeg"))
    assert len(server.requests) == 1


def test_lessons_count_as_calls_and_outlive_the_purse(connect: Callable[..., Any]) -> None:
    with VlmServer(manners.thinking_openai(RED, thoughts=0)) as server:
        backend = connect(server.url)
        for calls in (1, 2):
            with pytest.raises(LimitReached, match="^calls"):
                BudgetedBackend(backend, CallAccount(CallBudget(calls=1))).generate(ASK)
            assert backend.usage.calls == calls
        assert BudgetedBackend(backend, CallAccount(CallBudget(calls=1))).generate(ASK).text


def test_thoughts_keep_to_the_tokens_of_the_purse(connect: Callable[..., Any]) -> None:
    with VlmServer(manners.thinking_openai(RED)) as server:
        account = CallAccount(CallBudget(tokens=4000))
        done = BudgetedBackend(connect(server.url), account).generate(ASK, 1024)
    assert done.finish_reason == "length" or done.text
    assert all(request.get("max_completion_tokens", 0) <= 4000 for request in server.requests)


def test_a_model_that_thinks_for_ever_ends(connect: Callable[..., Any]) -> None:
    with VlmServer([completion("", "length")]) as server:
        done = connect(server.url).generate(ASK, 1024)
    assert (done.text, done.finish_reason) == ("", "length")
    assert [request["max_tokens"] for request in server.requests] == [1024, 9216, 33792, 66560]


def test_detail_is_sent_and_left_out_where_it_is_refused(connect: Callable[..., Any]) -> None:
    def serve(body: dict[str, Any]) -> ServerReply:
        return manners.json_error(422, {"detail": [{"type": "extra_forbidden", "loc": [
            "body", "messages", 0, "content", 2, "image_url", "detail"], "msg": "Extra inputs are not permitted"}]}
            ) if "detail" in json.dumps(body["messages"]) else RED

    with VlmServer([RED]) as server:
        connect(server.url, image_detail="low").generate(shown(jpeg()))
        assert server.requests[0]["messages"][0]["content"][2]["image_url"]["detail"] == "low"
    _, requests = generated(connect, serve, shown(jpeg()), image_detail="low")
    assert {"seed", "temperature", "response_format"} <= set(requests[-1]) and len(requests) == 3


def test_cached_tokens_are_counted_and_cheaper(connect: Callable[..., Any]) -> None:
    with VlmServer([completion("Red", tokens=(1000, 10), cached=600)]) as server:
        backend = connect(server.url, price_in=2.0, price_out=0.0, price_cached=1.0)
        backend.generate(ASK)
    assert backend.usage.tokens_cached == 600
    assert backend.usage.money == pytest.approx((400 * 2.0 + 600 * 1.0) / 1e6)
