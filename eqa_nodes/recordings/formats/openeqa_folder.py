"""Reads and writes OpenEQA's folders: NNNNN-rgb.png, NNNNN-depth.png, NNNNN.txt, intrinsic_*.txt.

There are two kinds of published folders, which only their cameras distinguish. Simulated homes: depth is uint16 in
steps of 10 m / 65535, a pose maps OpenGL camera axes (x right, y up, z back) into Habitat's world, pixel centres are
at 0.5. ScanNet (only these have extrinsic_*.txt): six digits, depth in millimetres, ScanNet's axes and world.

The writer produces the first kind with an additional file: frames.csv has each frame's stamp and base pose, which the
format cannot store. Colour, stamps and base poses are preserved exactly; camera poses within 1e-6 m and rad; depth
within half a step of 10 m / 65535, 0 (no return) beyond 10 m; labels are not stored.
Without frames.csv the base is 1 m below the camera, as in OpenEQA (supplement B.1), and frames follow at 30 Hz.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from PIL import Image

from eqa_nodes.core.errors import BadFrame, BadPose, StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Intrinsics, clean_depth
from eqa_nodes.recordings.episode_history import EpisodeHistory, HistoryFormat, RecordedHistory, no_frame
from eqa_nodes.recordings.formats.cameras import GL_FROM_OPTICAL, MAP_FROM_GL, base_below, mount, pinhole, rigid
from eqa_nodes.recordings.formats.map_frames import DepthView, find_map_frame
from eqa_nodes.recordings.formats.pictures import colour_alone, read_pictures
from eqa_nodes.recordings.formats.scannet import RATE_HZ, numbered, read_cameras, read_stored
from eqa_nodes.wire.image_files import read_bounded, read_rgb, text_of

DEPTH_RANGE_M = 10.0
CAMERA_HEIGHT_M = 1.0
SIDECAR = "frames.csv"
_COLUMNS = ("frame", "stamp_ns", "x", "y", "z", "qx", "qy", "qz", "qw")
_LINE_BYTES = 300  # upper limit of a line in frames.csv


class _Row(NamedTuple):
    stamp_ns: int
    map_from_base: Transform


class OpenEqaFolder:
    """The frames of a folder, read by index. Raises StorageError if there are none or the cameras cannot be read."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self._colors, self._depths = numbered(self.folder, "-rgb"), numbered(self.folder, "-depth")
        self._poses = {n: p for n, p in numbered(self.folder).items() if p.suffix == ".txt"}
        self.numbers = sorted(self._colors)
        if not self._colors.keys() & self._depths.keys() & self._poses.keys():
            raise StorageError(f"{folder} holds {len(self._colors)} colour images, {len(self._depths)} depth images "
                               f"and {len(self._poses)} poses, but no frame with all three: OpenEQA's "
                               "extract-frames.py writes depth and poses unless it is called with --rgb-only")
        self._cameras, sidecar = read_cameras(self.folder), self.folder / SIDECAR
        self._rows = _read_rows(sidecar, len(self._colors)) if sidecar.exists() else None
        if self._rows is not None and self._rows.keys() != self._colors.keys():
            raise StorageError(f"{folder} holds {len(self._colors)} frames and {len(self._rows)} lines of {SIDECAR}: "
                               "an export was cut short, or files were removed; export again, or remove that file")
        self._of_scannet, self.notes = (self.folder / "extrinsic_color.txt").exists(), tuple[str, ...]()
        if self._of_scannet:
            self._map_from_world, note = find_map_frame(folder, len(self), self._depth_view, z_up=True)
            self.notes = (note,)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> Frame:
        """Return one frame. Raises BadFrame when it is incomplete or cannot be used."""
        number, (raw, matrix) = self.numbers[index], self._stored(index)
        rgb = read_rgb(self._colors[number])
        stamp_ns = round((number + 1) * 1e9 / RATE_HZ)
        if self._of_scannet:
            return self._cameras.frame(stamp_ns, rgb, raw, self._map_from_world @ matrix)
        if raw.shape != rgb.shape[:2]:
            raise BadFrame(f"{self._depths[number]} is {raw.shape}, its colour image {rgb.shape[:2]}: both must have "
                           "the same size")
        map_from_camera = MAP_FROM_GL @ matrix @ GL_FROM_OPTICAL
        depth_m = (raw * (DEPTH_RANGE_M / 65535)).astype(np.float32)
        k, row = pinhole(self._cameras.color, rgb.shape, 0.5), None if self._rows is None else self._rows[number]
        if row is None:
            row = _Row(stamp_ns, base_below(map_from_camera, map_from_camera[2, 3] - CAMERA_HEIGHT_M))
            k = _square_pixels(k)
        return Frame(row.stamp_ns, rgb, depth_m, k, row.map_from_base, mount(row.map_from_base, map_from_camera))

    def _stored(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        return read_stored(self.numbers[index], self._depths, self._poses)

    def _depth_view(self, index: int) -> DepthView:
        return self._cameras.depth_view(*self._stored(index))


def _square_pixels(k: Intrinsics) -> Intrinsics:
    """Return the intrinsics of OpenEQA's simulated camera, whose pixels are square, as Habitat renders them.

    OpenEQA's extract-frames.py scales the vertical field of view as an angle (50.6 degrees for 1920x1080 at 90, while
    58.7 were rendered): the fy that it writes is 19 % too large. Any other fy is kept.
    """
    written = k.height / 2 / math.tan(math.atan(k.width / 2 / k.fx) * k.height / k.width)
    return k._replace(fy=k.fx) if math.isclose(k.fy, written, abs_tol=2e-6) else k


def _read_rows(path: Path, count: int) -> dict[int, _Row]:
    """Return frame number -> line of frames.csv. Raises StorageError naming the line."""
    rows: dict[int, _Row] = {}
    lines = csv.reader(())
    try:
        text = text_of(read_bounded(path, _LINE_BYTES * (1 + count)))
        lines = csv.reader(StringIO(text, newline=""))
        if tuple(next(lines, ())) != _COLUMNS:
            raise BadFrame(f"it does not begin with {','.join(_COLUMNS)}")
        for number, stamp_ns, *pose in lines:
            x, y, z, qx, qy, qz, qw = map(float, pose)
            row = _Row(int(stamp_ns), Transform((x, y, z), (qx, qy, qz, qw)))
            rigid(row.map_from_base.matrix(), "the base's pose")
            if not 0 <= row.stamp_ns < 1 << 63:
                raise BadFrame(f"stamp {row.stamp_ns} is not in nanoseconds")
            rows[int(number)] = row
    except (ValueError, BadFrame, BadPose, csv.Error) as error:
        raise StorageError(f"{path}, line {lines.line_num} cannot be read: {error}") from error
    return rows


def write_openeqa(frames: Iterable[Frame], folder: Path,
                  progress: Callable[[int], None] = lambda written: None) -> Counter[str]:
    """Write frames as a folder, one at a time; return counts of what the format could not store, by reason.

    progress: called with the number of written frames. Raises StorageError when the folder has files already, the
    camera changes within the history, there is no frame or the disk fails.
    """
    folder, lost, first = Path(folder), Counter[str](), None
    try:
        with _new_sidecar(folder) as sidecar:
            for i, frame in enumerate(frames):
                first = first or _write_camera(folder, frame.intrinsics)
                if frame.intrinsics != first:
                    raise StorageError(f"frame {i} was taken with {frame.intrinsics}, the first with {first}: a folder "
                                       "has one camera")
                lost.update(_write_frame(folder, sidecar, i, frame))
                progress(i + 1)
    except OSError as error:
        raise StorageError(f"{folder} could not be written: {error}") from error
    if first is None:
        raise no_frame(frames)
    return lost


def _new_sidecar(folder: Path) -> IO[str]:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise StorageError(f"{folder} is not empty: choose another folder, or empty it")
    sidecar = (folder / SIDECAR).open("w", encoding="utf-8", newline="")
    csv.writer(sidecar, lineterminator="\n").writerow(_COLUMNS)
    return sidecar


def _write_camera(folder: Path, k: Intrinsics) -> Intrinsics:
    matrix = np.array([[k.fx, 0, k.cx, 0], [0, k.fy, k.cy, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    for kind in ("color", "depth"):
        _write_matrix(folder / f"intrinsic_{kind}.txt", matrix)
    return k


def _write_frame(folder: Path, sidecar: IO[str], number: int, frame: Frame) -> list[str]:
    """Write one frame, its line in frames.csv last; return what could not be stored."""
    depth_m, n_bad = clean_depth(frame.depth_m, DEPTH_RANGE_M)
    steps = np.rint(depth_m.astype(np.float64) * (65535 / DEPTH_RANGE_M)).astype(np.uint16)
    _write_png(folder / f"{number:05d}-rgb.png", frame.rgb)
    _write_png(folder / f"{number:05d}-depth.png", steps)
    habitat_from_gl = MAP_FROM_GL.T @ frame.map_from_camera() @ GL_FROM_OPTICAL
    _write_matrix(folder / f"{number:05d}.txt", habitat_from_gl)
    t = frame.map_from_base
    csv.writer(sidecar, lineterminator="\n").writerow((number, frame.stamp_ns, *map(repr, (*t.xyz, *t.xyzw))))
    lost = {f"frames with depth beyond {DEPTH_RANGE_M:g} m or invalid": n_bad > 0,
            "frames with labels": frame.labels is not None}
    return [reason for reason, true in lost.items() if true]


def _write_matrix(path: Path, matrix: np.ndarray) -> None:
    with path.open("w", encoding="ascii") as file:
        np.savetxt(file, matrix, fmt="%.12g")


def _write_png(path: Path, pixels: np.ndarray) -> None:
    encoded = BytesIO()
    Image.fromarray(pixels).save(encoded, "PNG", compress_level=1)
    path.write_bytes(encoded.getvalue())


def _opened(path: Path) -> EpisodeHistory:
    if colour_alone(path, "-rgb"):
        return read_pictures(path, "-rgb")
    return RecordedHistory(path.name, OpenEqaFolder(path))


OPENEQA = HistoryFormat(HistoryTraits(looks_like="a folder with NNNNN-rgb.png"),
                        lambda path: next(path.glob("*-rgb.png"), None) is not None, _opened)
