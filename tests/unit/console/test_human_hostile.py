"""Clients of the person's page that are broken or mean no good: the run goes on, and the person is served."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.console.human import server
from tests.unit.console.test_human import ANSWER, SAMPLES, Page, driven, sitting

WAIT_S = 60.0
PARTS = b"", b"GET / HTTP/1.1\r\nX: ", b"POST / HTTP/1.1\r\nContent-Length: 50\r\n\r\n{"  # the rest never comes


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with sitting(tmp_path, driven(), SAMPLES[:1]) as (page, _):
        yield page
        page.post("answer", id="a", **ANSWER)
        page.get("state")
    assert read_predictions(tmp_path).predictions["a"].answer.text == "a kettle"


def dialled(page: Page, source: str = "127.0.0.1") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", int(page.url.split(":")[2].split("/")[0])), WAIT_S, (source, 0))
    connection.settimeout(WAIT_S)
    return connection


def read(connection: socket.socket) -> bytes:
    data = b""
    try:
        while part := connection.recv(65536):
            data += part
    except ConnectionError:
        pass
    return data


@pytest.mark.parametrize("text", ["\ud800", "a \udfff kettle", "a\0kettle"])
def test_an_answer_that_is_no_text_is_refused_and_the_run_goes_on(page: Page, text: str) -> None:
    status, error = page.refused("answer", id="a", **{**ANSWER, "text": text})
    assert status == 400 and "surrogate" in error


def test_connections_that_send_nothing_or_too_little_keep_nobody_out(page: Page) -> None:
    with ExitStack() as stack:
        for n in range(3 * server.CONNECTIONS):
            connection = stack.enter_context(dialled(page, f"127.0.0.{1 + n % 5}"))
            connection.sendall(PARTS[n % 3])
        assert page.get("state")["id"] == "a"


@pytest.mark.parametrize("sent", PARTS)
def test_what_does_not_arrive_in_time_is_closed(page: Page, sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "ARRIVE_S", 0.2)
    with dialled(page) as connection:
        connection.sendall(sent)
        assert read(connection) == b""


@pytest.mark.parametrize(("path", "data"), [
    ("view/" + "9" * 5000 + ".jpg", None), ("view/%ed%a0%80", None), ("\xff", None),
    ("answer", b'{"id": %s}' % (b"9" * 5000)), ("answer", b"[" * 50_000), ("answer", b'{"id": "a", "text": "\xff"}')])
def test_requests_that_make_no_sense_are_refused_in_words(page: Page, path: str, data: Any,
                                                          capfd: pytest.CaptureFixture[str]) -> None:
    verb = b"POST" if data else b"GET"
    root = "/" + page.url.split("/", 3)[3]
    with dialled(page) as connection:
        connection.sendall(b"%s %s HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (
            verb, (root + path).encode("latin-1"), len(data or b""), data or b""))
        reply = read(connection)
    assert reply.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")) and b'"error"' in reply
    assert capfd.readouterr().err == ""


def test_a_client_that_leaves_in_the_middle_says_nothing_on_the_terminal(page: Page,
                                                                         capfd: pytest.CaptureFixture[str]) -> None:
    for sent in (b"", b"GET / HT", b"\x16\x03\x01 garbage\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: 50\r\n\r\n{"):
        with dialled(page) as connection:
            connection.sendall(sent)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # reset
    assert page.get("state")["id"] == "a"
    assert capfd.readouterr().err == ""
