"""Privacy masks: areas of a frame that are blacked out before it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from eqa_nodes.core.errors import BadFrame, ConfigError
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.settings import setting
from eqa_nodes.core.types.views import UNSEEN, Frame, Label


@dataclass(frozen=True)
class PrivacyConfig:
    """Areas that are blacked out in colour, depth and labels."""

    kinds: tuple[str, ...] = setting((), "Kinds of labelled objects that are masked, such as person or monitor.")
    zones: tuple[float, ...] = setting((),
        "Rectangles of the map that are masked, four numbers each (x_min, y_min, x_max, y_max, metres). A pixel "
        "without depth is masked too where it may lie in one. Where maps are aligned to one of them, its frame counts.")
    image: tuple[float, ...] = setting((),
        "Rectangles of the image that are masked, four shares of its width and height each (left, top, right, bottom,"
        " 0 to 1).")

    def __post_init__(self) -> None:
        for name in ("zones", "image"):
            values = getattr(self, name)
            rectangles = _rectangles(values)
            if len(values) % 4 or any(a >= c or b >= d for a, b, c, d in rectangles):
                raise ConfigError(f"privacy.{name} is {values}: expected four numbers per rectangle, the smaller "
                                  "corner first")
        if any(not 0 <= share <= 1 for share in self.image):
            raise ConfigError(f"privacy.image is {self.image}: shares of the image lie between 0 and 1")

    @property
    def active(self) -> bool:
        """Return whether anything is blacked out."""
        return bool(self.kinds or self.zones or self.image)


def masked(frame: Frame, labels: Mapping[int, Label], config: PrivacyConfig) -> tuple[Frame, Mapping[int, Label]]:
    """Return frame and labels without the masked areas; unchanged if nothing is masked.

    Raises BadFrame like `hidden_in`.
    """
    if not config.active:
        return frame, labels
    hidden = hidden_in(frame, labels, config)
    ids = _secret(labels, config)
    kept = {i: label for i, label in labels.items() if i not in ids}
    return (_without(frame, hidden), kept) if hidden.any() else (frame, kept)


def hidden_in(frame: Frame, labels: Mapping[int, Label], config: PrivacyConfig) -> np.ndarray:
    """Return (H, W) bool: True for pixels that must be masked.

    Raises BadFrame if kinds of objects are masked, and the frame has no labels or its detector failed.
    """
    hidden = hidden_shares(frame.intrinsics.height, frame.intrinsics.width, config.image)
    if config.kinds:
        if frame.labels is None:
            raise BadFrame("privacy.kinds hides objects by their labels, but this observation has no labels: publish "
                           "them and let memory use them (labels: true of /**/memory), or hide by zones or image")
        if UNSEEN not in labels and (frame.labels == UNSEEN).any():
            raise BadFrame("privacy.kinds hides what a detector finds, and the detector failed for this image: correct "
                           "what the perception node reports on /diagnostics")
        hidden |= np.isin(frame.labels, _secret(labels, config))
    if config.zones:
        hidden |= _in_zones(frame, _rectangles(config.zones))
    return hidden


def hidden_shares(height: int, width: int, image: tuple[float, ...]) -> np.ndarray:
    """Return (height, width) bool: True for pixels in the rectangles of `PrivacyConfig.image`."""
    hidden = np.zeros((height, width), bool)
    for left, top, right, bottom in _rectangles(image):
        hidden[int(top * height):int(np.ceil(bottom * height)), int(left * width):int(np.ceil(right * width))] = True
    return hidden


def _secret(labels: Mapping[int, Label], config: PrivacyConfig) -> list[int]:
    kinds = {canonical(kind) for kind in config.kinds}
    return [i for i, label in labels.items() if canonical(label.kind) in kinds]


def _without(frame: Frame, hidden: np.ndarray) -> Frame:
    seen = ~hidden
    return replace(frame, rgb=frame.rgb * seen[..., None].astype(np.uint8),
                   depth_m=np.where(seen, frame.depth_m, np.float32(0)),
                   labels=None if frame.labels is None else frame.labels * seen.astype(np.uint16))


def _in_zones(frame: Frame, zones: list[tuple[float, float, float, float]]) -> np.ndarray:
    """Return (H, W) bool: True for pixels that show a point in a zone or have no depth."""
    k, m, z = frame.intrinsics, frame.map_from_camera(), frame.depth_m
    u = (np.arange(k.width) + 0.5 - k.cx) / k.fx
    v = ((np.arange(k.height) + 0.5 - k.cy) / k.fy)[:, None]
    x, y = (z * (row[0] * u + row[1] * v + row[2]) + row[3] for row in m[:2])
    hidden = ~((z > 0) & np.isfinite(z))
    for x0, y0, x1, y1 in zones:
        hidden |= (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)
    return np.asarray(hidden)


def _rectangles(values: tuple[float, ...]) -> list[tuple[float, float, float, float]]:
    return [(values[i], values[i + 1], values[i + 2], values[i + 3]) for i in range(0, len(values) - 3, 4)]
