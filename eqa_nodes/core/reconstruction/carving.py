"""Which blocks a depth image has looked through: what is held there may be gone."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.reconstruction.blocks import BLOCK, keys_of
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.types.views import Intrinsics


def seen_through(depth_m: np.ndarray, k: Intrinsics, map_from_camera: np.ndarray,
                 config: ReconstructionConfig) -> np.ndarray:
    """Return the keys of the blocks between the camera and the surfaces that it sees, sorted, known or not.

    depth_m: (H, W) float32, metres, 0 = no return, of which nothing is known. Rays lie at most a block apart, and so
    do their samples: the cost depends on the range and on the size of a block alone.
    """
    block_m = BLOCK * config.voxel_m
    step = max(1, int(block_m * min(k.fx, k.fy) / config.range_m))
    depth_m = depth_m[step // 2::step, step // 2::step]
    v, u = np.indices(depth_m.shape) * step + step // 2 + 0.5
    rays = np.stack([(u - k.cx) / k.fx, (v - k.cy) / k.fy, np.ones_like(u)], axis=-1) @ map_from_camera[:3, :3].T
    samples_m = np.arange(block_m / 2, config.range_m, block_m)
    free = samples_m < (depth_m - config.truncation_m)[..., None]
    ray, sample = np.nonzero(free.reshape(-1, len(samples_m)))
    points = rays.reshape(-1, 3)[ray] * samples_m[sample, None] + map_from_camera[:3, 3]
    return np.unique(keys_of(np.floor(points / block_m).astype(np.int64)))
