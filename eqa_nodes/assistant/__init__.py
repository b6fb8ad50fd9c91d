"""The robot as tools of an assistant, by the Model Context Protocol (docs/assistant.md)."""

from importlib import util

from eqa_nodes.core.errors import MissingExtra


def check_library() -> None:
    """Raise MissingExtra where the library of the protocol is absent."""
    if util.find_spec("mcp") is None:
        raise MissingExtra("mcp", "assistant")
