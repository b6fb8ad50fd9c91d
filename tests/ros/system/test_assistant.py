"""An assistant's client over standard input and output, and over HTTP with a token, asks a real graph."""

from __future__ import annotations

from tests.fixtures.needs import need_assistant, need_ros

need_ros()
need_assistant()

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

START_S = 240.0
COMMAND = [sys.executable, "-m", "eqa_nodes.cli", "mcp", "--scene", "house:7"]
QUESTION = "Do I have any fruit left?"


@asynccontextmanager
async def over_pipes(folder: Path, asked: list[str]) -> AsyncIterator[Client]:
    async def person(_: Any, request: Any) -> ElicitResult:
        asked.append(request.message)
        return ElicitResult(action="accept", content={"drive": True})

    words = [*COMMAND[1:], "--drive", "confirm", "--out", str(folder / "run")]
    server = StdioServerParameters(command=COMMAND[0], args=words, env=dict(os.environ), cwd=folder)
    with (folder / "server.log").open("w") as log:
        async with Client(stdio_client(server, errlog=log), elicitation_callback=person,
                          read_timeout_seconds=START_S) as client:
            yield client


def test_a_question_over_pipes_is_confirmed_driven_and_proved(tmp_path: Path) -> None:
    asked: list[str] = []

    async def talk() -> tuple[Any, Any]:
        async with over_pipes(tmp_path, asked) as client:
            return await client.call_tool("ask", {"question": QUESTION}), await client.call_tool("recall", {})

    answer, views = anyio.run(talk)
    assert not answer.is_error, answer.content
    shown = json.loads(answer.content[0].text)
    assert shown["answer"] and not shown["error"] and shown["proofs"] and shown["cost"]["steps"] > 0, shown
    assert asked == [f"May the robot drive to answer: {QUESTION}"]
    assert any(block.type == "image" for block in views.content)


@contextmanager
def over_http(folder: Path) -> Iterator[tuple[str, str]]:
    """Serve; give the address and the header of the token, as the terminal shows them."""
    words = [*COMMAND, "--http", "--port", "0", "--out", str(folder / "run")]
    with subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        try:
            said = iter(process.stderr.readline, "")
            address = next(line for line in said if line.startswith("ready: ")).split()[1]
            yield address, next(said).partition("header: Authorization: ")[2].strip()
        finally:
            process.terminate()
            process.wait(60.0)


def test_over_http_a_token_is_needed_and_nothing_drives(tmp_path: Path) -> None:
    async def talk(address: str, header: str) -> tuple[Any, set[str]]:
        async with (httpx2.AsyncClient(headers={"Authorization": header}, timeout=START_S) as web,
                    Client(streamable_http_client(address, http_client=web)) as client):
            offered = (await client.list_tools()).tools
            ask = next(tool for tool in offered if tool.name == "ask")
            return await client.call_tool("look", {}), set(ask.input_schema["properties"])

    with over_http(tmp_path) as (address, header):
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            assert httpx2.post(address, json={}, headers=headers).status_code == 401
        good = {"Authorization": header}
        assert httpx2.post(address, json={}, headers={**good, "Origin": "http://elsewhere"}).status_code == 403
        assert httpx2.post(address, json={}, headers={**good, "Host": "elsewhere"}).status_code == 421
        look, options = anyio.run(talk, address, header)
    assert not look.is_error and look.content[1].type == "image" and "drive" not in options

