"""Selects the views to remember: those from a new place, in a new direction, or with new content.

Growth is bounded: a robot that stands still adds nothing, and one that drives up and down a corridor all day adds
no more than one pass does.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from PIL import Image

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.pillow import RESAMPLING
from eqa_nodes.core.ranges import Degrees, NotNegative, Percent, Share, check_ranges
from eqa_nodes.core.settings import constant, setting
from eqa_nodes.core.types.questions import MemoryObject, Recalled
from eqa_nodes.core.types.trace import VIEW_PX
from eqa_nodes.core.types.views import Frame, Keyframe, Label, Sighting

_NAME = 60  # maximum number of characters of a kind in a file name


@dataclass(frozen=True)
class KeyframeConfig:
    """When a view is new: no remembered one is this near in both position and direction."""

    min_move_m: NotNegative = setting(0.5,
        "Minimum distance in metres from all remembered views at which a view is new by its place.")
    min_turn_deg: Degrees = setting(25.0,
        "Minimum angle in degrees to the remembered views nearby at which a view is new by its direction.")
    same_move_m: NotNegative = constant(0.1,
        "Maximum distance in metres between two views that show the same image unless the scene has changed.")
    min_change: Share = constant(0.08,
        "Mean difference of brightness-normalised thumbnails (0 to 1) from which the scene has changed.")
    jpeg_quality: Percent = constant(90, "JPEG quality of the stored images (1 to 100).")
    again_quality: Percent = constant(80,
        "JPEG quality (1 to 100) of images of a view that earlier patrols have stored, if it is below jpeg_quality.")
    refresh_s: NotNegative = setting(4 * 3600.0,
        "Age in seconds, by the stamps, after which a view, or of a labelled one the picture of an object in it, is "
        "stored again when the robot sees it again.")

    def __post_init__(self) -> None:
        check_ranges(self, "keyframes")
        if not max(self.min_move_m, self.same_move_m) <= CELL_M:
            raise ConfigError(f"keyframes.min_move_m is {self.min_move_m}, same_move_m {self.same_move_m}: at most "
                              f"{CELL_M:g} m, or a home is remembered by a handful of views")


Cell = tuple[int, int, int]
EARLIER = "earlier"  # reason of a view that only earlier patrols have pictures of: it is new if an object in it is
VIEW_QUALITY = 90  # JPEG quality of the last view of an episode
_SMALL_QUALITY = 80
SAME_TURN_DEG = 5.0  # two views that differ by less show the same image unless the scene has changed
MAX_CHANGES = 8  # maximum number of changed views stored per pose, so that a television cannot fill the memory
CELL_M = 1.0  # edge of the cells that hold views, metres


class NoveltyView(NamedTuple):
    """Data that decide novelty. position: metres, map frame; axis: unit optical axis, map frame.

    thumb: 16 x 12 grey values 0..1 around a mean of 0.5, as bytes; content: visible instances and states, sorted.
    """

    position: tuple[float, float, float]
    axis: tuple[float, float, float]
    thumb: bytes
    content: tuple[str, ...]
    stamp_ns: int


class KeyframeCandidate:
    """A frame that may be new. Its parts are computed on demand, because most frames are not new.

    possible: content that may be in view, by a cheap test; other content is certainly not in view.
    """

    def __init__(self, frame: Frame, possible: Iterable[Label], seen: Callable[[], Iterable[Sighting]]) -> None:
        self._frame, self._seen = frame, seen
        self.labelled = frame.labels is not None
        self.stamp_ns = frame.stamp_ns
        m = frame.map_from_camera()
        self.position = float(m[0, 3]), float(m[1, 3]), float(m[2, 3])
        self.axis = float(m[0, 2]), float(m[1, 2]), float(m[2, 2])
        self.possible = [item_of(label) for label in possible]

    @cached_property
    def thumb(self) -> bytes:
        """See NoveltyView."""
        return thumbnail(self._frame.rgb)

    @cached_property
    def content(self) -> tuple[str, ...]:
        """See NoveltyView."""
        return tuple(sorted(item_of(s.label) for s in self._seen()))

    def view(self) -> NoveltyView:
        """Return the data to remember."""
        return NoveltyView(self.position, self.axis, self.thumb, self.content, self.stamp_ns)


def item_of(label: Label) -> str:
    """Return the item of content for a label: an instance in a state."""
    return f"{label.instance} {label.attributes.get('state', '')}"


def thumbnail(rgb: np.ndarray) -> bytes:
    """Return 16 x 12 grey bytes, divided by their mean to remove exposure, which varies on real cameras."""
    # stride first: a box filter over all pixels would cost more than the rest of a frame
    step = max(1, rgb.shape[1] // 160)
    small = Image.fromarray(np.ascontiguousarray(rgb[::step, ::step])).convert("L")
    grey = np.asarray(small.resize((16, 12), RESAMPLING.BOX), dtype=np.float64)
    return np.clip(np.rint(grey * (128.0 / max(float(grey.mean()), 1.0))), 0, 255).astype(np.uint8).tobytes()


def jpeg_of(frame: Frame, quality: int) -> bytes:
    """Encode the colour image; the same frame gives the same bytes."""
    return jpeg_of_pixels(frame.rgb, quality)


def jpeg_of_pixels(rgb: np.ndarray, quality: int = VIEW_QUALITY) -> bytes:
    """Encode (H, W, 3) uint8, RGB, with 4:4:4 sampling so that small objects keep their colour."""
    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(rgb)).save(out, "JPEG", quality=quality, subsampling=0, optimize=False)
    return out.getvalue()


def small_jpeg(rgb: np.ndarray, width: int = VIEW_PX) -> bytes:
    """Encode (H, W, 3) uint8, RGB, as a JPEG at most `width` pixels wide, for people and not for models."""
    image = Image.fromarray(np.ascontiguousarray(rgb))
    image.thumbnail((width, image.height), RESAMPLING.BILINEAR)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_SMALL_QUALITY, optimize=True)
    return out.getvalue()


def cell_of(position: tuple[float, float, float]) -> Cell:
    """Return the cell of a position."""
    x, y, z = (math.floor(p / CELL_M) for p in position)
    return x, y, z


def _no_views(cells: Iterable[Cell]) -> dict[Cell, list[NoveltyView]]:
    return {cell: [] for cell in cells}


class Novelty:
    """Keeps views in a spatial hash and determines what is new about another view.

    stored, knows: access to the memory, called once for each cell and item: return the views of some cells, and whether
    an item of content was ever in view. So opening a memory of a million views reads none of them.
    until_ns: views with later stamps are not trusted; what they show counts as new. patrol_began_ns: stamp of the first
    look of this patrol; what earlier views show may have changed.
    """

    def __init__(self, config: KeyframeConfig | None = None,
                 stored: Callable[[list[Cell]], dict[Cell, list[NoveltyView]]] = _no_views,
                 knows: Callable[[str], bool] = lambda item: False) -> None:
        self.config = config or KeyframeConfig()
        self._stored, self._knows = stored, cache(knows)
        self.until_ns: float = math.inf
        self.patrol_began_ns = -1 << 62
        self._cells: dict[Cell, list[NoveltyView]] = {}
        self._content: set[str] = set()

    def add(self, view: NoveltyView) -> None:
        """Remember a view."""
        cell = cell_of(view.position)
        self._read([cell])
        self._cells[cell].append(view)
        self._content.update(view.content)

    def reason(self, view: KeyframeCandidate) -> str:
        """Return why the view is new ("place", "direction", "content", "change", EARLIER), or "" when it is not."""
        near = self._near(view)
        alike, fresh = self._alike(view, near), [v for v in near if self._is_fresh(v, view)]
        alike_fresh = [v for v in alike if self._is_fresh(v, view)]
        if not alike_fresh and not (alike and view.labelled):
            return "direction" if fresh else "place"
        if self._is_new(view.possible) and self._is_new(view.content):
            return "content"
        if self._changed(view, alike_fresh):
            return "change"
        return "" if any(v.stamp_ns >= self.patrol_began_ns for v in alike_fresh) else EARLIER * view.labelled

    def known(self, view: KeyframeCandidate) -> bool:
        """Return whether a remembered view shows the same image."""
        same = self._same(view, [v for v in self._near(view) if self._is_fresh(v, view)])
        return bool(same) and min(difference(v.thumb, view.thumb) for v in same) <= self.config.min_change

    def _near(self, view: KeyframeCandidate) -> list[NoveltyView]:
        return [v for v in self._around(view.position) if v.stamp_ns <= self.until_ns
                and math.dist(v.position, view.position) <= self.config.min_move_m]

    def _alike(self, view: KeyframeCandidate, near: list[NoveltyView]) -> list[NoveltyView]:
        return [v for v in near if _degrees(v.axis, view.axis) <= self.config.min_turn_deg]

    def _is_fresh(self, stored: NoveltyView, view: KeyframeCandidate) -> bool:
        return stored.stamp_ns >= view.stamp_ns - round(self.config.refresh_s * 1e9)

    def _is_new(self, content: Iterable[str]) -> bool:
        return any(item not in self._content and not self._knows(item) for item in content)

    def _changed(self, view: KeyframeCandidate, alike: list[NoveltyView]) -> bool:
        same = self._same(view, alike)
        if not same or len(same) > MAX_CHANGES:
            return False
        return min(difference(v.thumb, view.thumb) for v in same) > self.config.min_change

    def _same(self, view: KeyframeCandidate, near: list[NoveltyView]) -> list[NoveltyView]:
        """Return the views that show the same image unless the scene has changed."""
        c = self.config
        return [v for v in near if math.dist(v.position, view.position) <= c.same_move_m
                and _degrees(v.axis, view.axis) <= SAME_TURN_DEG]

    def _read(self, cells: Iterable[Cell]) -> None:
        if unread := [cell for cell in cells if cell not in self._cells]:
            self._cells.update(self._stored(unread))

    def _around(self, position: tuple[float, float, float]) -> Iterable[NoveltyView]:
        x, y, z = cell_of(position)
        cells = [(x + dx, y + dy, z + dz) for dx in (-1, 0, 1) for dy in (-1, 0, 1) for dz in (-1, 0, 1)]
        self._read(cells)
        return chain.from_iterable(self._cells[cell] for cell in cells)


def _degrees(a: tuple[float, float, float], b: tuple[float, float, float]) -> float:
    """Return the angle between two unit vectors in degrees."""
    dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    return math.degrees(math.acos(max(-1.0, min(1.0, dot))))


def difference(a: bytes, b: bytes) -> float:
    """Return the mean absolute difference of two thumbnails, 0..1."""
    return float(np.mean(np.abs(np.frombuffer(a, np.uint8).astype(np.int16) - np.frombuffer(b, np.uint8)))) / 255.0


def evenly(count: int, k: int) -> list[int]:
    """Return the indices of k of `count` frames, evenly spaced, including the first and last; all if there are fewer.

    Spacing is by count and not by time, because even times could fall into pauses or clock jumps without frames.
    """
    if k == 1 or count <= k:
        return list(range(min(count, k)))
    return [(2 * i * (count - 1) + k - 2) // (2 * (k - 1)) for i in range(k)]


def spread(views: Sequence[Keyframe], k: int) -> list[Recalled]:
    """Return at most k of the views, evenly spaced, in their order."""
    chosen = evenly(len(views), k)
    return [Recalled(views[i], 0.0, f"1 of {len(chosen)} of {len(views)} views, evenly spaced") for i in chosen]


def crop_of(jpeg: bytes, bbox: tuple[int, int, int, int], margin: float = 0.1) -> bytes:
    """Return the JPEG of an object in a view, with a margin on each side as a share of its box, within the image.

    bbox: left, top, right, bottom in pixels; right and bottom are exclusive.
    """
    with Image.open(io.BytesIO(jpeg)) as view:
        left, top, right, bottom = bbox
        dx, dy = round(margin * (right - left)), round(margin * (bottom - top))
        crop = view.crop((max(left - dx, 0), max(top - dy, 0), min(right + dx, view.width),
                          min(bottom + dy, view.height)))
        out = io.BytesIO()
        crop.save(out, "JPEG", quality=95, subsampling=0)
        return out.getvalue()


def file_name(obj: MemoryObject) -> str:
    """Return a file name for the image of an object, such as "12-table-lamp.jpg", safe for any kind."""
    kind = re.sub(r"[^a-z0-9]+", "-", obj.kind.lower())[:_NAME].strip("-")
    return f"{obj.id}-{kind or 'thing'}.jpg"
