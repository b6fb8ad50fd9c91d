"""Views of scenes as robots have them, with a simulator's labels as the truth. The same seed gives the same views."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np

from eqa_nodes.core.errors import ConfigError, SimulatorError
from eqa_nodes.core.ranges import Count, Counted, Range, check_ranges
from eqa_nodes.core.types.geometry import Pose2, camera_mount, compose, inverse
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.tours.tours import Place, first_frame, spread_points
from sim_bridge.registry import open_simulator
from sim_bridge.robots import DEFAULT, ROBOTS
from sim_bridge.senses import with_noise
from sim_bridge.simulator import Simulator, Viewing

CAMERA_M, TILT_DOWN_DEG = (0.3, 1.5), (-10.0, 25.0)  # ranges of the camera's height and tilt
_TRIES = 20  # attempts for each view
_NEAR_M, _OPEN = 0.3, 0.5  # minimum share of pixels with more than this depth: the camera is not inside something


@dataclass(frozen=True)
class MeasuredViews:
    """The views of each scene. depth_noise: standard deviation of depth as a share of the distance; 0 = exact depth."""

    views: Counted = 20
    width: Counted = 320
    height: Counted = 240
    depth_noise: Annotated[float, Range(0.0, 0.2)] = 0.004
    seed: Count = 0

    def __post_init__(self) -> None:
        check_ranges(self, "perception")


class LabelledView(NamedTuple):
    """One view. frame: as a robot gets it, with the simulator's labels; depth_m: (H, W) float32, metres, exact."""

    scene: str
    number: int
    frame: Frame
    depth_m: np.ndarray
    labels: Mapping[int, Label]


def kinds_of(scenes: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds of the labelled objects in scenes, sorted. Raises ConfigError if a scene has no labels."""
    kinds = set[str]()
    for scene in scenes:
        with closing(open_simulator(scene)) as simulator:
            first_frame(simulator, scene, replace(ROBOTS[DEFAULT], camera=_BLIND), None)
            kinds |= {label.kind for label in _labels(simulator, scene).values()}
    return tuple(sorted(kinds))


_BLIND = CameraModel(width=16, height=12, color=False)


def views_of(scene: str, config: MeasuredViews) -> Iterator[LabelledView]:
    """Yield views from places on the floor that a robot can reach, at a random height, heading and tilt.

    Raises UnknownScene, ConfigError if the scene has no labels, SimulatorError if it has no free view.
    """
    rng = np.random.default_rng((config.seed, zlib.crc32(scene.encode())))
    camera = CameraModel(width=config.width, height=config.height)
    robot = replace(ROBOTS[DEFAULT], camera=camera)
    with closing(open_simulator(scene)) as simulator:
        first = first_frame(simulator, scene, robot, None)
        if not isinstance(simulator, Viewing):
            raise SimulatorError(f"the simulator of {scene!r} renders only what its robot sees: take scenes of house:, "
                                 "mesh: or habitat:")
        _labels(simulator, scene)
        places, number = spread_points(simulator, first, rng), 0
        for _ in range(_TRIES * config.views):
            frame = _view(simulator, first, places[int(rng.integers(len(places)))], rng)
            if np.mean(frame.depth_m > _NEAR_M) < _OPEN:
                continue
            if frame.labels is None:
                raise _unlabelled(scene)
            noisy = with_noise(frame.depth_m, config.depth_noise, rng) if config.depth_noise else frame.depth_m
            yield LabelledView(scene, number, replace(frame, depth_m=noisy), frame.depth_m, simulator.labels())
            number += 1
            if number == config.views:
                return
    raise SimulatorError(f"{scene!r} has {number} free views in {_TRIES * config.views} attempts: take another scene")


def _view(simulator: Viewing, first: Frame, place: Place, rng: np.random.Generator) -> Frame:
    """Return what a camera at a random height and tilt sees; the simulator's own camera is moved there."""
    x, y, z = place
    base = Pose2(x, y, float(rng.uniform(-math.pi, math.pi))).transform(z)
    mount = camera_mount(float(rng.uniform(*CAMERA_M)), math.radians(rng.uniform(*TILT_DOWN_DEG)))
    frame = simulator.view(compose(compose(base, mount), inverse(first.base_from_camera)))
    return replace(frame, map_from_base=base, base_from_camera=mount)


def _labels(simulator: Simulator, scene: str) -> Mapping[int, Label]:
    labels = simulator.labels()
    if not labels:
        raise _unlabelled(scene)
    return labels


def _unlabelled(scene: str) -> ConfigError:
    return ConfigError(f"{scene!r} has no labels to measure against: take built-in houses, or scans with semantic "
                       "annotations (docs/scenes.md)")
