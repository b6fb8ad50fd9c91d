"""How real model servers refuse requests: statuses and bodies in the forms that users reported.

Each is a function of a request, for VlmServer; it refuses what the real server refuses, one fault at a time if the real
one does so, and plays `reply` only for a request that it accepts.

    with VlmServer(thinking_openai(completion("Red"))) as server: ...
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

from PIL import Image

from eqa_nodes.testing.model_server import ServerReply, completion

Body = dict[str, Any]
Manner = Callable[[Body], ServerReply]
_GATEWAY_S = 'For more information: set `litellm.drop_params=True` or for proxy: `litellm_settings: drop_params: true`.'


def error(status: int, **fields: Any) -> ServerReply:
    """Return an error in OpenAI's form. fields: message, type, param, code."""
    return json_error(status, {"error": {"message": "", "type": "invalid_request_error", "param": None, "code": None,
                                    **fields}})


def json_error(status: int, body: Any) -> ServerReply:
    """Return an error with a given body."""
    return ServerReply(json.dumps(body).encode(), status)


def images(body: Body) -> list[bytes]:
    """Return the images of a request."""
    parts = [part for message in body["messages"] if isinstance(message["content"], list)
             for part in message["content"]]
    return [base64.b64decode(part["image_url"]["url"].partition(",")[2]) for part in parts
            if part["type"] == "image_url"]


def thinking_openai(reply: ServerReply, thoughts: int = 3000) -> Manner:
    """OpenAI's reasoning models: other field names, no temperature, no log-probabilities, thoughts cost tokens."""

    def serve(body: Body) -> ServerReply:
        if "max_tokens" in body:
            return error(400, message="Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                         "'max_completion_tokens' instead.", param="max_tokens", code="unsupported_parameter")
        if body.get("temperature", 1) != 1:
            return error(400, message=f"Unsupported value: 'temperature' does not support {body['temperature']} with "
                         "this model. Only the default (1) value is supported.", param="temperature",
                         code="unsupported_value")
        if "logprobs" in body:
            return error(403, message="You are not allowed to request logprobs from this model")
        if body["max_completion_tokens"] < thoughts:
            spent = body["max_completion_tokens"]
            return completion("", "length", (100, spent))
        return reply

    return serve


def gemini(reply: ServerReply, unknown: Sequence[str] = ("seed", "logprobs", "top_logprobs")) -> Manner:
    """Gemini's endpoint: a list with one error that names all unknown fields; a subset of JSON schema."""

    def refuse(message: str) -> ServerReply:
        return json_error(400, [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}])

    def serve(body: Body) -> ServerReply:
        if named := [name for name in unknown if name in body]:
            return refuse("\n".join(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
                                    for name in named))
        if '"additionalProperties"' in json.dumps(body.get("response_format", {})):
            return refuse("Invalid JSON payload received. Unknown name \"additionalProperties\" at "
                          "'generation_config.response_schema': Cannot find field.")
        return reply

    return serve


def gemini_without_schemas(reply: ServerReply) -> Manner:
    """Gemini, for schemas that are too complex for it."""

    def serve(body: Body) -> ServerReply:
        if body.get("response_format", {}).get("type") == "json_schema":
            return json_error(400, [{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message":
                                "The specified schema produces a constraint that has too many states for serving."}}])
        return reply

    return serve


def anthropic(text: str, largest_px: int = 8000) -> Manner:
    """Anthropic's endpoint: it ignores seed, log-probabilities and response_format, and refuses large images."""

    def serve(body: Body) -> ServerReply:
        if any(max(Image.open(io.BytesIO(jpeg)).size) > largest_px for jpeg in images(body)):
            return error(400, code="invalid_request_error", message="messages.0.content.1.image.source.base64.data: At "
                         f"least one of the image dimensions exceed max allowed size: {largest_px} pixels")
        return completion(f"Here is what I see.\n```json\n{text}\n```")

    return serve


def vllm(reply: ServerReply, most_images: int = 1, context: int = 8192, reads: int = 1000) -> Manner:
    """vLLM: errors without an "error" object; a limit of images per prompt; prompt and reply share the context."""

    def refuse(message: str) -> ServerReply:
        return json_error(400, {"object": "error", "message": message, "type": "BadRequestError", "param": None,
                           "code": 400})

    def serve(body: Body) -> ServerReply:
        most = body.get("max_tokens", 0)
        if len(images(body)) > most_images:
            return refuse(f"At most {most_images} image(s) may be provided in one prompt.")
        if reads >= context:
            return refuse(f"This model's maximum context length is {context} tokens. However, your request has {reads} "
                          "input tokens. Please reduce the length of the input messages.")
        if reads + most > context:
            return refuse(f"'max_tokens' or 'max_completion_tokens' is too large: {most}. This model's maximum context "
                          f"length is {context} tokens and your request has {reads} input tokens ({most} > {context} - "
                          f"{reads}).")
        return reply

    return serve


def mistral(reply: ServerReply) -> Manner:
    """Mistral: FastAPI's form of an error inside a message; another name for `seed`."""

    def serve(body: Body) -> ServerReply:
        if "seed" in body:
            return json_error(422, {"object": "error", "message": {"detail": [
                {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted",
                 "input": body["seed"]}]}, "type": "invalid_request_error", "param": None, "code": None})
        return reply

    return serve


def litellm(reply: ServerReply, refused: Sequence[str] = ("logprobs", "top_logprobs", "temperature")) -> Manner:
    """LiteLLM in front of a model that lacks some fields: one error names all of them."""

    def serve(body: Body) -> ServerReply:
        if named := [name for name in refused if name in body]:
            return error(400, type="None", code="400", message="litellm.UnsupportedParamsError: provider does not "
                         f"support parameters: {named}, for model=m. {_GATEWAY_S}")
        return reply

    return serve


def without_schemas(reply: ServerReply) -> Manner:
    """OpenAI's older models: json_object, but no schema."""

    def serve(body: Body) -> ServerReply:
        if body.get("response_format", {}).get("type") == "json_schema":
            return error(400, message="Invalid parameter: 'response_format' of type 'json_schema' is not supported "
                         "with this model.")
        return reply

    return serve


def without_forms(reply: ServerReply) -> Manner:
    """xAI's first models: no response_format at all, and errors as plain text."""

    def serve(body: Body) -> ServerReply:
        if "response_format" in body:
            return json_error(400, {"code": "Client specified an invalid argument", "error":
                               "The response_format parameter is unsupported at the moment. Leave it unset."})
        return reply

    return serve


def silent(reply: ServerReply) -> Manner:
    """A gateway that refuses response_format without saying so."""

    def serve(body: Body) -> ServerReply:
        return json_error(400, {"error": {"code": 400, "message": "Request contains an invalid argument."}}) \
            if "response_format" in body else reply

    return serve


def openrouter(raw: ServerReply) -> ServerReply:
    """Return a provider's error as OpenRouter forwards it: as text inside its own error."""
    return json_error(raw.status, {"error": {"message": "Provider returned error", "code": raw.status, "metadata": {
        "raw": raw.body.decode(), "provider_name": "Azure"}}, "user_id": "u"})


def through_openrouter(manner: Manner) -> Manner:
    """A server behind OpenRouter."""

    def serve(body: Body) -> ServerReply:
        reply = manner(body)
        return reply if reply.status == 200 else openrouter(reply)

    return serve
