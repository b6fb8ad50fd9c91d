"""What shows reviewers a path as a whole: a film of it, and a map from above. Rendered once a path, kept beside it.

The film is an animated WebP, which every browser plays as an image: muted, and without a player. The project's mapper
makes the map from the depth of the same frames, so it shows what was seen on the path and no more.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from eqa_nodes.bench.report.drawing import ahead, cone, map_css, map_svg
from eqa_nodes.core.mapping.mapper import Mapper
from eqa_nodes.core.storage.codec import write_bytes
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.generate.values import ScenePath
from eqa_nodes.tours.tours import Tour, TourHistory

WIDTH_PX, FRAMES = 320, 120  # of a film at most
MOST_BYTES = 400_000  # a film that is larger is encoded again, in a lower quality
_QUALITIES = (60, 45, 30, 15)  # of WebP
_FRAME_MS, _LAST_MS = 150, 2000
_LABEL_M = 0.9  # ahead of a viewpoint
_CSS = """svg { background: #eceff3; } .cone circle { display: none; }
.view circle { fill: #fff; stroke: #1c2430; stroke-width: .05; }
.view text { font: 700 .42px system-ui, "DejaVu Sans", sans-serif; text-anchor: middle; fill: #1c2430; }
.scale text { font-size: .36px; }"""


class PathPictures(NamedTuple):
    """film: an animated WebP; map: an SVG."""

    film: bytes
    map: bytes


def path_pictures(folder: Path, path: ScenePath, robot: RobotModel) -> PathPictures:
    """Return film and map of a path, rendered unless the folder has them. Raises SimulatorError, StorageError."""
    film, drawn = (folder / f"{path.number:04d}{end}" for end in (".webp", ".svg"))
    if not (film.exists() and drawn.exists()):
        made = _rendered(path, robot)
        write_bytes(film, made.film)
        write_bytes(drawn, made.map)
    return PathPictures(film.read_bytes(), drawn.read_bytes())


def _rendered(path: ScenePath, robot: RobotModel) -> PathPictures:
    robot = replace(robot, camera=_small(robot.camera))
    history = TourHistory(Tour(path.scene, robot, path.actions, path.poses, path.way_m, path.z))
    mapper, images = Mapper(robot=robot), []
    shown = set(np.linspace(0, len(history) - 1, min(len(history), FRAMES)).round().astype(int).tolist())
    for i, frame in enumerate(history):
        mapper.integrate(frame)
        if i in shown:
            images.append(Image.fromarray(frame.rgb))
    trace = EpisodeTrace(poses=list(enumerate(path.poses)), grid=mapper.grid())
    svg = map_svg(trace, None, path.poses[0], over=_viewpoints(path.views), css=f"{map_css()}\n{_CSS}")
    durations = [_FRAME_MS] * (len(images) - 1) + [_LAST_MS]
    return PathPictures(_film(images, durations), svg.encode())


def _film(images: Sequence[Image.Image], durations_ms: Sequence[int]) -> bytes:
    """Return a WebP in the best quality that is small enough, in the last of them where none is."""
    for quality in _QUALITIES:
        buffer = io.BytesIO()
        images[0].save(buffer, "WEBP", save_all=True, append_images=images[1:], duration=list(durations_ms), loop=0,
                       quality=quality, method=3)
        if buffer.tell() <= MOST_BYTES:
            break
    return buffer.getvalue()


def _small(camera: CameraModel) -> CameraModel:
    width = min(WIDTH_PX, camera.width)
    return replace(camera, width=width, height=round(camera.height * width / camera.width))


def _viewpoints(views: Sequence[Keyframe]) -> str:
    """Draw where each view at the end is taken, with its number where there are several."""
    parts = []
    for number, view in enumerate(views, 1):
        parts.append(cone(view.pose, f"view {number}"))
        x, y = ahead(view.pose, _LABEL_M, 0.0)
        if len(views) > 1:
            parts.append(f'<g class="view"><circle cx="{x:.2f}" cy="{y:.2f}" r=".3"/><text x="{x:.2f}" '
                         f'y="{y + 0.15:.2f}">{number}</text></g>')
    return "".join(parts)
