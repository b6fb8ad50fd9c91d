"""Training views of labelled scenes: images as robots see them, with what each pixel belongs to.

Views are drawn in any scene whose simulator has labels and a camera that can be placed freely: built-in houses, mesh
scenes with a file of labels, Habitat scenes with semantics. Camera height, tilt and field of view differ from view to
view as they do between robots. Each scene is one compressed file, so that an interrupted run continues where it ended.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from eqa_nodes.core.errors import ConfigError, SimulatorError
from eqa_nodes.core.ranges import Counted, check_ranges
from eqa_nodes.core.types.geometry import Transform, camera_mount, compose, inverse
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.perception.perceiver_input import HEIGHT, WIDTH
from eqa_nodes.tours.tours import spread_points
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import EpisodeSetup, Viewing

STRIDE = 2  # pixels of the input for each pixel of the perceiver's output
FIELDS = ("kind", "colour", "material", "state", "room")  # what an instance is labelled with
_LOW_M, _HIGH_M, _USUAL_M = 0.3, 1.5, 1.2  # height of the camera
_HFOV_DEG = (58.0, 95.0)
_AHEAD = 0.7  # share of the views that look ahead as a mounted camera does, the others look up or down further
_EMPTY_M, _OPEN = 0.35, 0.6  # a view is used if at least this share of its pixels is farther away than that


@dataclass(frozen=True)
class ViewsConfig:
    """How the views of a scene are drawn. cameras: number of fields of view, each of which gives per_camera views."""

    cameras: Counted = 4
    per_camera: Counted = 20
    seed: int = 0

    def __post_init__(self) -> None:
        check_ranges(self, "views")


class SceneViews(NamedTuple):
    """The views of one scene.

    rgb: (n, 240, 320, 3) uint8; depth_mm: (n, 240, 320) uint16, 0 = none; rise: (n, 240, 320) is not stored but
    follows from `camera`: (n, 8) float32, fx, fy, cx, cy, and the row of map_from_camera that gives the height above
    the floor; ids: (n, 120, 160) uint16, number of the instance of each pixel, 0 = surroundings; table: by view, the
    FIELDS of each number.
    """

    rgb: np.ndarray
    depth_mm: np.ndarray
    camera: np.ndarray
    ids: np.ndarray
    table: list[dict[int, tuple[str, ...]]]


def write_views(scene: str, file: Path, config: ViewsConfig | None = None) -> int:
    """Draw the views of a scene into a file, unless it is there; return their number. Raises SimulatorError."""
    if file.exists():
        return len(read_tables(file))
    drawn = list(draw_views(scene, config or ViewsConfig()))
    if not drawn:
        raise SimulatorError(f"{scene} has no view from where a robot can stand: choose another scene")
    frames = [frame for frame, _ in drawn]
    tables = [{str(i): [fields_of(label)[name] for name in FIELDS] for i, label in table.items()}
              for _, table in drawn]
    part = file.with_name(f"{file.name}.part")
    with part.open("wb") as stream:
        np.savez_compressed(
            stream, rgb=np.stack([f.rgb for f in frames]),
            depth_mm=np.stack([np.rint(np.minimum(f.depth_m, 60.0) * 1000).astype(np.uint16) for f in frames]),
            camera=np.stack([camera_of(f) for f in frames]),
            ids=np.stack([_labels(f)[STRIDE // 2::STRIDE, STRIDE // 2::STRIDE] for f in frames]),
            table=np.frombuffer(json.dumps(tables).encode(), np.uint8))
    part.replace(file)
    return len(frames)


def read_views(file: Path) -> SceneViews:
    """Return the views in a file of write_views. Raises ConfigError if it is none."""
    with _opened(file) as found:
        return SceneViews(found["rgb"], found["depth_mm"], found["camera"], found["ids"], _tables(found))


def read_tables(file: Path) -> list[dict[int, tuple[str, ...]]]:
    """Return the tables of the views in a file, without reading the images. Raises ConfigError if it is none."""
    with _opened(file) as found:
        return _tables(found)


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    try:
        with np.load(file, allow_pickle=False) as found:
            yield found
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise ConfigError(f"{file} is no file of training views ({error}): delete it, and it is drawn again") from error


def _tables(found: Any) -> list[dict[int, tuple[str, ...]]]:
    return [{int(i): tuple(values) for i, values in table.items()} for table in json.loads(bytes(found["table"]))]


def fields_of(label: Label) -> dict[str, str]:
    """Return the FIELDS of a label, "" for what it does not say."""
    return {"kind": label.kind, "room": label.room,
            **{name: label.attributes.get(name, "") for name in ("colour", "material", "state")}}


def draw_views(scene: str, config: ViewsConfig) -> Iterator[tuple[Frame, dict[int, Label]]]:
    """Yield frames of a scene, with the labels of what is in view. The same settings give the same views."""
    rng = np.random.default_rng([config.seed, *scene.encode()])
    with closing(open_simulator(scene)) as simulator:
        if not isinstance(simulator, Viewing):
            raise SimulatorError(f"the simulator of {scene!r} renders only what its robot sees: training views need "
                                 "house:, mesh: or habitat:")
        places: list[tuple[float, float, float]] = []
        for _ in range(config.cameras):
            camera = CameraModel(WIDTH, HEIGHT, float(rng.uniform(*_HFOV_DEG)))
            first = simulator.reset(EpisodeSetup(scene, robot=RobotModel(camera=camera))).frame
            if first.labels is None or not simulator.labels():
                raise ConfigError(f"{scene} has no labels: training needs a scene with them")
            places = places or spread_points(simulator, first, rng)
            yield from _seen(simulator, camera, places, config.per_camera, rng)


def _seen(simulator: Viewing, camera: CameraModel, places: Sequence[tuple[float, float, float]], wanted: int,
          rng: np.random.Generator) -> Iterator[tuple[Frame, dict[int, Label]]]:
    left = 4 * wanted
    while wanted and left:
        left -= 1
        frame = _view(simulator, camera, places[int(rng.integers(len(places)))], rng)
        if np.mean((frame.depth_m == 0) | (frame.depth_m > _EMPTY_M)) < _OPEN:
            continue  # in front of a wall
        wanted -= 1
        table = simulator.labels()
        yield frame, {int(i): table[int(i)] for i in np.unique(_labels(frame)) if int(i) in table}


def _view(simulator: Viewing, camera: CameraModel, place: tuple[float, float, float], rng: np.random.Generator
          ) -> Frame:
    """Return a frame from near a place, of a camera with a random height, direction and tilt."""
    x, y = (np.array(place[:2]) + rng.uniform(-0.15, 0.15, 2)).tolist()
    height_m = float(rng.uniform(_LOW_M, _HIGH_M))
    ahead = rng.random() < _AHEAD
    tilt = float(rng.normal(10.0, 7.0) if ahead else rng.uniform(-20.0, 50.0))
    roll = float(rng.normal(0.0, 1.0))
    yaw = float(rng.uniform(-math.pi, math.pi))
    floor = Transform((x, y, place[2]), _quaternion(yaw, 0.0, 0.0))
    eye = Transform((x, y, place[2] + height_m), _quaternion(yaw, math.radians(tilt), math.radians(roll)))
    mounted = camera_mount(camera.height_m, math.radians(camera.tilt_down_deg))
    level = camera_mount(0.0, 0.0)
    wanted = compose(eye, level)  # map_from_camera
    frame = simulator.view(compose(wanted, inverse(mounted)))
    return replace(frame, map_from_base=floor, base_from_camera=compose(inverse(floor), wanted))


def _quaternion(yaw: float, pitch: float, roll: float) -> tuple[float, float, float, float]:
    """Return the rotation (x, y, z, w) about z, then y, then x; radians, REP 103 (positive pitch looks down)."""
    cy, sy, cp, sp, cr, sr = (f(a / 2) for a in (yaw, pitch, roll) for f in (math.cos, math.sin))
    return (sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy)


def camera_of(frame: Frame) -> np.ndarray:
    """Return (8,) float32: fx, fy, cx, cy, and the row (4,) that gives the height above the floor of a camera point."""
    k, row = frame.intrinsics, frame.map_from_camera()[2]
    return np.array([k.fx, k.fy, k.cx, k.cy, *row[:3], row[3] - frame.map_from_base.xyz[2]], np.float32)


def _labels(frame: Frame) -> np.ndarray:
    assert frame.labels is not None
    return frame.labels
