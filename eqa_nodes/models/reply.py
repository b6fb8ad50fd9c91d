"""The wire format of chat completions: messages out, replies in. No network access."""

from __future__ import annotations

import base64
import json
import math
import re
import reprlib
from collections.abc import Mapping
from typing import Any

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.model import MOST_TOKENS, Message
from eqa_nodes.core.storage.text import stored

SERVER_SAID = "server error: the reply for"  # beginning of the error for a reply that reports a failure
_FILTERED = re.compile(r"content_?filter|safety|prohibited|recitation|blocklist|spii|refusal|guardrail|sensitive", re.I)
_CUT_OFF = ("length", "max_tokens", "model_length", "max_output_tokens")  # the servers' names for "length"
_LONGEST_REASON = 40  # characters of a finish_reason
_MOST_LOGPROBS = 64  # maximum of entries per token; the interface gives 20
_SHORT = reprlib.Repr()  # a reply may be nested and long without limit
_SHORT.maxstring = _SHORT.maxother = 120


def wire(message: Message, detail: str = "") -> dict[str, Any]:
    """Return a message in wire format: plain text if it has no image, else a list of parts.

    detail: level of detail at which the server reads images, "" = not sent.
    """
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.role, "content": stored("\n".join(map(str, message.parts)))}
    return {"role": message.role, "content": [
        {"type": "text", "text": stored(part)} if isinstance(part, str) else
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64," + base64.b64encode(part).decode(),
                                            **({"detail": detail} if detail else {})}}
        for part in message.parts]}


def parse(text: str, model: str) -> dict[str, Any]:
    """Parse a reply's JSON object. Raises ModelError: invalid reply, server error."""
    try:
        data = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"invalid reply: that of {model} is not JSON: {text[:80]!r}") from error
    if not isinstance(data, dict):
        raise ModelError(f"invalid reply: that of {model} is not a JSON object: {text[:80]!r}")
    _check_error(data, model)
    return data


def _check_error(data: Mapping[str, Any], model: str) -> None:
    """Raise ModelError if a reply of status 200, or a choice in it, reports a failure."""
    if data.get("error"):
        raise ModelError(f"{SERVER_SAID} {model} is {_begin(data)}")


def first_choice(data: dict[str, Any], model: str) -> dict[str, Any]:
    """Return the reply's choice. Raises ModelError: empty, server error."""
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ModelError(f"empty: the reply for {model} holds no choices: {_begin(data)}")
    _check_error(choices[0], model)
    return choices[0]


def finish_reason(choice: Mapping[str, Any]) -> str:
    """Return why a reply ended: "length" if it was cut off at the limit of tokens; "" if it does not say."""
    reason = choice.get("finish_reason")
    if not isinstance(reason, str):
        return ""
    return "length" if reason.lower() in _CUT_OFF else stored(reason[:_LONGEST_REASON])


def content_of(choice: Mapping[str, Any], model: str) -> str:
    """Return the text of a choice without the model's thoughts; "" if the reply was cut off while thinking.

    Raises ModelError: refused, empty.
    """
    message = choice["message"] if isinstance(choice.get("message"), dict) else {}
    content, refusal = _joined_parts(message.get("content"), model), message.get("refusal")
    reason = finish_reason(choice)
    if refusal or _FILTERED.search(reason):
        said = _begin(refusal or content) if refusal or content else "it said nothing"
        raise ModelError(f"refused: {model} declined to answer: {said} ({reason or 'no reason given'}); ask in other "
                         "words, or choose another model")
    if content:
        return stored(_said(content))
    if reason == "length":
        return ""
    if _thoughts(message):
        raise ModelError(f"empty: {model} only thought, and said nothing ({reason or 'no reason given'}): switch its "
                         "thinking off on the server, or allow more tokens")
    if content is None:
        raise ModelError(f"empty: the reply for {model} holds no text: {_begin(choice)}")
    return ""


def _joined_parts(content: object, model: str) -> str | None:
    """Return the text of a message's content, which is a text or, from some servers, a list of parts."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    raise ModelError(f"empty: the reply for {model} holds no text: {_begin(content)}")


def _thoughts(message: Mapping[str, Any]) -> str | None:
    """Return the thoughts of a model that thinks first, None if there are none. Servers use two names for them."""
    return next((message[name] for name in ("reasoning_content", "reasoning")
                 if isinstance(message.get(name), str) and message[name]), None)


def _said(content: str) -> str:
    """Return the text after thoughts that a server left in it; the opening tag may be missing (in the template)."""
    _, closed, said = content.rpartition("</think>")
    if closed:
        return said.lstrip()
    return "" if content.lstrip().startswith("<think>") else content


def tokens_of(data: Mapping[str, Any]) -> tuple[int, int]:
    """Return the input and output tokens of a reply, 0 if they are missing or not a count.

    Gemini counts thoughts, which are charged as output, only in the total, and gives no details.
    """
    spent = data["usage"] if isinstance(data.get("usage"), dict) else {}
    read, written = count_of(spent, "prompt_tokens"), count_of(spent, "completion_tokens")
    if read and written and "completion_tokens_details" not in spent:
        written = max(written, count_of(spent, "total_tokens") - read)
    return read, written


def fills_context(tokens_in: int, tokens_out: int, most: int) -> bool:
    """Return whether a reply was cut off because request and reply fill the context, not at the reply's own limit.

    most: maximum number of tokens of the reply. A context is a multiple of 256 or 1000 tokens, of which some servers
    reserve one; a server's own limit of a reply is a round number.
    """
    total = tokens_in + tokens_out
    return (tokens_in > 0 and tokens_out < most and (tokens_out % 128 > 0 or not tokens_out)
            and any((total + kept) % size == 0 for size in (256, 1000) for kept in (0, 1)))


def cached_tokens(data: Mapping[str, Any]) -> int:
    """Return how many input tokens were read from the server's cache; servers have three names for this count."""
    spent = data["usage"] if isinstance(data.get("usage"), dict) else {}
    details = spent["prompt_tokens_details"] if isinstance(spent.get("prompt_tokens_details"), dict) else {}
    found = (count_of(details, "cached_tokens") or count_of(spent, "prompt_cache_hit_tokens")
             or count_of(spent, "cache_read_input_tokens"))
    return min(found, count_of(spent, "prompt_tokens"))


def count_of(usage: Mapping[str, Any], name: str) -> int:
    """Return a count of tokens, clipped to MOST_TOKENS: a server may report an impossible number."""
    value = usage.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        return 0
    return int(min(value, MOST_TOKENS))


def letter_weights(choice: Mapping[str, Any], letters: str) -> list[float] | None:
    """Return the probability of each letter as the first token, or None if the reply has no logprobs."""
    try:
        top = choice["logprobs"]["content"][0]["top_logprobs"][:_MOST_LOGPROBS]
        pairs = [(entry["token"][:20].strip(" ().:").upper(), probability(entry["logprob"])) for entry in top]
    except (KeyError, IndexError, TypeError, AttributeError):
        return None
    return [sum(p for token, p in pairs if token == letter) for letter in letters] if pairs else None


def probability(logprob: object) -> float:
    """Return the probability of a token; 0 if its logarithm is not a number (null, NaN, a text)."""
    if isinstance(logprob, bool) or not isinstance(logprob, (int, float)) or logprob != logprob:
        return 0.0  # math.isnan would fail for integers of 400 digits
    return math.exp(min(0.0, max(-1000.0, logprob)))


def _begin(value: object) -> str:
    """Return the beginning of a value for an error message."""
    return _SHORT.repr(value)[:240]


def model_names(text: str) -> list[str]:
    """Return the names in the text of a list of models; [] for anything else."""
    try:
        return [str(entry["id"])[:200] for entry in json.loads(text)["data"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
