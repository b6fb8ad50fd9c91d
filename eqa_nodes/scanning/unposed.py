"""Reads colour and depth without poses: RGB-D folders, bags without transforms, and histories, whose poses are
ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from eqa_nodes.core.errors import BadFrame, ConfigError, StorageError, unknown
from eqa_nodes.core.reconstruction.odometry import RgbdImage
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.recordings.bags.history import BagHistory, BagOptions
from eqa_nodes.recordings.bags.reader import Bag, BagMessage, is_bag
from eqa_nodes.recordings.formats.rgbd_folder import (
    COLOURS,
    DEPTH_FORMATS,
    DEPTHS,
    SECONDS,
    camera_of,
    depth_format_of,
    holds_rgbd,
    images_in,
    nearest,
    read_depth,
)
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.wire.image_files import read_rgb


class FolderOptions(NamedTuple):
    """How to read an RGB-D folder. camera: fx, fy, cx, cy in pixels, principal point from the centre of the first
    pixel; empty: from a file beside the images, else a Kinect's for images of 640x480; depth_format: one of
    DEPTH_FORMATS, empty: "tum" for names as in that benchmark, else "mm"; rate_hz: rate if names contain no stamps."""

    camera: tuple[float, ...] = ()
    depth_format: str = ""
    rate_hz: float = 30.0


class Unposed(Protocol):
    """A recording without poses; each iteration reads it again."""

    name: str

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user on its cameras."""

    @property
    def dropped(self) -> Counter[str]:
        """Number of images that the last iteration skipped, by reason."""

    def __len__(self) -> int:
        """Return the number of recorded images."""

    def __iter__(self) -> Iterator[RgbdImage]:
        """Yield the images in order."""


class UnposedFolder:
    """The images of the folders color/ (or rgb/) and depth/, paired by stamps in their names, else by their order."""

    def __init__(self, folder: Path, options: FolderOptions = FolderOptions()) -> None:
        """Raises StorageError without such images, ConfigError for wrong options."""
        self.name = Path(folder).name
        self._dropped: Counter[str] = Counter()
        self._format = options.depth_format or depth_format_of(Path(folder))
        if self._format not in DEPTH_FORMATS:
            raise ConfigError(unknown("depth format", self._format, DEPTH_FORMATS))
        if len(options.camera) not in (0, 4) or options.rate_hz <= 0:
            raise ConfigError(f"camera {options.camera} at {options.rate_hz:g} Hz: wanted fx,fy,cx,cy and a rate above "
                              "0")
        colours, depths = images_in(Path(folder), COLOURS), images_in(Path(folder), DEPTHS)
        self._pairs = _paired(Path(folder), colours, depths, options.rate_hz)
        self._camera = camera_of(Path(folder), options.camera)
        self.notes = (self._camera.assumed,) if self._camera.assumed else ()

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def dropped(self) -> Counter[str]:
        """Number of images that the last iteration skipped, by reason."""
        return self._dropped

    def __iter__(self) -> Iterator[RgbdImage]:
        self._dropped = Counter()
        for index, (stamp_ns, colour, depth) in enumerate(self._pairs):
            try:
                rgb, depth_m = read_rgb(colour), read_depth(depth, self._format)
                if rgb.shape[:2] != depth_m.shape:
                    raise BadFrame(f"{depth} is {depth_m.shape}, its colour image {rgb.shape[:2]}: wanted depth that "
                                   "is registered to colour, of one size")
                yield RgbdImage(index, stamp_ns, rgb, depth_m, self._camera.of(rgb))
            except BadFrame as error:
                self._dropped[str(error)] += 1


class UnposedHistory:
    """A history or a bag whose poses are ignored."""

    def __init__(self, history: Any) -> None:
        self.name, self._history, self.notes = history.name, history, history.notes

    @property
    def dropped(self) -> Counter[str]:
        """Number of images that the last iteration skipped, by reason."""
        found: Counter[str] = self._history.dropped
        return found

    def __len__(self) -> int:
        return len(self._history)

    def __iter__(self) -> Iterator[RgbdImage]:
        for recorded in self._history.recorded():
            f = recorded.frame
            yield RgbdImage(recorded.index, f.stamp_ns, f.rgb, f.depth_m, f.intrinsics)


class _NoPoses:
    """Replaces the transforms of a bag without any: images do not wait for them, and all poses are the same."""

    def __init__(self) -> None:
        self.invalid: Counter[str] = Counter()

    def take(self, recorded: BagMessage) -> None:
        """Ignore transforms."""

    def map_from_base(self, stamp_ns: int, camera: str) -> Transform:
        """Return the constant pose."""
        return Transform.identity()

    def base_from_camera(self, stamp_ns: int, camera: str) -> Transform:
        """Return the constant pose."""
        return Transform.identity()

    def known(self, stamp_ns: int, camera: str) -> bool:
        """Return True: the constant pose is always known."""
        return True

    def between(self, stamp_ns: int, target: str, source: str) -> Transform:
        """Raise BadFrame: without transforms the relative pose of two cameras is unknown."""
        raise BadFrame(f"depth is seen from {source!r}, colour from {target!r}: record depth that is aligned to colour")


class _UnposedBag(BagHistory):
    """A bag of which only the images are read."""

    def _where(self, opened: Bag) -> Any:
        return _NoPoses()


def open_unposed(path: Path, folder: FolderOptions = FolderOptions(), bag: BagOptions | None = None) -> Unposed:
    """Return the images of a recording. Raises StorageError, ConfigError, BadFrame as `open_history` does."""
    path = Path(path)
    if not path.exists():
        raise StorageError(f"there is no {path}: wanted a bag, or a folder with color/ (or rgb/) and depth/")
    if is_bag(path):
        return UnposedHistory(_UnposedBag(path, bag))
    if holds_rgbd(path):
        return UnposedFolder(path, folder)
    return UnposedHistory(open_history(path))


def _paired(folder: Path, colours: list[Path], depths: list[Path], rate_hz: float) -> list[tuple[int, Path, Path]]:
    """Return stamp, colour and depth of each moment. Raises StorageError."""
    if not colours or not depths:
        raise StorageError(f"{folder} holds {len(colours)} colour and {len(depths)} depth images: poses are found from "
                           "both")
    if all(SECONDS.fullmatch(p.stem) for p in (*colours, *depths)):
        stamped = sorted((float(p.stem), p) for p in colours)
        near = nearest([stamp for stamp, _ in stamped], [float(p.stem) for p in depths])
        pairs = [(round(stamp * 1e9), c, depths[n]) for (stamp, c), n in zip(stamped, near, strict=True) if n >= 0]
        if not pairs:
            raise StorageError(f"{folder}: no colour image has a depth image within 20 ms of it")
        return pairs
    if len(colours) != len(depths):
        raise StorageError(f"{folder} holds {len(colours)} colour and {len(depths)} depth images: wanted as many of "
                           "each, or names that are stamps in seconds")
    return [(round((i + 1) * 1e9 / rate_hz), c, d) for i, (c, d) in enumerate(zip(colours, depths, strict=True))]
