"""An answerer with its model behind it, by name."""

from __future__ import annotations

from eqa_nodes.core import answering
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.vlm import make_backend


def make_answerer(name: str, backend: str = "openai") -> Answerer:
    """Return an answerer; only `vlm` needs the backend. Raises ConfigError for unknown names and missing settings."""
    return answering.make_answerer(name, make_backend(backend) if name == "vlm" else None)
