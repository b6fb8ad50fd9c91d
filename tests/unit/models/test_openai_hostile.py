"""The HTTP backend against servers that are hostile: bounded, never sent elsewhere, and always a ModelError."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.model import MOST_TOKENS, Message
from eqa_nodes.core.types.costs import Usage
from eqa_nodes.models.transport import BODY_BYTES, ERROR_BYTES, unpacker
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")

ASK = (Message("user", (b"\xff\xd8jpeg", "What color is the sofa?")),)
BOMB = gzip.compress(b" " * (4 * BODY_BYTES), 1)  # some hundred times smaller
GZIP = (("Content-Encoding", "gzip"),)


def edited(reply: ServerReply, old: bytes, new: bytes) -> ServerReply:
    assert old in reply.body
    return reply._replace(body=reply.body.replace(old, new))


@pytest.mark.parametrize(("told", "counted"), [
    (b"1e30", MOST_TOKENS), (b"1" + b"0" * 30, MOST_TOKENS), (b"1e400", MOST_TOKENS), (b"Infinity", MOST_TOKENS),
    (b"12.0", 12), (b"NaN", 0), (b"-5", 0), (b"-1e30", 0), (b'"12"', 0), (b"true", 0), (b"null", 0), (b"[7]", 0)])
def test_counts_of_tokens_are_counts_whatever_the_server_tells(connect: Callable[..., Any], told: bytes,
                                                               counted: int) -> None:
    reply = edited(completion("Red"), b'"prompt_tokens": 100', b'"prompt_tokens": ' + told)
    with VlmServer([reply]) as server:
        backend = connect(server.url, price_in=1e3)
        assert backend.generate(ASK) == ("Red", counted, 7, "stop")
    assert backend.usage == Usage(1, counted, 7, counted * 1e-3, images=1)
    assert 10 ** 9 * backend.usage.tokens_in < 2 ** 64  # what a receipt can hold


def test_a_reply_without_usage_costs_a_call(connect: Callable[..., Any]) -> None:
    body = json.loads(completion("Red").body)
    for usage in (None, [], "much", 7):
        with VlmServer([ServerReply(json.dumps({**body, "usage": usage}).encode())]) as server:
            backend = connect(server.url)
            assert backend.generate(ASK).text == "Red"
        assert backend.usage == Usage(1, 0, 0, images=1)


@pytest.mark.parametrize("status", [200, 400, 500])
def test_what_unpacks_to_too_much_is_not_kept(connect: Callable[..., Any], status: int) -> None:
    reply = ServerReply(BOMB, status, headers=GZIP)
    with VlmServer([reply]) as server, pytest.raises(ModelError) as caught:
        connect(server.url).generate(ASK)
    said = str(caught.value)
    assert said.startswith({200: f"invalid reply: it is longer than {BODY_BYTES} bytes", 400: "rejected",
                            500: "server error"}[status])
    assert len(said) < 1000


def test_pieces_are_unpacked_to_no_more_than_is_wanted() -> None:
    unpack = unpacker(" GZip ")
    assert unpack(BOMB[:1000], 50) == b" " * 50
    assert unpacker("deflate")(zlib.compress(b"Red"), 50) == b"Red"
    assert unpacker("identity")(b"Red", 2) == b"Red"  # the body is cut by who asks


def test_an_error_of_any_length_is_read_in_part(connect: Callable[..., Any]) -> None:
    reply = ServerReply(b"x" * 10_000, 500, "text/plain", endless=True)
    with VlmServer([reply]) as server, pytest.raises(ModelError, match="^server error") as caught:
        connect(server.url).generate(ASK)
    response = caught.value.__cause__.response  # type: ignore[union-attr]
    assert len(response.content) == ERROR_BYTES


def test_a_reply_that_a_proxy_packed_is_read(connect: Callable[..., Any]) -> None:
    reply = completion("Red ✓")
    with VlmServer([reply._replace(body=gzip.compress(reply.body), headers=GZIP)]) as server:
        assert connect(server.url).generate(ASK).text == "Red ✓"
        assert server.headers[0]["accept-encoding"] == "identity"


@pytest.mark.parametrize("coding", ["gzip, gzip", "br", "zstd", "gzip"])
def test_a_packing_that_cannot_be_bounded_or_is_none_has_a_name(connect: Callable[..., Any], coding: str) -> None:
    reply = completion("Red")._replace(headers=(("Content-Encoding", coding),))
    with VlmServer([reply]) as server, pytest.raises(ModelError, match="^invalid reply: Content-Encoding"):
        connect(server.url).generate(ASK)


@pytest.mark.parametrize("charset", ["zlib_codec", "punycode", "utf-16", "no-such"])
def test_texts_are_utf_8_whatever_a_header_claims(connect: Callable[..., Any], charset: str) -> None:
    with VlmServer([completion("Red ✓")._replace(content_type=f"text/plain; charset={charset}")]) as server:
        assert connect(server.url).generate(ASK).text == "Red ✓"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_pictures_and_key_are_sent_to_no_other_host(connect: Callable[..., Any], status: int) -> None:
    with VlmServer([completion("Red")]) as other:
        for place in (f"{other.url}/chat/completions", other.url.replace("http:", "") + "/chat/completions"):
            with VlmServer([ServerReply(b"", status, headers=(("Location", place),))]) as server:
                with pytest.raises(ModelError, match="^redirected: .*EQA_VLM_BASE_URL"):
                    connect(server.url, max_retries=1).generate(ASK)
                assert len(server.requests) == 1
    assert other.requests == []


def test_a_redirect_within_the_host_is_followed_with_the_whole_request(connect: Callable[..., Any]) -> None:
    moved = ServerReply(b"moved", 307, headers=(("Location", "/v1/chat/completions"),))
    with VlmServer([moved, completion("Red")]) as server:
        assert connect(server.url).generate(ASK).text == "Red"
        assert server.requests[0] == server.requests[1]
    with VlmServer([moved]) as server:
        with pytest.raises(ModelError, match="^redirected: .*circles"):
            connect(server.url).generate(ASK)
        assert len(server.requests) < 9
    with VlmServer([moved._replace(status=302)]) as server, pytest.raises(ModelError, match="^redirected"):
        connect(server.url).generate(ASK)  # it would become a GET without its question


ENDLESS = {
    "blanks": (ServerReply(b" " * 65_536, endless=True), "invalid reply"),
    "one byte now and then": (ServerReply(b" " * 100_000, drip_s=0.02), "timed out"),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_what_never_ends_is_ended(connect: Callable[..., Any], what: str) -> None:
    reply, kind = ENDLESS[what]
    with VlmServer([reply]) as server, pytest.raises(ModelError, match=f"^{kind}"):
        connect(server.url, deadline_s=0.6 if kind == "timed out" else 60.0).generate(ASK)


@contextmanager
def _writing(head: bytes, again: bytes, pause_s: float) -> Iterator[str]:
    """Run a server that sends a head, and then the same bytes for ever. Yields its base URL."""
    ended, listener = threading.Event(), socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # closed by the test
            with connection:
                try:
                    connection.sendall(head)
                    while not ended.wait(pause_s):
                        connection.sendall(again)
                except OSError:
                    pass  # the client gave up, as the test wants

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(20.0)


@pytest.mark.parametrize(("head", "again", "pause_s", "kind"), [
    (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x", 0.02, "timed out"),
    (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 10_000, 0.0, "cut off"),
    (b"HTTP/1.1 200 OK\r\n", b"X-Many: x\r\n" * 1000, 0.0, "cut off"),
    (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 0.0, "timed out"),
    (b"\x16\x03\x01 no HTTP at all\r\n\r\n", b"x", 0.02, "cut off"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", b"x", 0.02, "cut off"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"x", 0.02, "cut off"),
    (b"HTTP/1.1 307 Go\r\nLocation: http://[::1\r\nContent-Length: 0\r\n\r\n", b"", 0.02, "(cut off|rejected)"),
])
def test_heads_of_any_kind_end_in_a_model_error(connect: Callable[..., Any], head: bytes, again: bytes, pause_s: float,
                                                kind: str) -> None:
    with _writing(head, again, pause_s) as url, pytest.raises(ModelError, match=f"^{kind}"):
        connect(url, deadline_s=0.6 if kind == "timed out" else 60.0).generate(ASK)


@pytest.mark.parametrize("wanted", ["1e9", "nan", "-1", "1e400", "Fri, 31 Dec 9999 23:59:59 GMT", "soon",
                                    "Fri, 01 Jan 99999999999 00:00:00 GMT"])
def test_a_server_does_not_decide_how_long_is_waited(connect: Callable[..., Any], wanted: str) -> None:
    reply = ServerReply(b"{}", 429, retry_after=wanted)
    with VlmServer([reply]) as server, pytest.raises(ModelError, match="^(rate limited|timed out)"):
        connect(server.url, max_retries=3, deadline_s=0.4).generate(ASK)


def test_a_question_that_no_request_can_hold_is_sent_without_what_breaks_it(connect: Callable[..., Any]) -> None:
    with VlmServer([completion("Red")]) as server:
        backend = connect(server.url)
        assert backend.generate((Message("user", ("the \ud83d sofa",)),)).text == "Red"
        assert backend.generate((Message("user", ("the \ud83d sofa", b"\xff\xd8jpeg")),)).text == "Red"
    assert server.requests[0]["messages"][0]["content"] == "the \ufffd sofa"


@pytest.mark.parametrize(("head", "kind"), [
    (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:9/\r\nContent-Length: 0\r\n\r\n", "redirected"),
    (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n", "invalid reply"), (b"junk\r\n\r\n", "cut off"),
    (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", "timed out")])
def test_a_list_of_models_is_asked_for_with_the_same_care(connect: Callable[..., Any], head: bytes, kind: str) -> None:
    with _writing(head, b"x", 0.02) as url, pytest.raises(ModelError, match=f"^{kind}"):
        connect(url, deadline_s=0.6 if kind == "timed out" else 20.0).models()
