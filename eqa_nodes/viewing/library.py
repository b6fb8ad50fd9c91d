"""Rerun's library, which is an extra."""

from __future__ import annotations

from typing import Any

from eqa_nodes.core.errors import MissingExtra


def rerun() -> Any:
    """Return the module. Raises MissingExtra without it."""
    try:
        import rerun as library
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "rerun", "rerun") from error
    library.set_strict_mode(True)  # by default it turns errors into warnings, and writes nothing
    return library
