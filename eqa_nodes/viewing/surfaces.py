"""What of a place was seen, as one surface: a mesh over Open3D, or without it thinned points of the depth images."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from eqa_nodes.core.errors import BadFrame, ConfigError, MapFull, MissingExtra
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.volume import Reconstruction
from eqa_nodes.core.types.views import Frame
from eqa_nodes.viewing.layout import SURFACE
from eqa_nodes.viewing.library import rerun
from eqa_nodes.viewing.rrd_file import RrdFile

_BLOCKS = 60_000  # 600 MB
_POINTS = 500_000
_PIXELS = 5_000  # of an image that give points


class Surface(Protocol):
    """What frames have shown."""

    def add(self, frame: Frame) -> None:
        """Add what a frame shows, where it can be used."""

    def write(self, file: RrdFile) -> str:
        """Log the surface for all times; return in words what was logged, or why nothing was."""


def open_surface(voxel_m: float) -> Surface:
    """Return a mesh, or points where Open3D cannot be used. Raises ConfigError for a voxel that is not above 0."""
    config = ReconstructionConfig(voxel_m=voxel_m, truncation_m=4 * voxel_m, max_blocks=_BLOCKS)
    try:
        return MeshSurface(Reconstruction(config))
    except (MissingExtra, ConfigError) as error:
        return PointSurface(config, str(error))


class MeshSurface:
    """A coloured mesh."""

    def __init__(self, built: Reconstruction) -> None:
        self._built, self._refused, self._why = built, 0, ""

    def add(self, frame: Frame) -> None:
        """Integrate a frame; one that cannot be used is counted."""
        try:
            self._built.add(frame)
        except (BadFrame, MapFull) as error:
            self._refused, self._why = self._refused + 1, str(error)

    def write(self, file: RrdFile) -> str:
        """As in Surface."""
        mesh = self._built.mesh()
        without = f" (without {self._refused} frames: {self._why})" if self._refused else ""
        if not len(mesh.triangles):
            return f"no surface{without}"
        rr = rerun()  # backs are left out: one looks through the ceiling from above
        file.log(SURFACE, rr.Mesh3D(vertex_positions=mesh.vertices, triangle_indices=mesh.triangles,
                                    vertex_colors=mesh.colours, face_rendering=rr.components.MeshFaceRendering.Front),
                 static=True)
        return f"a mesh of {len(mesh.triangles)} triangles{without}"


class PointSurface:
    """One point for each voxel that a thinned depth image has a point in."""

    def __init__(self, config: ReconstructionConfig, why: str) -> None:
        """why: there is no mesh."""
        self._config, self._why = config, why
        self._points: dict[tuple[int, int, int], tuple[Any, Any]] = {}

    def add(self, frame: Frame) -> None:
        """Add the points of a frame in voxels without any, up to the limit."""
        points, colours = points_of(frame, self._config.range_m)
        cells = np.floor(points / self._config.voxel_m).astype(np.int64)
        _, first = np.unique(cells, axis=0, return_index=True)
        for i in first[:max(_POINTS - len(self._points), 0)]:
            x, y, z = cells[i].tolist()
            self._points.setdefault((x, y, z), (points[i], colours[i]))

    def write(self, file: RrdFile) -> str:
        """As in Surface."""
        if not self._points:
            return f"no surface (no depth within {self._config.range_m:g} m)"
        points, colours = (np.array(column) for column in zip(*self._points.values(), strict=True))
        file.log(SURFACE, rerun().Points3D(points, colors=colours, radii=self._config.voxel_m / 2), static=True)
        return f"{len(points)} points of the depth images (no mesh: {self._why})"


def points_of(frame: Frame, range_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points (n, 3) float32, metres, map frame, and colours (n, 3) uint8 of an even choice of pixels."""
    k = frame.intrinsics
    stride = max(1, round((k.width * k.height / _PIXELS) ** 0.5))
    depth_m = frame.depth_m[::stride, ::stride]
    rows, columns = np.nonzero((depth_m > 0) & (depth_m <= range_m))
    z = depth_m[rows, columns].astype(np.float64)
    x = (columns * stride + 0.5 - k.cx) / k.fx * z
    y = (rows * stride + 0.5 - k.cy) / k.fy * z
    map_from_camera = frame.map_from_camera()
    points = np.stack([x, y, z], axis=1) @ map_from_camera[:3, :3].T + map_from_camera[:3, 3]
    return points.astype(np.float32), frame.rgb[rows * stride, columns * stride]
