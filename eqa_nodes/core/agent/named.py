"""Agents as values: who answers, from which views, and how a place is explored first. docs/agents.md is the table."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class NamedAgent:
    """What a name of an agent stands for.

    answerer: its name. frames, k: which views of a history (EM-EQA) answer, and how many. policy, explore, k_active:
    how a place is explored (AgentConfig.explore), and from how many views the answer is then made (A-EQA).
    """

    answerer: str
    frames: str = "uniform"
    k: int = 50
    k_active: int = 75
    policy: str = "frontier"
    explore: str = "first"


_OF_OBJECTS = NamedAgent("", frames="kept", k=200, k_active=200)

RANDOM = NamedAgent("random", frames="none", explore="never")
BLIND = NamedAgent("blind-llm", frames="none", explore="never")
BLIND_PRIORS = NamedAgent("blind", frames="none", explore="never")
SOCRATIC_CAPTIONS = NamedAgent("socratic-captions")
SOCRATIC_GRAPH = replace(_OF_OBJECTS, answerer="socratic-graph")
SOCRATIC_GRAPH_NO_BOXES = replace(_OF_OBJECTS, answerer="socratic-graph-no-boxes")
SOCRATIC_VOXEL = replace(_OF_OBJECTS, answerer="socratic-voxel")
SOCRATIC_VOXEL_NO_BOXES = replace(_OF_OBJECTS, answerer="socratic-voxel-no-boxes")
MULTI_FRAME = NamedAgent("vlm")
SNAPSHOT = replace(_OF_OBJECTS, answerer="snapshot", policy="snapshot", explore="asking")
OURS = NamedAgent("vlm", frames="recalled", k=12, k_active=12, policy="best", explore="asking")
LABEL = NamedAgent("label", policy="best", explore="asking")
FUNCTION = replace(LABEL, answerer="blind", k=0)  # beside a function: its blind guess, and every frame
