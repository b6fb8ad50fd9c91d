"""A background task: work in a thread of its own while the caller goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def background_task(name: str, work: Callable[[threading.Event], T]) -> Iterator[Future[T]]:
    """Run work(over) until it returns, at the latest soon after the body has ended: `over` is set then.

    Yields its future. Raises what the work raised, unless the body itself fails.
    """
    over = threading.Event()
    with ThreadPoolExecutor(1, name) as pool:
        done = pool.submit(work, over)
        try:
            yield done
        finally:
            over.set()
        done.result()
