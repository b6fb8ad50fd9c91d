"""The wire format of chat completions: messages out, replies and streams in. Nothing here touches a network."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.model import Message


def wire(message: Message) -> dict[str, Any]:
    """Return a message as the interface wants it: plain text where there is no image, else a list of parts."""
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.role, "content": "\n".join(map(str, message.parts))}
    return {"role": message.role, "content": [
        {"type": "text", "text": part} if isinstance(part, str) else
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64," + base64.b64encode(part).decode()}}
        for part in message.parts]}


def parse(text: str, model: str) -> dict[str, Any]:
    """Return a reply's JSON object. Raises ModelError: rubbish, server error."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"rubbish: the reply for {model} is not JSON: {text[:80]!r}") from error
    if not isinstance(data, dict):
        raise ModelError(f"rubbish: the reply for {model} is not a JSON object: {text[:80]!r}")
    if data.get("error"):  # some gateways report failures with status 200
        raise ModelError(f"server error: the reply for {model} is {text[:200]!r}")
    return data


def joined(text: str, model: str) -> dict[str, Any]:
    """Return a stream of server-sent events as the reply that it would have been in one piece.

    finish_reason is None where the stream was cut off. Raises ModelError: rubbish, server error, empty.
    """
    if text.lstrip().startswith("{"):
        return parse(text, model)  # a server that does not stream
    pieces: dict[str, list[str]] = {"content": [], "refusal": []}
    reason, usage = None, None
    tokens: list[object] = []
    for chunk in _events(text, model):
        usage = chunk.get("usage") or usage
        if chunk.get("choices") == []:
            continue  # the one that tells the usage
        choice = first_choice(chunk, model)
        delta = choice["delta"] if isinstance(choice.get("delta"), dict) else {}
        for name, texts in pieces.items():
            texts += [delta[name]] if isinstance(delta.get(name), str) else []
        reason = choice.get("finish_reason") or reason
        given = choice["logprobs"].get("content") if isinstance(choice.get("logprobs"), dict) else None
        tokens += given if isinstance(given, list) else []
    message = {name: "".join(texts) if texts else None for name, texts in pieces.items()}
    return {"usage": usage, "choices": [
        {"message": message, "finish_reason": reason, "logprobs": {"content": tokens} if tokens else None}]}


def _events(text: str, model: str) -> Iterator[dict[str, Any]]:
    """Yield the data of a stream of server-sent events up to its end."""
    *lines, last = re.split(r"\r\n|\n|\r", text)  # not at other separators: they may stand in a text
    if not last.startswith("data"):  # else it is cut off, and what was before it may be whole
        lines.append(last)
    for line in lines:
        field, colon, data = line.partition(":")
        if field not in ("", "data", "event", "id", "retry") or (field and not colon):
            raise ModelError(f"rubbish: the reply of {model} is no stream of events: {line[:80]!r}")
        if field == "data":  # "" is a comment, which keeps the connection alive
            if data.strip() == "[DONE]":
                return
            yield parse(data, model)


def first_choice(data: dict[str, Any], model: str) -> dict[str, Any]:
    """Return the reply's choice. Raises ModelError: empty."""
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ModelError(f"empty: the reply for {model} holds no choices: {str(data)[:120]}")
    return choices[0]


def content_of(choice: dict[str, Any], model: str) -> str:
    """Return the text of a choice; "" where the model was cut off before it wrote any."""
    message = choice["message"] if isinstance(choice.get("message"), dict) else {}
    content, refusal, reason = message.get("content"), message.get("refusal"), choice.get("finish_reason")
    if refusal or reason == "content_filter":
        raise ModelError(f"refused: {model} declined to answer: {str(refusal or content)[:120]!r}")
    if content is None and reason == "length":
        return ""
    if not isinstance(content, str):
        raise ModelError(f"empty: the reply for {model} holds no text: {str(choice)[:120]}")
    return content


def count_of(usage: Mapping[str, Any], name: str) -> int:
    """Return a count of tokens, 0 where the reply holds none."""
    value = usage.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def letter_weights(choice: dict[str, Any], letters: str) -> list[float] | None:
    """Return the probability mass of each letter as the first token, or None where the reply holds no logprobs."""
    try:
        top = choice["logprobs"]["content"][0]["top_logprobs"]
        pairs = [(str(entry["token"]).strip(" ().:").upper(), math.exp(min(0.0, float(entry["logprob"]))))
                 for entry in top]
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return [sum(p for token, p in pairs if token == letter) for letter in letters] if pairs else None
