"""A web console: ask the robot on a page, watch what it does and why, see the proof (docs/console.md)."""

from importlib import util

from eqa_nodes.core.errors import MissingExtra


def check_server() -> None:
    """Raise MissingExtra where the libraries of the web server are absent."""
    for library in ("starlette", "uvicorn"):
        if util.find_spec(library) is None:
            raise MissingExtra(library, "console")
