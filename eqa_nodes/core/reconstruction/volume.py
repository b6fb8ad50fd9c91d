"""A coloured surface out of depth images: a truncated signed distance field (Curless and Levoy 1996) over Open3D.

Open3D's sparse VoxelBlockGrid holds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eqa_nodes.core.errors import BadFrame, MapFull
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.library import open3d
from eqa_nodes.core.types.surfaces import Cloud, Mesh
from eqa_nodes.core.types.views import Frame, Intrinsics, check_frame, clean_depth

BLOCK = 8  # voxels along the edge of a block
BLOCK_BYTES = BLOCK ** 3 * (1 + 1 + 3) * 4  # distance, weight and colour, float32
_FIRST_BLOCKS = 10_000  # room at the start; it doubles when it is full


class Reconstruction:
    """The surfaces that frames have shown, in the map frame. Its memory grows with them, up to max_blocks blocks."""

    def __init__(self, config: ReconstructionConfig = ReconstructionConfig()) -> None:
        """Raises MissingExtra without Open3D, ConfigError where the system lacks a library that it needs."""
        self.config, self.frames = config, 0
        self._o3d = o3d = open3d()
        kinds, channels = [o3d.core.float32] * 3, [(1,), (1,), (3,)]
        self._grid = o3d.t.geometry.VoxelBlockGrid(
            ("tsdf", "weight", "color"), kinds, channels, config.voxel_m, BLOCK,
            min(_FIRST_BLOCKS, config.max_blocks), o3d.core.Device("CPU:0"))
        self._spread = config.truncation_m / config.voxel_m

    @property
    def blocks(self) -> int:
        """Blocks in use, each of BLOCK_BYTES."""
        return int(self._grid.hashmap().size())

    def add(self, frame: Frame) -> None:
        """Add what a frame shows; it changes nothing when it raises.

        Raises BadFrame for a frame that cannot be used, MapFull where it shows more than there is room for.
        """
        depth_m, extrinsic = _checked(frame, self.config.range_m)
        core, image = self._o3d.core, self._o3d.t.geometry.Image
        depth = image(core.Tensor.from_numpy(depth_m))
        colour = image(core.Tensor.from_numpy(frame.rgb * np.float32(1 / 255)))
        camera = (core.Tensor(_matrix(frame.intrinsics)), core.Tensor(extrinsic), 1.0, self.config.range_m,
                  self._spread)
        blocks = self._grid.compute_unique_block_coordinates(depth, *camera)
        self._check_room(blocks)
        self._grid.integrate(blocks, depth, colour, *camera)
        self.frames += 1

    def mesh(self) -> Mesh:
        """Return the surfaces; without any, arrays of no rows."""
        if not self.blocks:
            return Mesh(np.empty((0, 3), np.float32), np.empty((0, 3), np.int32), np.empty((0, 3), np.uint8))
        found = self._grid.extract_triangle_mesh(self._weight)
        return Mesh(found.vertex.positions.numpy(), found.triangle.indices.numpy().astype(np.int32),
                    _bytes(found.vertex.colors.numpy()))

    def cloud(self) -> Cloud:
        """Return points on the surfaces, about one for each voxel edge that they cross."""
        if not self.blocks:
            return Cloud(np.empty((0, 3), np.float32), np.empty((0, 3), np.uint8))
        found = self._grid.extract_point_cloud(self._weight)
        return Cloud(found.point.positions.numpy(), _bytes(found.point.colors.numpy()))

    @property
    def _weight(self) -> float:
        return self.config.min_views - 0.5  # Open3D compares with >=, or with >, by version

    def _check_room(self, blocks: Any) -> None:
        """Raise MapFull where not all of these blocks find room."""
        if self.blocks + len(blocks) <= self.config.max_blocks:
            return
        _, known = self._grid.hashmap().find(blocks)
        new = len(blocks) - int(np.count_nonzero(known.numpy()))
        if self.blocks + new > self.config.max_blocks:
            raise MapFull(f"the reconstruction is full: {self.config.max_blocks} blocks "
                          f"({self.config.max_blocks * BLOCK_BYTES / 1e6:.0f} MB); raise max_blocks, or take larger "
                          "voxels")


def _checked(frame: Frame, range_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Return depth (H, W) float32 metres without bad values, and camera_from_map (4, 4). Raises BadFrame."""
    if frame.rgb is None or not frame.rgb.size:
        raise BadFrame("the frame has no colour image: a reconstruction needs colour and depth")
    check_frame(frame)
    k = frame.intrinsics
    if not (0 < k.cx < k.width and 0 < k.cy < k.height):
        raise BadFrame(f"{k}: the principal point lies outside the image; is camera_info that of another size?")
    depth_m = np.ascontiguousarray(clean_depth(frame.depth_m, range_m)[0])
    if not depth_m.any():
        raise BadFrame(f"no depth within {range_m:g} m")
    return depth_m, np.linalg.inv(frame.map_from_camera())


def _matrix(k: Intrinsics) -> np.ndarray:
    """Return the (3, 3) intrinsic matrix. Open3D cuts a projected coordinate to a pixel, so its centre is at +0.5."""
    return np.array([[k.fx, 0.0, k.cx], [0.0, k.fy, k.cy], [0.0, 0.0, 1.0]])


def _bytes(colours: np.ndarray) -> np.ndarray:
    """Return Open3D's colours (n, 3), float 0 to 1, as uint8."""
    return np.rint(np.clip(colours, 0.0, 1.0) * 255).astype(np.uint8)
