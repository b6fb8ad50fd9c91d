"""Exploration policies by name. Each answers one question: where to look next, and why."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.policies.config import PolicyConfig
from eqa_nodes.core.protocols import Policy

_POLICIES = {
    "random": ("eqa_nodes.core.policies.random_policy", "RandomPolicy"),
    "frontier": ("eqa_nodes.core.policies.frontier_policy", "FrontierPolicy"),
    "goal": ("eqa_nodes.core.policies.goal_policy", "GoalPolicy"),
    "fine": ("eqa_nodes.core.policies.fine_policy", "FinePolicy"),
    "snapshot": ("eqa_nodes.core.policies.snapshot_policy", "SnapshotPolicy"),
    "topo": ("eqa_nodes.core.policies.topo_policy", "TopoPolicy"),
    "best": ("eqa_nodes.core.policies.best_policy", "BestPolicy"),
}
DEFAULT = "best"


def policy_names() -> list[str]:
    """Return the known names, sorted."""
    return sorted(_POLICIES)


def make_policy(name: str, config: PolicyConfig | None = None, radius_m: float = 0.18) -> Policy:
    """Return the policy of this name for a robot of this radius (m). Raises ConfigError listing the known names."""
    if name not in _POLICIES:
        raise ConfigError(unknown("policy", name, _POLICIES))
    module, attribute = _POLICIES[name]
    factory: Callable[..., Policy] = getattr(import_module(module), attribute)
    return factory(getattr(config or PolicyConfig(), name), radius_m)
