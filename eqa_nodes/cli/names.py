"""Names of components for help and completion, looked up when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable


def agents() -> Iterable[str]:
    """Return the names of agents."""
    from eqa_nodes.core.components import AGENTS

    return AGENTS


def answerers() -> Iterable[str]:
    """Return the names of answerers."""
    from eqa_nodes.core.components import ANSWERERS

    return ANSWERERS


def policies() -> Iterable[str]:
    """Return the names of exploration policies."""
    from eqa_nodes.core.components import POLICIES

    return POLICIES


def backends() -> Iterable[str]:
    """Return the names of model backends."""
    from eqa_nodes.core.components import BACKENDS

    return BACKENDS


def robots() -> Iterable[str]:
    """Return the names of robots."""
    from sim_bridge.robots import ROBOTS

    return ROBOTS


def judges() -> Iterable[str]:
    """Return the names of judges."""
    from eqa_nodes.core.components import JUDGES

    return JUDGES


def datasets() -> Iterable[str]:
    """Return the names of data sets."""
    from eqa_nodes.core.components import READERS

    return READERS


def detectors() -> Iterable[str]:
    """Return the names of detectors."""
    from eqa_nodes.core.components import DETECTORS

    return DETECTORS


def histories() -> Iterable[str]:
    """Return the names of formats of episode histories."""
    from eqa_nodes.core.components import HISTORIES

    return HISTORIES


def recognisers() -> Iterable[str]:
    """Return the names of speech recognisers."""
    from eqa_nodes.core.components import RECOGNISERS

    return RECOGNISERS
