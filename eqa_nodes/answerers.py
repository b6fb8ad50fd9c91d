"""Answerers by name, each imported when first used, with the model behind it."""

from __future__ import annotations

from collections.abc import Callable

from eqa_nodes.core.answering import BlindAnswerer
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.vlm import make_backend


def _label(backend: str) -> Answerer:
    from eqa_nodes.core.label_answerer import LabelAnswerer

    return LabelAnswerer()


def _vlm(backend: str) -> Answerer:
    from eqa_nodes.core.vlm_answerer import VlmAnswerer

    return VlmAnswerer(make_backend(backend))


def _blind(backend: str) -> Answerer:
    return BlindAnswerer(_label(backend))


ANSWERERS: dict[str, Callable[[str], Answerer]] = {"label": _label, "vlm": _vlm, "blind": _blind}


def make_answerer(name: str, backend: str = "openai") -> Answerer:
    """Return an answerer: label (privileged, no model), vlm (with a model backend), blind (guesses from priors).

    Raises ConfigError for an unknown name, and for settings that the backend lacks.
    """
    if name not in ANSWERERS:
        raise ConfigError(unknown("answerer", name, ANSWERERS))
    return ANSWERERS[name](backend)
