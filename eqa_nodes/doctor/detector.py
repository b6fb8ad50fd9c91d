"""Tries a detector on one image of a robot or a recording, and draws what it finds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from PIL import Image, ImageDraw

from eqa_nodes.core.components import PERCEIVER
from eqa_nodes.core.errors import BadFrame, EqaError
from eqa_nodes.core.findings import Finding
from eqa_nodes.core.perception.detection import VOCABULARY, Detection, DetectionConfig, DetectorConfig, sound
from eqa_nodes.core.pillow import writing_font
from eqa_nodes.core.types.geometry import Transform, camera_mount
from eqa_nodes.core.types.views import Frame, Intrinsics
from eqa_nodes.perception import open_detector
from eqa_nodes.wire import images

NAME = "detector"
_NAMED = 8  # maximum number of detections that the line names
_SLOW_S = 1.0
_SIMULATED = ("the perceiver was trained on pictures of the built-in houses alone: on a robot use a model (--detector "
              "transformers or onnx) or the robot's own detector (topic)")
_COLOURS = ((230, 60, 60), (60, 160, 60), (60, 90, 230), (200, 130, 0), (150, 60, 190), (0, 150, 160))
_LETTER_PX = 12


class LastMessages(Protocol):
    """Returns the last message of a role, None without any."""

    def last(self, key: str) -> Any | None:
        """Return the message."""


class DetectorTrial(NamedTuple):
    """What to try. picture: file to draw the boxes into, None = none."""

    config: DetectorConfig
    picture: Path | None = None


def detector_findings(trial: DetectorTrial, bag: LastMessages) -> list[Finding]:
    """Try a detector on the last colour image, with the last depth image if that has the same size."""
    try:
        frame = _last_frame(bag)
    except EqaError as error:
        return [Finding(NAME, "error", f"no image to try it on: {error}", "see the line color")]
    try:
        detector = open_detector(trial.config, VOCABULARY)
        begin = time.monotonic()
        found = sound(detector.detect(frame, {}), frame.depth_m.shape)
    except EqaError as error:
        return [Finding(NAME, "error", str(error), "correct the detector's settings (docs/perception.md)")]
    spent = time.monotonic() - begin
    kept = sorted((d for d in found if d.score >= DetectionConfig().score), key=lambda d: (-d.score, d.name, d.box))
    written = ""
    if trial.picture is not None:
        try:
            drawn(frame.rgb, kept).save(trial.picture)
        except (OSError, ValueError) as error:
            return [Finding(NAME, "error", f"{str(trial.picture)!r} cannot be written: {error}",
                            "name a .png or .jpg file in a folder that exists")]
        written = f", drawn in {trial.picture}"
    return [_judged(trial.config.name, kept, spent, frame, written)]


def _judged(name: str, kept: Sequence[Detection], spent: float, frame: Frame, written: str) -> Finding:
    listed = ", ".join(f"{d.name} {d.score:.2f}" for d in kept[:_NAMED])
    more = f" and {len(kept) - _NAMED} more" if len(kept) > _NAMED else ""
    height, width = frame.depth_m.shape
    took = f"in {spent:.2f} s for one image of {width}x{height}"
    if not kept:
        return Finding(NAME, "warning", f"{name} found nothing {took}{written}", "let the camera see objects that it "
                       "knows; a segmentation map needs depth of the same size as the colour image")
    remedies = [_SIMULATED] if name == PERCEIVER else []
    if spent > _SLOW_S:
        remedies.append("a slow detector leaves images out: set perception.newest, or choose a smaller model")
    return Finding(NAME, "warning" if remedies else "ok", f"{name} found {listed}{more} {took}{written}",
                   "; ".join(remedies))


def _last_frame(bag: LastMessages) -> Frame:
    """Return the last colour image with depth, at a place of no meaning. Raises BadFrame, StorageError."""
    color, depth = bag.last("color"), bag.last("depth")
    if color is None:
        raise BadFrame("no colour image was received")
    rgb = images.rgb_of(color)
    height, width = rgb.shape[:2]
    depth_m = np.zeros((height, width), np.float32)
    if depth is not None and (seen := images.depth_of(depth)).shape == (height, width):
        depth_m = np.nan_to_num(seen, nan=0.0, posinf=0.0, neginf=0.0)
    camera = Intrinsics(width, height, float(width), float(width), width / 2, height / 2)
    return Frame(0, rgb, depth_m, camera, Transform.identity(), camera_mount(1.0))


def drawn(rgb: np.ndarray, found: Sequence[Detection]) -> Image.Image:
    """Return a picture (H, W, 3) uint8 with the boxes, names and scores of detections; masks are tinted."""
    pixels = np.array(rgb)
    for k, d in enumerate(found):
        if d.mask is not None:
            pixels[d.mask] = (pixels[d.mask] * 0.6 + np.array(_COLOURS[k % len(_COLOURS)]) * 0.4).astype(np.uint8)
    image = Image.fromarray(pixels)
    draw, font = ImageDraw.Draw(image), writing_font(_LETTER_PX)
    for k, d in enumerate(found):
        left, top, right, bottom = d.box
        draw.rectangle((left, top, right - 1, bottom - 1), outline=_COLOURS[k % len(_COLOURS)], width=2)
    for k, d in enumerate(found):  # above all boxes
        words, corner = f"{d.name} {d.score:.2f}", (d.box[0] + 2, max(0, d.box[1] - _LETTER_PX - 3))
        draw.rectangle(draw.textbbox(corner, words, font=font), fill=_COLOURS[k % len(_COLOURS)])
        draw.text(corner, words, (255, 255, 255), font)
    return image
