"""Instances from an image in which each pixel has a kind: connected in space, so that two chairs are two objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from eqa_nodes.core.perception.detection import Detection, DetectionConfig, depth_clusters
from eqa_nodes.core.perception.instances import points_of
from eqa_nodes.core.types.views import Frame


def instances_of_kinds(frame: Frame, kinds: np.ndarray, confidence: np.ndarray, names: Mapping[int, str],
                       config: DetectionConfig | None = None) -> list[Detection]:
    """Return the instances in an image of kinds, the highest score first.

    kinds: (H, W) int, the kind of each pixel; kinds that are missing in `names` are skipped. confidence: (H, W)
    float32, 0..1; the score of an instance is its mean. Pixels of one kind with depth in range form clusters of
    connected voxels, and each cluster with enough pixels is one instance.
    """
    config = config or DetectionConfig()
    inside = (frame.depth_m >= config.near_m) & (frame.depth_m <= config.far_m)
    found = []
    for kind in np.unique(kinds[inside]).tolist():
        if kind not in names:
            continue
        for mask in _clusters_of(frame, inside & (kinds == kind), config):
            v, u = np.nonzero(mask)
            box = int(u.min()), int(v.min()), int(u.max()) + 1, int(v.max()) + 1
            score = float(np.clip(np.round(confidence[mask].mean(dtype=np.float64), 6), 0.0, 1.0))
            found.append(Detection(names[kind], score, box, mask))
    return sorted(found, key=lambda d: (-d.score, d.name, d.box))


def _clusters_of(frame: Frame, mask: np.ndarray, config: DetectionConfig) -> Iterator[np.ndarray]:
    """Yield the (H, W) bool mask of each cluster of pixels that is large enough."""
    v, u = np.nonzero(mask)
    least = max(1.0, config.perception.min_share * frame.depth_m.size)
    if len(v) < least:
        return
    clusters = depth_clusters(points_of(frame, v, u)[1], config.eps_m, 1e-5 * frame.depth_m.size)
    counts = np.bincount(clusters)
    for number in np.flatnonzero(counts >= least).tolist():
        if number:
            mine = clusters == number
            one = np.zeros(mask.shape, bool)
            one[v[mine], u[mine]] = True
            yield one
