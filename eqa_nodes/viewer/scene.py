"""What a page shows of a place: its surface, the robot's path, the views that were evidence, and objects."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame, MapFull
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.rendering import RenderView, simplified
from eqa_nodes.core.reconstruction.volume import Reconstruction
from eqa_nodes.core.types.views import Frame, Keyframe, Mesh
from eqa_nodes.viewer.boxes import Box, boxes_of, owners
from eqa_nodes.viewer.looks import GLANCES, Glance, glance_of, times_seen
from eqa_nodes.viewer.packing import differences, packed, quantised
from eqa_nodes.wire.image_files import shrunk

TRIANGLES = 150_000  # of a surface on a page
PATH = 2000  # points of a path on a page
FRUSTUMS = 120
FOV_DEG, ASPECT = 40.0, 1.5  # of the first view
_ELEVATION_RAD = math.radians(52)
_FITTINGS = 4
_REACH_M = 0.3  # how far a drawn frustum goes; one of evidence three times as far


class Frustum(NamedTuple):
    """A view: its corners on the picture plane (4, 3) and its eye, metres, map frame; jpeg: small, of evidence only."""

    eye: tuple[float, float, float]
    corners: np.ndarray
    seconds: float
    note: str = ""
    jpeg: bytes = b""


@dataclass
class Surfaces:
    """A reconstruction with when its frames were taken. path: (n, 3) metres, of the base."""

    mesh: Mesh
    path: np.ndarray
    glances: list[Glance]
    frames: int
    refused: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Scene:
    """Everything that a page draws; metres, map frame. first, last, owner: (n,) uint8 of the vertices."""

    mesh: Mesh
    first: np.ndarray
    last: np.ndarray
    owner: np.ndarray
    path: np.ndarray
    boxes: Sequence[Box]
    frustums: Sequence[Frustum]
    view: RenderView
    seconds: float
    frames: int

    @property
    def privileged(self) -> bool:
        """Return whether objects are shown that only a simulator's labels know of."""
        return any(box.privileged for box in self.boxes)


def surfaces_of(frames: Iterable[Frame], config: ReconstructionConfig) -> Surfaces:
    """Put frames together. Frames that cannot be used are counted. Raises MissingExtra without Open3D."""
    built, glances, path, refused = Reconstruction(config), list[Glance](), list[tuple[float, ...]](), Counter[str]()
    every = 1
    for index, frame in enumerate(frames):
        path.append(frame.map_from_base.xyz)
        try:
            built.add(frame)
        except (BadFrame, MapFull) as error:
            refused[str(error)] += 1
            continue
        if index % every == 0:
            glances.append(glance_of(frame))
            if len(glances) > GLANCES:
                glances, every = glances[::2], 2 * every
    return Surfaces(built.mesh(), np.array(path, np.float64).reshape(-1, 3), glances, built.frames, refused)


def scene_of(surfaces: Surfaces, views: Sequence[Keyframe], proofs: dict[int, str]) -> Scene | None:
    """Return what a page draws; None where the frames show no surface.

    views: that were remembered; proofs: notes of those that are evidence, by id.
    """
    mesh = simplified(surfaces.mesh, TRIANGLES)
    if not len(mesh.triangles):
        return None
    mesh = _in_order(mesh)
    first, last = times_seen(mesh.vertices, surfaces.glances)
    boxes = boxes_of(views)
    step = -(-len(surfaces.path) // PATH) or 1
    begin_ns = surfaces.glances[0].stamp_ns
    return Scene(mesh, first, last, owners(mesh.vertices, boxes), surfaces.path[::step].astype(np.float32), boxes,
                 frustums_of(views, proofs, begin_ns), first_view(mesh.vertices),
                 (surfaces.glances[-1].stamp_ns - begin_ns) / 1e9, surfaces.frames)


def frustums_of(views: Sequence[Keyframe], proofs: dict[int, str], begin_ns: int) -> list[Frustum]:
    """Return the cameras of views whose geometry is known: all of the evidence, and others even in time."""
    known = [view for view in views if view.geometry is not None]
    others = [view for view in known if view.id not in proofs]
    step = -(-len(others) // FRUSTUMS) or 1
    chosen = [view for view in known if view.id in proofs][:FRUSTUMS] + others[::step]
    return [_frustum(view, proofs.get(view.id), begin_ns) for view in chosen]


def first_view(points: np.ndarray) -> RenderView:
    """Return where a house is seen whole from: above, at an angle, its longer side across the picture."""
    points = points[::max(len(points) // 5000, 1)].astype(np.float64)
    wide, deep, _ = np.ptp(points, axis=0)
    azimuth = math.radians(-80 if wide >= deep else -10)
    back = np.array([math.cos(_ELEVATION_RAD) * math.cos(azimuth), math.cos(_ELEVATION_RAD) * math.sin(azimuth),
                     math.sin(_ELEVATION_RAD)])
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    up, half, target, distance_m = np.cross(back, right), math.tan(math.radians(FOV_DEG) / 2), points.mean(axis=0), 10.0
    for _ in range(_FITTINGS):  # what is nearer looks larger, so that the middle of the picture moves with the distance
        offsets = points - target
        ahead = np.maximum(distance_m - offsets @ back, 0.1)
        x, y = ((offsets @ axis) / ahead for axis in (right, up))
        target = target + distance_m * (_middle(x) * right + _middle(y) * up)
        offsets = points - target
        needed = offsets @ back + np.maximum(np.abs(offsets @ right) / (half * ASPECT), np.abs(offsets @ up) / half)
        distance_m = max(float(np.percentile(needed, 99.8)) * 1.05, 1.0)
    eye = target + back * distance_m
    return RenderView(tuple(map(float, eye)), tuple(map(float, target)), FOV_DEG)  # type: ignore[arg-type]


def _middle(values: np.ndarray) -> float:
    return float(np.percentile(values, [0.2, 99.8]).mean())


def scene_bytes(scene: Scene) -> bytes:
    """Return the scene as a page reads it."""
    positions, grid = quantised(scene.mesh.vertices)
    boxes = [{"name": box.name, "low": _plain(box.low), "high": _plain(box.high), "privileged": box.privileged}
             for box in scene.boxes]
    frustums = [{"eye": _plain(f.eye), "corners": [_plain(c) for c in f.corners], "seconds": round(f.seconds, 1),
                 "note": f.note, "proves": bool(f.jpeg), "jpeg": f"jpeg{k}" if f.jpeg else ""}
                for k, f in enumerate(scene.frustums)]
    head = {"grid": grid, "boxes": boxes, "frustums": frustums, "eye": _plain(scene.view.eye),
            "target": _plain(scene.view.target), "fov": scene.view.fov_deg, "aspect": ASPECT,
            "seconds": round(scene.seconds, 1)}
    arrays = {"positions": positions, "triangles": differences(scene.mesh.triangles), "colours": scene.mesh.colours,
              "first": scene.first, "last": scene.last, "owner": scene.owner, "path": scene.path}
    arrays |= {f"jpeg{k}": np.frombuffer(f.jpeg, np.uint8) for k, f in enumerate(scene.frustums) if f.jpeg}
    return packed(head, arrays)


def _in_order(mesh: Mesh) -> Mesh:
    """Return the mesh with neighbours beside each other, which compresses well."""
    order = np.lexsort(np.floor(mesh.vertices / 0.2).astype(np.int32).T)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    triangles = place[mesh.triangles]
    turn = (triangles.argmin(axis=1)[:, None] + np.arange(3)) % 3  # the same corners, the least first
    triangles = np.take_along_axis(triangles, turn, axis=1)
    return Mesh(mesh.vertices[order], triangles[np.lexsort(triangles.T[::-1])], mesh.colours[order])


def _frustum(view: Keyframe, note: str | None, begin_ns: int) -> Frustum:
    assert view.geometry is not None
    k, matrix = view.geometry.intrinsics, view.map_from_base.matrix() @ view.geometry.base_from_camera.matrix()
    reach = _REACH_M if note is None else 3 * _REACH_M
    pixels = ((0, 0), (k.width, 0), (k.width, k.height), (0, k.height))
    rays = np.array([[(u - k.cx) / k.fx, (v - k.cy) / k.fy, 1.0] for u, v in pixels]) * reach
    corners = rays @ matrix[:3, :3].T + matrix[:3, 3]
    x, y, z = map(float, matrix[:3, 3])
    return Frustum((x, y, z), corners, (view.stamp_ns - begin_ns) / 1e9, note or view.region or view.caption,
                   b"" if note is None else shrunk(view.jpeg, 240))


def _plain(point: Iterable[float]) -> list[float]:
    return [round(float(value), 3) for value in point]
