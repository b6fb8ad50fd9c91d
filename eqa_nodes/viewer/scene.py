"""The scene of a place on a page: its surface, the robot's path, the views used as evidence, and objects."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from eqa_nodes.core.errors import BadFrame, MapFull
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.reconstruction.rendering import RenderView, rendered, simplified
from eqa_nodes.core.reconstruction.volume import Reconstruction
from eqa_nodes.core.types.views import Frame, Keyframe, Mesh
from eqa_nodes.viewer.packing import ShownBox, boxes_of, differences, owners, packed, quantised
from eqa_nodes.wire.image_files import shrunk

TRIANGLES = 150_000  # maximum of a surface on a page
PATH = 2000  # maximum number of points of a path on a page
FRUSTUMS = 120
FOV_DEG, ASPECT = 40.0, 1.5  # field of view and aspect ratio of the first view
_ELEVATION_RAD = math.radians(52)
_FITTINGS = 4
_REACH_M = 0.3  # length of a drawn frustum; three times as long for evidence
GLANCES = 240  # maximum per recording; above it, every second one is removed
_STRIDE = 4  # step in pixels between the kept pixels of a depth image
_TOLERANCE_M, _NEAR_M = 0.12, 0.1
UNSEEN = 255  # value of first and last for points that no glance shows
SIZE = (960, round(960 / ASPECT))
BACKGROUND = (236, 239, 243)
_COLOURS, _RAMP = 160, 32  # colours in the palette for the surface and for the path
_PATH_RAMP, _PROOF = ((13, 148, 136), (99, 91, 235), (219, 64, 126)), (217, 119, 6)
_EYE_M = 0.05


class Glance(NamedTuple):
    """The kept part of a frame: time, pose, and depth (h, w) float32, metres, at every _STRIDE-th pixel."""

    stamp_ns: int
    camera_from_map: np.ndarray
    scaled: tuple[float, float, float, float]  # fx, fy, cx, cy of the coarse image
    depth_m: np.ndarray


def glance_of(frame: Frame) -> Glance:
    """Return the kept part of a frame."""
    k = frame.intrinsics
    coarse = np.ascontiguousarray(frame.depth_m[_STRIDE // 2::_STRIDE, _STRIDE // 2::_STRIDE])
    scaled = (k.fx / _STRIDE, k.fy / _STRIDE, k.cx / _STRIDE, k.cy / _STRIDE)
    return Glance(frame.stamp_ns, np.linalg.inv(frame.map_from_camera()).astype(np.float32), scaled, coarse)


def times_seen(points: np.ndarray, glances: list[Glance]) -> tuple[np.ndarray, np.ndarray]:
    """Return when points (n, 3), metres, map frame, were first and last seen: (n,) uint8 each.

    0 to 254 is linear in time from the first to the last glance; UNSEEN if no glance shows the point.
    """
    first, last = np.full(len(points), UNSEEN, np.uint8), np.full(len(points), UNSEEN, np.uint8)
    if not glances:
        return first, last
    begin_ns, whole_ns = glances[0].stamp_ns, max(glances[-1].stamp_ns - glances[0].stamp_ns, 1)
    for glance in glances:
        share = min(max(round(254 * (glance.stamp_ns - begin_ns) / whole_ns), 0), 254)
        seen = _seen(points, glance)
        last[seen] = share
        first[seen[first[seen] == UNSEEN]] = share
    return first, last


def _seen(points: np.ndarray, glance: Glance) -> np.ndarray:
    """Return the indices of the points that a glance shows."""
    rotation, shift = glance.camera_from_map[:3, :3], glance.camera_from_map[:3, 3]
    right, down, ahead = (points @ rotation[k] + shift[k] for k in range(3))
    rows, columns = glance.depth_m.shape
    fx, fy, cx, cy = glance.scaled
    far = np.maximum(ahead, _NEAR_M)
    u, v = np.floor(fx * right / far + cx), np.floor(fy * down / far + cy)
    inside = np.flatnonzero((ahead > _NEAR_M) & (u >= 0) & (u < columns) & (v >= 0) & (v < rows))
    depth_m = glance.depth_m[v[inside].astype(np.int64), u[inside].astype(np.int64)]
    return inside[np.abs(depth_m - ahead[inside]) < _TOLERANCE_M]


class Frustum(NamedTuple):
    """A view: image corners (4, 3) and eye, metres, map frame; jpeg: small picture, only for evidence."""

    eye: tuple[float, float, float]
    corners: np.ndarray
    seconds: float
    note: str = ""
    jpeg: bytes = b""


@dataclass
class Surfaces:
    """A reconstruction with the times of its frames. path: (n, 3) positions of the base, metres, map frame."""

    mesh: Mesh
    path: np.ndarray
    glances: list[Glance]
    frames: int
    refused: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class SceneModel:
    """Everything that a page draws; metres, map frame. first, last, owner: (n,) uint8, per vertex."""

    mesh: Mesh
    first: np.ndarray
    last: np.ndarray
    owner: np.ndarray
    path: np.ndarray
    boxes: Sequence[ShownBox]
    frustums: Sequence[Frustum]
    view: RenderView
    seconds: float
    frames: int

    @property
    def privileged(self) -> bool:
        """Return whether it shows objects that are known only from simulator labels."""
        return any(box.privileged for box in self.boxes)


def surfaces_of(frames: Iterable[Frame], config: ReconstructionConfig) -> Surfaces:
    """Reconstruct the surface from frames. Unusable frames are counted. Raises MissingExtra without Open3D."""
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


def scene_of(surfaces: Surfaces, views: Sequence[Keyframe], proofs: dict[int, str]) -> SceneModel | None:
    """Return the scene for a page; None if the frames show no surface.

    views: remembered views; proofs: notes of the views that are evidence, by id.
    """
    mesh = simplified(surfaces.mesh, TRIANGLES)
    if not len(mesh.triangles):
        return None
    mesh = _in_order(mesh)
    first, last = times_seen(mesh.vertices, surfaces.glances)
    boxes = boxes_of(views)
    step = -(-len(surfaces.path) // PATH) or 1
    begin_ns = surfaces.glances[0].stamp_ns
    return SceneModel(mesh, first, last, owners(mesh.vertices, boxes), surfaces.path[::step].astype(np.float32), boxes,
                 frustums_of(views, proofs, begin_ns), first_view(mesh.vertices),
                 (surfaces.glances[-1].stamp_ns - begin_ns) / 1e9, surfaces.frames)


def frustums_of(views: Sequence[Keyframe], proofs: dict[int, str], begin_ns: int) -> list[Frustum]:
    """Return the frustums of views with known geometry: those of the evidence, and others at even intervals."""
    known = [view for view in views if view.geometry is not None]
    others = [view for view in known if view.id not in proofs]
    step = -(-len(others) // FRUSTUMS) or 1
    chosen = [view for view in known if view.id in proofs][:FRUSTUMS] + others[::step]
    return [_frustum(view, proofs.get(view.id), begin_ns) for view in chosen]


def first_view(points: np.ndarray) -> RenderView:
    """Return a view of all points from above at an angle, with the longer side across the picture."""
    points = points[::max(len(points) // 5000, 1)].astype(np.float64)
    wide, deep, _ = np.ptp(points, axis=0)
    azimuth = math.radians(-80 if wide >= deep else -10)
    back = np.array([math.cos(_ELEVATION_RAD) * math.cos(azimuth), math.cos(_ELEVATION_RAD) * math.sin(azimuth),
                     math.sin(_ELEVATION_RAD)])
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    up, half, target, distance_m = np.cross(back, right), math.tan(math.radians(FOV_DEG) / 2), points.mean(axis=0), 10.0
    for _ in range(_FITTINGS):  # perspective: the middle of the picture depends on the distance
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


def scene_bytes(scene: SceneModel) -> bytes:
    """Return the scene in the format of the page."""
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
    """Return the mesh with neighbouring vertices next to each other, which compresses well."""
    order = np.lexsort(np.floor(mesh.vertices / 0.2).astype(np.int32).T)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    triangles = place[mesh.triangles]
    turn = (triangles.argmin(axis=1)[:, None] + np.arange(3)) % 3  # the same corners, the smallest index first
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


def still_png(scene: SceneModel) -> bytes:
    """Return the first view as PNG with the path and the views used as evidence. Raises MissingExtra without Open3D.
    """
    image = Image.fromarray(rendered(scene.mesh, scene.view, SIZE, BACKGROUND)).quantize(_COLOURS)
    ink = [_ramp(k / (_RAMP - 1)) for k in range(_RAMP)] + [_PROOF]
    palette = (image.getpalette() or [])[:3 * _COLOURS]
    image.putpalette([*palette, *[0] * (3 * _COLOURS - len(palette)), *(value for colour in ink for value in colour)])
    draw = ImageDraw.Draw(image)
    path = scene.path.astype(np.float64) + np.array([0, 0, 0.08])
    for index, (a, b) in enumerate(pairwise(path)):
        _line(draw, scene.view, a, b, _COLOURS + round((_RAMP - 1) * index / max(len(path) - 2, 1)), 4)
    for frustum in scene.frustums:
        if frustum.jpeg:
            eye = np.asarray(frustum.eye)
            for k, corner in enumerate(frustum.corners):
                _line(draw, scene.view, eye, corner, _COLOURS + _RAMP, 3)
                _line(draw, scene.view, frustum.corners[k - 1], corner, _COLOURS + _RAMP, 3)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _line(draw: ImageDraw.ImageDraw, view: RenderView, a: Iterable[float], b: Iterable[float],
          ink: int, width: int) -> None:
    """Draw a line between two map points in a colour of the palette, unless it reaches behind the eye."""
    matrix = view.camera_from_map()
    ends = np.array([[*a, 1.0], [*b, 1.0]]) @ matrix[:3].T
    if ends[:, 2].min() < _EYE_M:
        return
    focal = SIZE[1] / 2 / np.tan(np.radians(view.fov_deg) / 2)
    flat = ends[:, :2] / ends[:, 2:] * focal + np.array(SIZE) / 2
    draw.line([(float(x), float(y)) for x, y in flat], fill=ink, width=width)


def _ramp(share: float) -> tuple[int, int, int]:
    at = share * (len(_PATH_RAMP) - 1)
    k = min(int(at), len(_PATH_RAMP) - 2)
    red, green, blue = (round(p + (q - p) * (at - k)) for p, q in zip(_PATH_RAMP[k], _PATH_RAMP[k + 1], strict=True))
    return red, green, blue
