"""Names of components for help and completion, looked up when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable


def agents() -> Iterable[str]:
    """Return the names of agents."""
    from eqa_nodes.registry.agents import AGENTS

    return AGENTS


def answerers() -> Iterable[str]:
    """Return the names of answerers."""
    from eqa_nodes.registry import ANSWERERS

    return ANSWERERS


def policies() -> Iterable[str]:
    """Return the names of exploration policies."""
    from eqa_nodes.registry import POLICIES

    return POLICIES


def backends() -> Iterable[str]:
    """Return the names of model backends."""
    from eqa_nodes.models import BACKENDS

    return BACKENDS


def robots() -> Iterable[str]:
    """Return the names of robots."""
    from sim_bridge.robots import ROBOTS

    return ROBOTS


def judges() -> Iterable[str]:
    """Return the names of judges."""
    from eqa_nodes.bench.judges import JUDGES, MODEL_JUDGES

    return (*JUDGES, *MODEL_JUDGES)


def datasets() -> Iterable[str]:
    """Return the names of data sets."""
    from eqa_nodes.bench.datasets import DATASETS

    return DATASETS


def detectors() -> Iterable[str]:
    """Return the names of detectors."""
    return ("labels", "transformers")
