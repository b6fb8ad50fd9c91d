"""Python's garbage collector and large libraries."""

from __future__ import annotations

import gc


def exempt_loaded() -> None:
    """Exempt all objects that exist from garbage collection; call it after a large library was imported.

    A full collection otherwise visits the library's objects, which takes 50 to 100 ms, in the middle of some request.
    Objects are still freed when nothing refers to them; only cycles among them are kept.
    """
    gc.collect()
    gc.freeze()
