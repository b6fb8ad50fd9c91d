"""Tests of the web console skip themselves where its libraries are absent, with the remedy as the reason."""

from __future__ import annotations

import pytest


def need_console() -> None:
    """Skip the calling module without Starlette or uvicorn; call it before importing the console's server."""
    for library in ("starlette", "uvicorn"):
        pytest.importorskip(library, reason=f"{library} is not installed: pip install 'eqa-nodes[console]'")
