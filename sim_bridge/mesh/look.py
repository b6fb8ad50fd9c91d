"""What a camera sees of a scan."""

from __future__ import annotations

import numpy as np

from sim_bridge.house.render import Image, RayScene, intrinsics_of, optical_rays
from sim_bridge.mesh.load import TriangleScene
from sim_bridge.simulator import Camera


class MeshRenderer:
    """Draws a scan from any pose: depth only."""

    def __init__(self, scene: TriangleScene) -> None:
        self._rays = RayScene(scene.vertices[scene.faces])

    def image(self, camera: Camera, map_from_camera: np.ndarray) -> Image:
        """Return what a camera at `map_from_camera` (4, 4), optical axes, sees."""
        k = intrinsics_of(camera)
        directions = optical_rays(k) @ map_from_camera[:3, :3].astype(np.float32).T
        hit = self._rays.hits(np.broadcast_to(map_from_camera[:3, 3].astype(np.float32), directions.shape).copy(),
                              directions)
        depth = np.where((hit["primID"] >= 0) & (hit["tfar"] <= camera.max_range_m), hit["tfar"], np.float32(0))
        shape = k.height, k.width
        return Image(np.full((*shape, 3), 128, np.uint8), depth.reshape(shape), np.zeros(shape, np.uint16))
