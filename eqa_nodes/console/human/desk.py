"""Where the page and the run meet: the page's requests wait in a line, the run's own thread does them one by one."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from typing import NamedTuple

from eqa_nodes.console.values import RequestRefused

_WAIT_S = 30.0  # for the run to do what the page asked
_TICK_S = 0.2  # the run looks round so often, so that Ctrl-C ends it at once


class ImageFile(NamedTuple):
    """A file for the page."""

    mime: str
    data: bytes


Reply = Mapping[str, object] | ImageFile


class PersonRequest(NamedTuple):
    """What the page asks. path: of words without the token; body: of a POST, empty for a GET."""

    path: tuple[str, ...]
    body: Mapping[str, object]


@dataclass
class Desk:
    """Hands requests of the page's threads to the thread that runs the episodes."""

    _requests: queue.Queue[tuple[PersonRequest, Future[Reply]]] = field(default_factory=queue.Queue)

    def ask(self, request: PersonRequest) -> Reply:
        """Wait for the run to do this (any thread). Raises RequestRefused."""
        future: Future[Reply] = Future()
        self._requests.put((request, future))
        try:
            return future.result(_WAIT_S)
        except FutureTimeout:
            future.cancel()
            raise RequestRefused("the run is still preparing the question: please wait", 503) from None

    def serve(self, do: Callable[[PersonRequest], Reply], ready: Callable[[], bool],
              limit_s: float | None = None) -> bool:
        """Do requests until `ready` says so, or for limit_s (the run's thread). Return what `ready` says at the end."""
        ticks = 0
        while not ready() and (limit_s is None or ticks * _TICK_S < limit_s):
            try:
                request, future = self._requests.get(timeout=_TICK_S)
            except queue.Empty:
                ticks += 1
                continue
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(do(request))
            except Exception as error:  # a fault of the page's request must not end the run: the page shows it
                future.set_exception(error)
        return ready()
