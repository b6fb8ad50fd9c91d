"""Agents by name: who answers, from which views, and how the place is explored first. docs/agents.md is the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eqa_nodes.core.agent.named import FUNCTION, NamedAgent
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.registry import AGENTS, ANSWERERS, DEFAULT_AGENT

if TYPE_CHECKING:
    from eqa_nodes.config.graph import Parameters

_CAPTIONING_S = 1800.0  # for one answer that describes every picture first


def is_function(name: str) -> bool:
    """Say whether a name means a function: "package.module:function", or one that a package registers.

    Raises ConfigError for a registered one that cannot be imported.
    """
    return not isinstance(AGENTS[name], NamedAgent) if name in AGENTS else ":" in name


def agent_of(name: str) -> NamedAgent:
    """Return the agent of a name; "": the default. Raises ConfigError that lists the known ones."""
    if name and name not in AGENTS and not is_function(name):
        raise ConfigError(unknown("agent", name, (*AGENTS, "package.module:function")))
    agent: NamedAgent = FUNCTION if is_function(name) else AGENTS[name or DEFAULT_AGENT]
    return agent


def refuse_function(name: str) -> None:
    """Raise ConfigError for a function where only nodes can answer."""
    if is_function(name):
        raise ConfigError(f"the agent {name!r} is a function, which no node runs: use `eqa bench run` or `eqa ask "
                          "--history`")


def agent_parameters(name: str, answerer: str, k: int) -> Parameters:
    """Return the parameters by which nodes differ from their defaults under this agent and answerer, with k views."""
    agent = agent_of(name)
    own: dict[str, dict[str, Any]] = {"agent": {}, "answerer": {}}
    if name in AGENTS:
        own["agent"] = {"agent.explore": agent.explore, "agent.recall_limit": k}
        for node, values in agent.parameters.items():
            own.setdefault(node, {}).update(values)
        if agent.explore == "first":
            own["answerer"]["max_images"] = k
    if ANSWERERS.traits(answerer).captions:
        own["agent"]["model_deadline_s"] = _CAPTIONING_S
    return own


def stopping_parameters(answerer: str) -> Parameters:
    """Return the agent's calibration and the probability that is enough, as an answerer states them."""
    traits = ANSWERERS.traits(answerer)
    own: dict[str, object] = {"agent.calibration": traits.calibration} if traits.calibration else {}
    return {"agent": own if traits.enough is None else {**own, "agent.enough": traits.enough}}
