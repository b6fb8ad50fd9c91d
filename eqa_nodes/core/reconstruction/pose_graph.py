"""The pose graph of the anchors, optimised by Open3D (Choi, Zhou and Koltun 2015: wrong loops are dropped)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eqa_nodes.core.reconstruction.library import open3d
from eqa_nodes.core.reconstruction.tracking import PoseLink

_LOOP_M = 0.05  # a loop that is off by much more than this after optimisation is left out


def optimised(poses: Sequence[np.ndarray], links: Sequence[PoseLink]) -> tuple[list[np.ndarray], set[tuple[int, int]]]:
    """Return the poses (4, 4) that fit the links best, the first one held, and the pairs of the loops that were kept.

    poses: common_from_camera of each anchor, connected by the links; those of links name them by place.
    """
    registration = open3d().pipelines.registration
    graph = registration.PoseGraph()
    for pose in poses:
        graph.nodes.append(registration.PoseGraphNode(pose))
    for link in links:
        graph.edges.append(registration.PoseGraphEdge(link.source, link.target, link.target_from_source,
                                                      link.information, uncertain=link.loop))
    registration.global_optimization(
        graph, registration.GlobalOptimizationLevenbergMarquardt(),
        registration.GlobalOptimizationConvergenceCriteria(),
        registration.GlobalOptimizationOption(_LOOP_M, edge_prune_threshold=0.25, preference_loop_closure=1.0,
                                              reference_node=0))
    kept = {(edge.source_node_id, edge.target_node_id) for edge in graph.edges if edge.uncertain}
    return [np.array(node.pose) for node in graph.nodes], kept
