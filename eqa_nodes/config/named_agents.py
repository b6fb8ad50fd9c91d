"""Agents as values: the answerer, the views it gets, and how a place is explored first. docs/agents.md is the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from eqa_nodes.core.agent.config import FIRST, NEWEST
from eqa_nodes.core.answerers.wordings import OPENEQA
from eqa_nodes.core.components import AGENTS, ANSWERERS, DEFAULT_AGENT
from eqa_nodes.core.errors import ConfigError, unknown

if TYPE_CHECKING:
    from eqa_nodes.config.graph import Parameters


_CAPTIONING_S = 1800.0  # deadline for an answer that first captions every image


@dataclass(frozen=True)
class NamedAgent:
    """The configuration of a named agent.

    answerer: name of the answerer; frames, k: selection and number of the views of a history (EM-EQA), k = 0: for
    random ones as many as the data set says; policy, explore: how a place is explored (AgentConfig.explore);
    k_active: number of views for the answer after exploring (A-EQA); views_alone: memory is not asked before the views;
    parameters: further parameters of nodes, {node: {parameter: value}}.
    """

    answerer: str
    frames: str = "uniform"
    k: int = 50
    k_active: int = 75
    policy: str = "frontier"
    explore: str = "first"
    views_alone: bool = False
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def ends_by_itself(self) -> bool:
        """Whether exploration ends on its own; the usual limit of steps would end it too early."""
        return self.explore in (FIRST, NEWEST)


_OPENEQA = {"answerer": {"wording": OPENEQA}}
_OF_OBJECTS = NamedAgent("", frames="kept", k=200, k_active=200)
_SOCRATIC = replace(_OF_OBJECTS, parameters=_OPENEQA)

RANDOM = NamedAgent("random", frames="none", explore="never")
BLIND = NamedAgent("blind-llm", frames="none", explore="never", parameters=_OPENEQA)
BLIND_PRIORS = NamedAgent("blind", frames="none", explore="never")
SOCRATIC_CAPTIONS = NamedAgent("socratic-captions", parameters=_OPENEQA)
SOCRATIC_GRAPH = replace(_SOCRATIC, answerer="socratic-graph")
SOCRATIC_GRAPH_NO_BOXES = replace(_SOCRATIC, answerer="socratic-graph-no-boxes")
SOCRATIC_VOXEL = replace(_SOCRATIC, answerer="socratic-voxel")
SOCRATIC_VOXEL_NO_BOXES = replace(_SOCRATIC, answerer="socratic-voxel-no-boxes")
MULTI_FRAME = NamedAgent("vlm", parameters=_OPENEQA)
SNAPSHOT = replace(_OF_OBJECTS, answerer="snapshot", policy="snapshot", explore="asking")


def _express(coarse: str, regions: int, **agent: float) -> NamedAgent:
    """Return an exploring agent of EXPRESS-Bench: one image per decision, and the answer from the last one.

    Memory keeps every image, so that the last image of a drive is among them. agent: further settings of the agent.
    """
    return NamedAgent("vlm", policy="express", explore="newest", parameters={
        "explorer": {"params.express.coarse": coarse, "params.express.regions": regions},
        "agent": {"agent.look_round": False, "agent.max_legs": 1000,
                  **{f"agent.{name}": value for name, value in agent.items()}},
        "memory": {"memory.keyframes.min_move_m": 0.1, "memory.keyframes.min_turn_deg": 5.0}})


EXPRESS_SOCRATIC = NamedAgent("socratic-questioned", frames="random", k=0)  # passive baselines of table 2
EXPRESS_MULTI_FRAME = NamedAgent("vlm", frames="random", k=0)
EXPRESS_RANDOM, EXPRESS_FRONTIER = _express("random", 0), _express("frontier", 0)  # RE, FBE of table 2
EXPRESS_GOAL, FINE_EQA = _express("random", 2), _express("semantic", 2)  # GOE; its table 3 calls it "w/o FBE"
FINE_EQA_NO_GOAL = _express("semantic", 0)  # "w/o GOE" of table 3
FINE_EQA_NO_STOP = _express("semantic", 2, enough=2.0)
OURS = NamedAgent("vlm", frames="recalled", k=12, k_active=12, policy="best", explore="asking")
# Compared with memory's own answers to questions over weeks (docs/memory.md).
FRAMES = NamedAgent("vlm", views_alone=True)
RETRIEVAL = NamedAgent("vlm", frames="retrieved", k=12, views_alone=True)
DAY_TREE = NamedAgent("vlm", frames="days", k=12, views_alone=True)
LABEL = NamedAgent("label", policy="best", explore="asking")
FUNCTION = replace(LABEL, answerer="blind", k=0)  # in addition to a function: the blind guess, and all frames


def is_function(name: str) -> bool:
    """Return whether a name is that of a function: "package.module:function", or one that a package registers.

    Raises ConfigError for a registered function that cannot be imported.
    """
    return not isinstance(AGENTS[name], NamedAgent) if name in AGENTS else ":" in name


def agent_of(name: str) -> NamedAgent:
    """Return the agent of a name; "" = the default. Raises ConfigError listing the known agents."""
    if name and name not in AGENTS and not is_function(name):
        raise ConfigError(unknown("agent", name, (*AGENTS, "package.module:function")))
    agent: NamedAgent = FUNCTION if is_function(name) else AGENTS[name or DEFAULT_AGENT]
    return agent


def refuse_function(name: str) -> None:
    """Raise ConfigError for a function: only nodes can answer here."""
    if is_function(name):
        raise ConfigError(f"the agent {name!r} is a function, which nodes cannot run: use `eqa bench run` or `eqa ask "
                          "--history`")


def agent_parameters(name: str, answerer: str, k: int) -> Parameters:
    """Return the parameters of nodes that differ from their defaults for this agent and answerer, with k views."""
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


def stopping_parameters(answerer: str, detects: bool = False) -> Parameters:
    """Return the agent's calibration and the sufficient probability that an answerer specifies.

    detects: a detector finds the objects, instead of a simulator's labels.
    """
    traits = ANSWERERS.traits(answerer)
    calibration, enough = traits.calibration, traits.enough
    if detects:
        calibration, enough = traits.detected_calibration or calibration, traits.detected_enough or enough
    own: dict[str, object] = {"agent.calibration": calibration} if calibration else {}
    return {"agent": own if enough is None else {**own, "agent.enough": enough}}
