"""An assistant's client over standard input and output asks a real graph."""

from __future__ import annotations

from tests.fixtures.needs import need_assistant, need_ros

need_ros()
need_assistant()

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import ElicitResult

START_S = 240.0
COMMAND = [sys.executable, "-m", "eqa_nodes.cli", "mcp", "--scene", "toy:flat"]
QUESTION = "Where is the plant?"


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
