"""Keyframes chosen by place (TAKS; ExploraQA, 4.3): a policy marks visited places, the answerer gets their views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from eqa_nodes.core.types.floor import Candidate
from eqa_nodes.core.types.geometry import Pose2

if TYPE_CHECKING:  # it loads SciPy, which the agent's memory does without
    from eqa_nodes.core.policies.topo_graph import TopoGraph

BETA = 0.5  # score above which a place is chosen, as published
_KEYFRAME, _PASSED = "keyframe", "no keyframe"  # labels of marks
_OF_PLACE_M = 1.5  # a view farther from every marked place is of one that was not scored yet


def marks_of(graph: TopoGraph, scores: np.ndarray, beta: float = BETA) -> tuple[Candidate, ...]:
    """Return the visited places of a graph as marks of a decision. scores: of all nodes, (n,), 0..1."""
    return tuple(Candidate(x, y, float(score), _KEYFRAME if score > beta else _PASSED)
                 for (x, y), score in zip(graph.visited, scores[1:graph.first].tolist(), strict=True))


def places_in(marks: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return the scored places among the marks of a decision; none if none of them was chosen."""
    places = tuple(mark for mark in marks if mark.label in (_KEYFRAME, _PASSED))
    return places if any(place.label == _KEYFRAME for place in places) else ()


def is_chosen(pose: Pose2, places: Sequence[Candidate]) -> bool:
    """Return whether a view from a pose is one of a chosen place, or of none that was scored."""
    near = min(places, key=lambda place: math.dist(pose[:2], place[:2]), default=None)
    return near is None or near.label == _KEYFRAME or math.dist(pose[:2], near[:2]) > _OF_PLACE_M
