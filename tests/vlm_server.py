"""A real HTTP server on localhost that plays scripted replies, faults and delays of a model endpoint."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple


class Reply(NamedTuple):
    """One scripted HTTP reply. delay_s: before anything is sent; drip_s: pause after every byte of the body.

    missing: bytes that are announced and never come.
    """

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    delay_s: float = 0.0
    drip_s: float = 0.0
    retry_after: str = "0.01"  # keeps the client's pauses short
    missing: int = 0


def completion(text: str | None, finish: str = "stop", tokens: tuple[int, int] = (100, 7), **choice: Any) -> Reply:
    """Return a well-formed chat completion."""
    first = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}, **choice}
    return Reply(json.dumps({
        "id": "c-1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [first],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
    }).encode())


def stream(*pieces: str, finish: str | None = "stop", tokens: tuple[int, int] = (100, 7), **choice: Any) -> Reply:
    """Return a chat completion in chunks, one a piece; finish None: it breaks off. choice: of the last piece."""
    def event(choices: list[dict[str, Any]], **more: Any) -> str:
        return "data: " + json.dumps({"object": "chat.completion.chunk", "choices": choices, **more}) + "\n\n"

    deltas = [{"index": 0, "delta": {"role": "assistant"}}, *({"index": 0, "delta": {"content": p}} for p in pieces)]
    deltas[-1] |= choice
    body = ": hello\n\n" + "".join(event([delta]) for delta in deltas)
    if finish:
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
        body += event([{"index": 0, "delta": {}, "finish_reason": finish}]) + event([], usage=usage)
        body += "data: [DONE]\n\n"
    return Reply(body.encode(), content_type="text/event-stream")


class VlmServer:
    """Plays replies in order, the last one for ever; or replies as a function of the JSON body that came in.

    `requests` holds the bodies. port: 0 = any that is free; another one where a server has gone away and comes back.
    """

    def __init__(self, replies: Sequence[Reply] | Callable[[dict[str, Any]], Reply], port: int = 0) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._replies = replies if callable(replies) else list(replies)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                script._serve(self)

            def log_message(self, *args: object) -> None:
                """Keep the test's output clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False

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

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            played = self._replies
            reply = played(request) if callable(played) else played[min(len(self.requests), len(played) - 1)]
            self.requests.append(request)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
        self._ended.wait(reply.delay_s)
        try:
            handler.send_response(reply.status)
            handler.send_header("Content-Type", reply.content_type)
            handler.send_header("Content-Length", str(len(reply.body) + reply.missing))
            handler.send_header("Retry-After", reply.retry_after)
            handler.end_headers()
            self._send(handler, reply)
        except OSError:
            pass  # the client gave up, as the test wants

    def _send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        if not reply.drip_s:
            handler.wfile.write(reply.body)
            return
        for byte in reply.body:
            if self._ended.is_set():
                return
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            time.sleep(reply.drip_s)
