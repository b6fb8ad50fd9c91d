"""The robot as tools for an AI assistant, through the Model Context Protocol (docs/assistant.md)."""

from importlib import util

from eqa_nodes.core.errors import MissingExtra


def check_library() -> None:
    """Raise MissingExtra if the library of the protocol is not installed."""
    if util.find_spec("mcp") is None:
        raise MissingExtra("mcp", "assistant")
