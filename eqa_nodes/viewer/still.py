"""The picture that stands where a scan cannot turn: without JavaScript or WebGL, in print, and until it is loaded."""

from __future__ import annotations

import io
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw

from eqa_nodes.core.reconstruction.rendering import RenderView, rendered
from eqa_nodes.viewer.scene import ASPECT, Scene

SIZE = (960, round(960 / ASPECT))
BACKGROUND = (236, 239, 243)
_COLOURS, _RAMP = 160, 32  # of the palette: for the surface, and for the path
_PATH, _PROOF = ((13, 148, 136), (99, 91, 235), (219, 64, 126)), (217, 119, 6)
_NEAR_M = 0.05


def still_png(scene: Scene) -> bytes:
    """Return the first view as PNG with the path and the views that were evidence. Raises MissingExtra without Open3D.
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
    """Draw a line between two map points in a colour of the palette; one that reaches behind the eye is left out."""
    matrix = view.camera_from_map()
    ends = np.array([[*a, 1.0], [*b, 1.0]]) @ matrix[:3].T
    if ends[:, 2].min() < _NEAR_M:
        return
    focal = SIZE[1] / 2 / np.tan(np.radians(view.fov_deg) / 2)
    flat = ends[:, :2] / ends[:, 2:] * focal + np.array(SIZE) / 2
    draw.line([(float(x), float(y)) for x, y in flat], fill=ink, width=width)


def _ramp(share: float) -> tuple[int, int, int]:
    at = share * (len(_PATH) - 1)
    k = min(int(at), len(_PATH) - 2)
    red, green, blue = (round(p + (q - p) * (at - k)) for p, q in zip(_PATH[k], _PATH[k + 1], strict=True))
    return red, green, blue
