"""Agents by name: who answers, from which views, and how the place is explored first. docs/agents.md is the table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.registry import ANSWERERS, DEFAULT_POLICY

if TYPE_CHECKING:
    from eqa_nodes.config.graph import Parameters

_CAPTIONING_S = 1800.0  # for one answer that describes every picture first


@dataclass(frozen=True)
class NamedAgent:
    """A row of the table.

    answerer: a name of ANSWERERS. frames, k: which views of a history (EM-EQA) answer, and how many. policy, explore,
    k_active: how a place is explored (AgentConfig.explore), and from how many views the answer is then made (A-EQA).
    """

    answerer: str
    frames: str = "uniform"
    k: int = 50
    k_active: int = 75
    policy: str = "frontier"
    explore: str = "first"


_THINGS = NamedAgent("", frames="kept", k=200, k_active=200)

AGENTS: dict[str, NamedAgent] = {
    "random": NamedAgent("random", frames="none", explore="never"),
    "blind": NamedAgent("blind-llm", frames="none", explore="never"),
    "blind-priors": NamedAgent("blind", frames="none", explore="never"),
    "socratic-captions": NamedAgent("socratic-captions"),
    "socratic-graph": replace(_THINGS, answerer="socratic-graph"),
    "socratic-graph-no-boxes": replace(_THINGS, answerer="socratic-graph-no-boxes"),
    "socratic-voxel": replace(_THINGS, answerer="socratic-voxel"),
    "socratic-voxel-no-boxes": replace(_THINGS, answerer="socratic-voxel-no-boxes"),
    "multi-frame": NamedAgent("vlm"),
    "snapshot": replace(_THINGS, answerer="snapshot", policy="snapshot", explore="asking"),
    "ours": NamedAgent("vlm", frames="recalled", k=12, k_active=12, policy=DEFAULT_POLICY, explore="asking"),
    "label": NamedAgent("label", policy=DEFAULT_POLICY, explore="asking"),
}
DEFAULT = NamedAgent("label", policy=DEFAULT_POLICY, explore="asking")  # where none is named
FUNCTION = replace(DEFAULT, answerer="blind", k=0)  # beside a function: its blind guess, and every frame


def is_function(name: str) -> bool:
    """Say whether a name means a function of the user's own: "package.module:function"."""
    return ":" in name


def agent_of(name: str) -> NamedAgent:
    """Return the agent of a name; "": the default. Raises ConfigError that lists the known ones."""
    if name and name not in AGENTS and not is_function(name):
        raise ConfigError(unknown("agent", name, (*AGENTS, "package.module:function")))
    return FUNCTION if is_function(name) else AGENTS.get(name, DEFAULT)


def refuse_function(name: str) -> None:
    """Raise ConfigError for a function where only nodes can answer."""
    if is_function(name):
        raise ConfigError(f"the agent {name!r} is a function, which no node runs: use `eqa bench run` or `eqa ask "
                          "--history`")


def agent_parameters(name: str, answerer: str, k: int) -> Parameters:
    """Return the parameters by which nodes differ from their defaults under this agent and answerer, with k views."""
    agent = agent_of(name)
    own: Parameters = {"agent": {}, "answerer": {}}
    if name in AGENTS:
        own["agent"] = {"agent.explore": agent.explore, "agent.recall_limit": k}
        if agent.explore == "first":
            own["answerer"] = {"max_images": k}
    if ANSWERERS.traits(answerer).captions:
        own["agent"]["model_deadline_s"] = _CAPTIONING_S
    return own


def stopping_parameters(answerer: str) -> Parameters:
    """Return the agent's calibration and the probability that is enough, as an answerer states them."""
    traits = ANSWERERS.traits(answerer)
    own: dict[str, object] = {"agent.calibration": traits.calibration} if traits.calibration else {}
    return {"agent": own if traits.enough is None else {**own, "agent.enough": traits.enough}}
