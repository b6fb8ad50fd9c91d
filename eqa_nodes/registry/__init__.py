"""Every kind of component by name: the built-in ones, and the groups of entry points by which packages add theirs.

A built-in component is one row here; docs/extending.md walks through each kind. Nothing is imported until it is asked
for, so that names can be listed at no cost.
"""

from __future__ import annotations

from eqa_nodes.core.registry import Registry
from eqa_nodes.core.traits import AnswererTraits, PolicyTraits

POLICIES = Registry("policy", "eqa_nodes.policies", {
    "random": "eqa_nodes.core.policies.random_policy:RandomPolicy",
    "frontier": "eqa_nodes.core.policies.frontier_policy:FrontierPolicy",
    "goal": "eqa_nodes.core.policies.goal_policy:GoalPolicy",
    "fine": "eqa_nodes.core.policies.fine_policy:FinePolicy",
    "snapshot": "eqa_nodes.core.policies.snapshot_policy:SnapshotPolicy",
    "topo": "eqa_nodes.core.policies.topo_policy:TopoPolicy",
    "best": "eqa_nodes.core.policies.best_policy:BestPolicy",
}, PolicyTraits())
DEFAULT_POLICY = "best"

_ANSWERERS = "eqa_nodes.core.answerers"
ANSWERERS = Registry("answerer", "eqa_nodes.answerers", {
    "label": f"{_ANSWERERS}.label.answerer:LabelAnswerer",
    "vlm": f"{_ANSWERERS}.vlm:VlmAnswerer",
    "blind": f"{_ANSWERERS}.blind:BlindLabelAnswerer",
    "blind-llm": f"{_ANSWERERS}.blind:BlindModelAnswerer",
    "random": f"{_ANSWERERS}.random_answer:RandomAnswerer",
    "socratic-captions": f"{_ANSWERERS}.socratic:CaptionAnswerer",
    "socratic-graph": f"{_ANSWERERS}.scene_graph:GraphAnswerer",
    "socratic-graph-no-boxes": f"{_ANSWERERS}.scene_graph:GraphAnswererNoBoxes",
    "socratic-voxel": f"{_ANSWERERS}.scene_graph:VoxelAnswerer",
    "socratic-voxel-no-boxes": f"{_ANSWERERS}.scene_graph:VoxelAnswererNoBoxes",
    "snapshot": f"{_ANSWERERS}.snapshot:SnapshotAnswerer",
}, AnswererTraits())
DEFAULT_ANSWERER = "label"
