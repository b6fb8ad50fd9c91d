"""Text of models, data sets and bags on its way to the terminal."""

from __future__ import annotations

from rich.markup import escape

from eqa_nodes.core.storage.text import printable


def shown(text: str) -> str:
    """Return the text so that rich prints it as it is: no markup of its own, nothing that steers the terminal."""
    return escape(printable(text))
