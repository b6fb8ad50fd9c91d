"""A web console: ask the robot questions, watch what it does and why, and see the evidence (docs/console.md)."""

from importlib import util

from eqa_nodes.core.errors import MissingExtra


def check_server() -> None:
    """Raise MissingExtra if the libraries of the web server are not installed."""
    for library in ("starlette", "uvicorn"):
        if util.find_spec(library) is None:
            raise MissingExtra(library, "console")
