"""Runs the server program of `eqa serve` so that it ends with its parent, however that dies: standard input closes.

The device is tried here, before the model is loaded, and not by the parent: a process that uses a GPU keeps some of
its memory. A request ends with its client: transformers' server ends only streams so, and would finish every reply
that nobody waits for before it begins the next one.
"""

from __future__ import annotations

import asyncio
import os
import runpy
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.models.accelerator import device_of

PROGRAM = "transformers.cli.transformers"


def run(program: str = PROGRAM) -> None:
    """Run a module with this process's arguments, as `python -m` does; a device that there is not is one line."""
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    _try_device(sys.argv[1:])
    if program == PROGRAM:
        _end_requests_with_their_clients()
    runpy.run_module(program, run_name="__main__", alter_sys=True)


def _try_device(words: list[str]) -> None:
    name = dict(pairwise(words)).get("--device", "auto")
    if name == "auto":
        return
    import torch

    try:
        device_of(torch, name, "--device")
    except ConfigError as error:
        raise SystemExit(f"eqa: {error}") from error


class Attended:
    """ASGI middleware: cancels the work on a request when its client disconnects."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        messages = asyncio.Queue[Any]()
        work = asyncio.ensure_future(self._app(scope, messages.get, send))

        async def listen() -> None:
            while (message := await receive())["type"] != "http.disconnect":
                messages.put_nowait(message)
            messages.put_nowait(message)
            work.cancel()

        ears = asyncio.ensure_future(listen())
        try:
            with suppress(asyncio.CancelledError):  # nobody is there who could be told
                await work
        finally:
            ears.cancel()


def _end_requests_with_their_clients() -> None:
    """Let the server program stop generating for a request that is cancelled; streams do so already."""
    import torch
    from transformers import StoppingCriteriaList
    from transformers.cli.serving import server, utils

    build, generate = server.build_server, utils.GenerateManager.generate_non_streaming

    async def attended(manager: Any, model: Any, processor: Any, inputs: Any, *others: Any, **named: Any) -> Any:
        gone = threading.Event()
        stops = StoppingCriteriaList([lambda tokens, scores, **more: torch.full((len(tokens),), gone.is_set(),
                                                                                device=tokens.device)])
        reply = generate(manager, model, processor, {**inputs, "stopping_criteria": stops}, *others, **named)
        try:
            return await asyncio.shield(asyncio.ensure_future(reply))  # its thread hands the result over, also too late
        finally:
            gone.set()

    def build_server(*arguments: Any, **options: Any) -> Any:
        app = build(*arguments, **options)
        app.add_middleware(Attended)
        return app

    utils.GenerateManager.generate_non_streaming = attended
    server.build_server = build_server


def _end_with_the_parent() -> None:
    while os.read(0, 1024):  # not through sys.stdin, whose lock a thread must not hold when Python ends
        pass
    os._exit(1)


if __name__ == "__main__":
    run()
