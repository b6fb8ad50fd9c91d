"""Strangers hold more connections than a server has descriptors, and the robot can still be stopped."""

from __future__ import annotations

from tests.fixtures.needs import need_assistant

need_assistant()

import json
import select
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from eqa_nodes.testing.waiting import WAIT_S
from tests.fixtures.certificates import HAVE
from tests.fixtures.served_page import ASSISTANT, CONSOLE, DESCRIPTORS, TLS

HELLO = bytes.fromhex("16030100c8010000c40303")  # the beginning of a TLS handshake
KINDS = [CONSOLE, ASSISTANT, pytest.param(TLS, marks=pytest.mark.skipif(
    not HAVE, reason="openssl is not installed: apt install openssl"))]


@contextmanager
def served(kind: str, folder: Path) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    """Give address and token of a server in a process of its own."""
    with subprocess.Popen([sys.executable, "-m", "tests.fixtures.served_page", kind, str(folder)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        url, token = said(process).split()
        yield url, token, process
        process.communicate(timeout=WAIT_S)
    assert process.returncode == 0


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None and select.select([process.stdout], [], [], WAIT_S)[0]
    return process.stdout.readline()


@pytest.mark.parametrize("kind", KINDS)
def test_more_connections_than_descriptors_do_not_keep_a_stop_out(tmp_path: Path, kind: str) -> None:
    with served(kind, tmp_path) as (url, token, process):
        host, port = url.split("/")[2].split(":")
        for sent in (b"", HELLO, b"POST /stop HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"):
            with ExitStack() as stack:
                for n in range(DESCRIPTORS + 20):
                    connection = stack.enter_context(
                        socket.create_connection((host, int(port)), WAIT_S, (f"127.0.0.{1 + n % 7}", 0)))
                    connection.sendall(sent)
                stop(kind, url, token)
                assert said(process) == "stopped\n"


def stop(kind: str, url: str, token: str) -> None:
    if kind == ASSISTANT:
        anyio.run(stop_by_tool, f"{url}mcp", token)
        return
    host, unchecked = url.split("/")[2], ssl._create_unverified_context()
    with closing(HTTPSConnection(host, timeout=WAIT_S, context=unchecked) if kind == TLS
                 else HTTPConnection(host, timeout=WAIT_S)) as connection:
        connection.request("POST", "/stop", json.dumps({}), {
            "Content-Type": "application/json", "Cookie": f"eqa_console_{host.split(':')[1]}={token}"})
        assert connection.getresponse().status == 200


async def stop_by_tool(url: str, token: str) -> None:
    with anyio.fail_after(WAIT_S):
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http, Client(
                streamable_http_client(url, http_client=http)) as client:
            assert not (await client.call_tool("stop", {})).is_error
