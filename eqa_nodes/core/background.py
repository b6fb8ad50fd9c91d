"""A background task: work in a thread of its own while the caller continues."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def background_task(name: str, work: Callable[[threading.Event], T]) -> Iterator[Future[T]]:
    """Run work(over) in a thread while the body runs. `over` is set when the body ends, and work should then return.

    Yields the future of the work. Raises the error of the work, unless the body itself fails.
    """
    over = threading.Event()
    with ThreadPoolExecutor(1, name) as pool:
        done = pool.submit(work, over)
        try:
            yield done
        finally:
            over.set()
        done.result()
