"""The forms in which servers that speak OpenAI's interface reply: OpenAI, vLLM, llama.cpp, Ollama, gateways."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.model import Message
from eqa_nodes.core.storage.text import storable
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")

ASK = (Message("user", ("What color is the sofa?",)),)


def _choice(**fields: Any) -> ServerReply:
    body = json.loads(completion("x").body)
    body["choices"][0] |= fields
    return ServerReply(json.dumps(body).encode())


def _message(content: Any, **fields: Any) -> ServerReply:
    return _choice(message={"role": "assistant", "content": content, **fields},
                   **({"finish_reason": fields["finish"]} if "finish" in fields else {}))


PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Red"}]
CALL = {"id": "c", "type": "function", "function": {"name": "drive", "arguments": "{}"}}
FORMS = {
    "parts": (_message(PARTS), "Red"),
    "thoughts beside": (_message("Red", reasoning_content="hm"), "Red"),
    "thoughts before": (_message("<think>\nIs it {\"answer\": 1}?\n</think>\n\nRed"), "Red"),
    "thoughts that the template opened": (_message("hm\n</think>Red"), "Red"),
    "half a surrogate pair": (ServerReply(completion("Red#").body.replace(b"#", b"\\ud83d")), "Red\ufffd"),
    "no UTF-8": (ServerReply(completion("Red#").body.replace(b"#", b"\xff")), "Red\ufffd"),
    "a byte order mark": (ServerReply(b"\xef\xbb\xbf" + completion("Red").body), "Red"),
    "another reason to end": (_choice(message={"content": "Red"}, finish_reason={"type": "eos"}), "Red"),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_other_servers_are_read(connect: Callable[..., Any], form: str) -> None:
    reply, text = FORMS[form]
    with VlmServer([reply]) as server:
        done = connect(server.url).generate(ASK)
    assert (done.text, done.finish_reason) == (text, "stop") and storable(done.text)


@pytest.mark.parametrize("reason", ["length", "MAX_TOKENS", "model_length"])
@pytest.mark.parametrize("content", [None, "", "<think>Is it", []])
def test_a_model_that_was_cut_off_while_it_thought_is_asked_again(connect: Callable[..., Any], content: Any,
                                                                  reason: str) -> None:
    with VlmServer([_message(content, reasoning="hm", finish=reason)]) as server:
        done = connect(server.url).generate(ASK)
    assert (done.text, done.finish_reason) == ("", "length")


NOTHING = {
    "tool calls": (_message(None, tool_calls=[CALL], finish="tool_calls"), "empty"),
    "thoughts only": (_message(None, reasoning="hm"), "empty: m only thought"),
    "a number": (_message(7), "empty"), "an object": (_message({"text": "Red"}), "empty"),
    "no message": (_choice(message=None), "empty"),
    "a choice that is none": (ServerReply(b'{"choices": [[]]}'), "empty"),
    "a refusal": (_message(None, refusal="I'm sorry"), "refused: m declined to answer: \"I'm sorry\""),
    "an error in the choice": (_choice(error={"code": 502, "message": "overloaded"}), "server error: .*overloaded"),
    "an error of words": (ServerReply(b'{"error": "model not loaded"}'), "server error: .*not loaded"),
    "an error of FastAPI": (ServerReply(b'{"detail": "Internal"}'), "empty: .*Internal"),
    "nested deep": (ServerReply(b'{"choices": ' + b"[" * 900 + b"]" * 900 + b"}"), "empty"),
    "nested too deep": (ServerReply(b"[" * 100_000), "invalid reply"),
    "a number of many digits": (ServerReply(b'{"created": ' + b"9" * 100_000 + b"}"), "invalid reply"),
}


@pytest.mark.parametrize("form", NOTHING)
def test_replies_without_an_answer_have_a_name(connect: Callable[..., Any], form: str) -> None:
    reply, kind = NOTHING[form]
    with VlmServer([reply]) as server, pytest.raises(ModelError, match=f"^{kind}") as caught:
        connect(server.url).generate(ASK)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("value", ["NaN", "null", '"x"', "true", "1" + "0" * 400, "-Infinity", "-1e400", "[0]"])
def test_a_logarithm_that_is_none_is_no_probability(connect: Callable[..., Any], value: str) -> None:
    top = [{"token": "A", "logprob": 1234.5}, {"token": "B", "logprob": math.log(0.2)}]
    reply = _choice(logprobs={"content": [{"token": "B", "top_logprobs": top}]})
    with VlmServer([reply._replace(body=reply.body.replace(b"1234.5", value.encode()))]) as server:
        choice = connect(server.url).choose(ASK, ("red", "blue"))
    assert choice.how == "logprobs" and sum(choice.probabilities) == pytest.approx(1.0)
    if value[0] != "1":  # a positive one is as good as certain
        assert choice.probabilities == (0.0, 1.0)


@pytest.mark.parametrize("top", [[], None, {}, "AB", [7], [{"token": 7, "logprob": 0.0}], [{"token": "A"}]])
def test_logprobs_of_another_form_are_stated_instead(connect: Callable[..., Any], top: Any) -> None:
    reply = _choice(logprobs={"content": [{"token": "B", "top_logprobs": top}]})
    with VlmServer([reply, completion('{"option_1": 0.2, "option_2": 0.6}')]) as server:
        assert connect(server.url).choose(ASK, ("red", "blue")).how == "verbalised"
