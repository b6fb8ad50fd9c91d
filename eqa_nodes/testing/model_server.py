"""A real HTTP server on localhost that plays scripted replies, faults and delays of a model endpoint.

It is no kinder than real servers: connections stay open between requests, replies contain the additional fields of
OpenAI, vLLM, llama.cpp and Ollama, most of them null, and it refuses a request that OpenAI would refuse.
"""

from __future__ import annotations

import base64
import binascii
import json
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple

_PATH = "/v1/chat/completions"
_KNOWN = {"model", "messages", "seed", "temperature", "max_tokens", "max_completion_tokens", "logprobs", "top_logprobs",
          "response_format"}


class ServerReply(NamedTuple):
    """One scripted HTTP reply. delay_s: delay before anything is sent; drip_s: pause after every byte of the body.

    missing: number of announced bytes that are not sent. headers: further headers. endless: repeat the body forever.
    """

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    delay_s: float = 0.0
    drip_s: float = 0.0
    retry_after: str = "0.01"  # only with status 429 and 503; keeps the client's pauses short
    missing: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    endless: bool = False


NOT_FOUND = ServerReply(b'{"detail": "Not Found"}', 404)


def completion(text: str | None, finish: str = "stop", tokens: tuple[int, int] = (100, 7), cached: int | None = None,
               **choice: Any) -> ServerReply:
    """Return a well-formed chat completion. cached: number of cached prompt tokens; None = not reported."""
    message: dict[str, Any] = {
        "role": "assistant", "content": text, "refusal": None, "annotations": [], "tool_calls": [],
        "reasoning_content": None, "reasoning": None, "function_call": None}
    first = {"index": 0, "finish_reason": finish, "stop_reason": None, "logprobs": None, "message": message, **choice}
    return ServerReply(json.dumps({
        "id": "c-1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [first],
        "service_tier": None, "system_fingerprint": None, "prompt_logprobs": None, "usage": _usage(tokens, cached),
    }).encode())


def _usage(tokens: tuple[int, int], cached: int | None = None) -> dict[str, Any]:
    details = None if cached is None else {"cached_tokens": cached, "audio_tokens": 0}
    return {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens),
            "prompt_tokens_details": details, "completion_tokens_details": {"reasoning_tokens": 0}}


def refusal(body: Any) -> str:
    """Return why OpenAI would refuse a request, "" if it would not."""
    if unknown := set(body) - _KNOWN:
        return f"Unrecognized request argument supplied: {sorted(unknown)}"
    if {"max_tokens", "max_completion_tokens"} <= set(body):
        return "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    if "top_logprobs" in body and not (body.get("logprobs") and 0 <= body["top_logprobs"] <= 20):
        return "'top_logprobs' needs 'logprobs', and is at most 20."
    if not isinstance(body.get("seed", 0), int) or not 0.0 <= body.get("temperature", 0.0) <= 2.0:
        return "'seed' is a whole number, 'temperature' is at most 2."
    if not body.get("messages") or min(body.get("max_tokens", 1), body.get("max_completion_tokens", 1)) < 1:
        return "There must be messages, and room for one token."
    if why := _refused_form(body.get("response_format"), str(body["messages"])):
        return why
    return next((why for message in body["messages"] if (why := _refused(message))), "")


def _refused_form(form: Any, messages: str) -> str:
    if form is None or form == {"type": "json_object"}:
        return "" if form is None or "json" in messages.lower() else "'messages' must contain the word 'json'."
    given = form.get("json_schema", {})
    if form["type"] != "json_schema" or not given.get("name") or "schema" not in given:
        return "Missing required parameter: 'response_format.json_schema'."
    return _loose(given["schema"]) if given.get("strict") else ""


def _loose(schema: Any) -> str:
    """Return what a strict schema lacks: every object must require all its keys and allow no others."""
    if isinstance(schema, list):
        return next((why for each in schema if (why := _loose(each))), "")
    if not isinstance(schema, dict):
        return ""
    if schema.get("type") == "object" and (schema.get("additionalProperties") is not False
                                           or schema.get("required") != list(schema.get("properties", {}))):
        return "Invalid schema for response_format 'reply': 'additionalProperties' and 'required' must be supplied."
    return _loose(list(schema.values()))


def _refused(message: dict[str, Any]) -> str:
    if message["role"] not in ("system", "user", "assistant") or not message["content"]:
        return f"Invalid message: {str(message)[:80]}"
    for part in message["content"] if isinstance(message["content"], list) else []:
        kind, _, data = part.get("image_url", {}).get("url", "").partition(",")
        try:
            base64.b64decode(data, validate=True)
        except binascii.Error:
            return "Invalid base64 image_url."
        if part["type"] == "image_url" and not (kind == "data:image/jpeg;base64" and data):
            return f"Invalid image_url: {kind}"
        if part.get("image_url", {}).get("detail", "auto") not in ("low", "high", "auto"):
            return "Invalid value of 'image_url.detail'."
    return ""


class VlmServer:
    """Plays replies in order and repeats the last one; or calls a function that returns a reply to the JSON body.

    `requests` has the bodies. port: 0 = any free port; a given one to restart a server at the same address. models: its
    list of models, None = no list, as with some servers; if the first reply refuses the key, the list is refused too.
    elsewhere: its reply to requests at other paths than chat completions.
    """

    def __init__(self, replies: Sequence[ServerReply] | Callable[[dict[str, Any]], ServerReply], port: int = 0,
                 models: Sequence[str] | None = ("scripted",), elsewhere: ServerReply = NOT_FOUND) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._replies = replies if callable(replies) else list(replies)
        self._models, self._elsewhere = models, elsewhere
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._open: set[socket.socket] = set()
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                script._open.add(self.connection)

            def finish(self) -> None:
                script._open.discard(self.connection)
                super().finish()

            def do_POST(self) -> None:
                script._serve(self)

            def do_GET(self) -> None:
                script._list(self)

            def log_message(self, *args: object) -> None:
                """Log nothing, to keep the test's output clean."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Ignore clients that disconnect: many tests do so on purpose."""

        self._server = Server(("127.0.0.1", port), Handler)

    @property
    def url(self) -> str:
        """Base URL for a client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> VlmServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._open):  # a stopped server has no open connections
            with suppress(OSError):  # the client closed it first
                connection.shutdown(socket.SHUT_RDWR)

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            played = self._replies
            reply = played(request) if callable(played) else played[min(len(self.requests), len(played) - 1)]
            self.requests.append(request)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
        if handler.path != _PATH:
            reply = self._elsewhere
        elif why := refusal(request):
            reply = ServerReply(json.dumps({"error": {"message": why, "type": "invalid_request_error"}}).encode(), 400)
        self._ended.wait(reply.delay_s)
        with suppress(OSError):  # the client gave up, as intended by the test
            self._send(handler, reply)

    def _list(self, handler: BaseHTTPRequestHandler) -> None:
        listed = [{"id": name, "object": "model"} for name in self._models or ()]
        reply = NOT_FOUND if self._models is None else ServerReply(
            json.dumps({"object": "list", "data": listed}).encode())
        if not callable(self._replies) and self._replies and self._replies[0].status in (401, 403):
            reply = self._replies[0]
        handler.send_response(reply.status)
        handler.send_header("Content-Type", reply.content_type)
        handler.send_header("Content-Length", str(len(reply.body)))
        handler.end_headers()
        handler.wfile.write(reply.body)

    def _send(self, handler: BaseHTTPRequestHandler, reply: ServerReply) -> None:
        handler.send_response(reply.status)
        handler.send_header("Content-Type", reply.content_type)
        for name, value in reply.headers:
            handler.send_header(name, value)
        if reply.endless:
            handler.send_header("Transfer-Encoding", "chunked")
        else:
            handler.send_header("Content-Length", str(len(reply.body) + reply.missing))
        if reply.status in (429, 503):
            handler.send_header("Retry-After", reply.retry_after)
        handler.end_headers()
        size = 1 if reply.drip_s else max(len(reply.body), 1)
        pieces = [reply.body[i:i + size] for i in range(0, len(reply.body), size)]
        while not self._ended.is_set():
            for piece in pieces:
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if reply.endless else piece)
                if self._ended.wait(reply.drip_s) and reply.drip_s:
                    return
            if not reply.endless:
                break
        if reply.missing or self._ended.is_set():
            handler.close_connection = True
