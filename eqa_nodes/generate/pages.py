"""Writes the pages for reviewers and validators, with the film and the map of each path."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from PIL import Image

from eqa_nodes.bench.report.drawing import ahead, cone, map_css, map_svg
from eqa_nodes.core.mapping.mapper import Mapper
from eqa_nodes.core.storage.codec import dumps, write_bytes
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.generate.values import Benchmark, QuestionAttempt, ScenePath
from eqa_nodes.tours.tours import Tour, TourHistory

WIDTH_PX, FRAMES = 320, 120  # maximum width and number of images of a film
MOST_BYTES = 400_000  # a larger film is encoded again in a lower quality
_QUALITIES = (60, 45, 30, 15)  # of WebP, tried in this order
_FRAME_MS, _LAST_MS = 150, 2000
_LABEL_M = 0.9  # distance of the label ahead of a viewpoint
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
    """Return a WebP in the best quality that is small enough, or in the lowest if none is."""
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
    """Draw the pose of each view at the end, with its number if there are several."""
    parts = []
    for number, view in enumerate(views, 1):
        parts.append(cone(view.pose, f"view {number}"))
        x, y = ahead(view.pose, _LABEL_M, 0.0)
        if len(views) > 1:
            parts.append(f'<g class="view"><circle cx="{x:.2f}" cy="{y:.2f}" r=".3"/><text x="{x:.2f}" '
                         f'y="{y + 0.15:.2f}">{number}</text></g>')
    return "".join(parts)


PAGE, ANSWER_PAGE = "verify.html", "answer.html"
REVISED_PAGES = "verify-revised.html", "answer-revised.html"  # of what was revised after a vote


def write_pages(out: Path, kind: Benchmark, records: Sequence[QuestionAttempt], path_of: Callable[[int], ScenePath],
                pictures_of: Callable[[ScenePath], PathPictures], pages: tuple[str, str] = (PAGE, ANSWER_PAGE)) -> None:
    """Write both pages about the accepted records. pages: their names."""
    verify, answer = [], []
    media: dict[int, Mapping[str, str]] = {}
    for record in records:
        path = path_of(record.way)
        if path.number not in media:
            media[path.number] = {name: _base64(data) for name, data in pictures_of(path)._asdict().items()}
        question = record.pair.question if record.pair else ""
        card = {"id": record.id, "category": record.category, "scene": record.scene, "path": path.number,
                "instruction": path.instruction}
        views = [_uri(view) for view in path.views]
        verify.append({**card, "record": record, "passed": [_uri(view) for view in path.passed],
                       "views": [{"src": src, "shows": i in record.viewpoints} for i, src in enumerate(views)]})
        answer.append({**card, "question": question, "views": views,
                       "answers": kind.answers_to(record.category, question)})
    environment = Environment(loader=PackageLoader("eqa_nodes.generate"), undefined=StrictUndefined,
                              autoescape=select_autoescape(["html", "j2"]), trim_blocks=True, lstrip_blocks=True)
    for name, template, cards in zip(pages, (PAGE, ANSWER_PAGE), (verify, answer), strict=True):
        html = environment.get_template(f"{template}.j2").render(kind=kind, cards=cards, media=media,
                                                                 data=fingerprint(records))
        write_bytes(out / name, html.encode())


def fingerprint(records: Sequence[QuestionAttempt]) -> str:
    """Return the hash by which verdicts and answers identify their data set."""
    return hashlib.sha256(dumps([(r.id, r.pair) for r in records]).encode()).hexdigest()[:16]


def _uri(view: Keyframe) -> str:
    return f"data:image/jpeg;base64,{_base64(view.jpeg)}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
