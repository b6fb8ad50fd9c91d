"""What a simulated robot keeps count of, in a world that is nothing but a wall at x = 2."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.core.errors import BadPose, SimulatorError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.rays import Image
from sim_bridge.simulator import EpisodeSetup
from sim_bridge.walker import At, Walker

WALL_X = 2.0
SMALL = RobotModel(camera=CameraModel(width=4, height=3))
ACTIONS = [action for action in Action if action != Action.OBSERVE]


class Walled(Walker):
    """A plain that rises along y, up to a wall; pictures are of one shade, the number of the picture."""

    pictures = 0

    def _enter(self, episode: EpisodeSetup) -> tuple[Pose2, float]:
        pose = episode.start or Pose2(0.0, 0.0, 0.0)
        return pose, self._stand(pose)

    def _stand(self, pose: Pose2) -> float:
        if not pose.x < WALL_X:
            raise BadPose(f"{pose} is beyond the wall")
        return pose.y / 10

    def _hop(self, at: At, dx: float, dy: float) -> At:
        x, y = at[0] + dx, at[1] + dy
        if x >= WALL_X:
            x = at[0]
            y = y if self._robot.slide else at[1]
        return x, y, y / 10

    def _image(self, camera: CameraModel, map_from_camera: np.ndarray) -> Image:
        self.pictures += 1
        shape = camera.height, camera.width
        return Image(np.full((*shape, 3), self.pictures % 256, np.uint8), np.zeros(shape, np.float32),
                     np.zeros(shape, np.uint16))


def walled(start: Pose2 | None = None, robot: RobotModel = SMALL) -> Walled:
    sim = Walled()
    sim.reset(EpisodeSetup("walled", start=start, robot=robot))
    return sim


@given(st.lists(st.sampled_from(ACTIONS), max_size=30))
@settings(max_examples=50, deadline=None)
def test_every_action_counts_and_takes_its_time(actions: list[Action]) -> None:
    sim = walled()
    first = sim.act(Action.OBSERVE)
    steps = [sim.act(action) for action in actions]
    for number, step in enumerate(steps, 1):
        assert (step.steps, step.frame.stamp_ns) == (number, first.frame.stamp_ns + number * 500_000_000)
        assert step.frame.pose.x < WALL_X
    assert [s.metres for s in steps] == sorted(s.metres for s in steps)


def test_the_base_is_as_high_as_its_floor() -> None:
    sim = walled(Pose2(0.0, 1.0, math.pi / 2))
    assert sim.act(Action.OBSERVE).frame.map_from_base.xyz == (0.0, 1.0, 0.1)
    assert sim.act(Action.MOVE_FORWARD).frame.map_from_base.xyz == pytest.approx((0.0, 1.25, 0.125))
    assert sim.drive(0.5, 0.0, 0.5).map_from_base.xyz == pytest.approx((0.0, 1.5, 0.15))
    assert sim.place_robot(Pose2(1.0, 3.0, 0.0)).frame.map_from_base.xyz == (1.0, 3.0, 0.3)


def test_placing_looks_within_limits_and_counts_nothing() -> None:
    sim = walled()
    before = sim.act(Action.MOVE_FORWARD)
    placed = sim.place_robot(Pose2(1.0, 0.0, 1.0), look_deg=400.0)
    assert (placed.steps, placed.metres) == (before.steps, before.metres)
    assert placed.frame.base_from_camera.matrix()[2, 2] == pytest.approx(math.sin(math.radians(50)))
    with pytest.raises(BadPose):
        sim.place_robot(Pose2(3.0, 0.0, 0.0))
    assert sim.act(Action.OBSERVE).frame.pose == pytest.approx(Pose2(1.0, 0.0, 1.0))


def test_a_picture_is_taken_once_after_a_drive() -> None:
    sim = walled()
    for _ in range(5):
        sim.drive(0.1, 0.1, 0.1)
    assert sim.pictures == 1
    shown = [sim.act(Action.OBSERVE).frame for _ in range(3)]
    assert sim.pictures == 2
    assert shown[0] is shown[2]


@given(st.floats(-1, 1), st.floats(-2, 2), st.floats(0, 3))
@settings(max_examples=80, deadline=None)
def test_an_arc_in_the_open_is_a_circle(forward: float, turn: float, seconds: float) -> None:
    sim = walled(Pose2(-10.0, 0.0, 0.3))
    driven = sim.drive(forward, turn, seconds)
    angle, length = turn * seconds, forward * seconds
    chord = length * (math.sin(angle / 2) / (angle / 2) if abs(angle) > 1e-9 else 1.0)
    at = (-10.0 + chord * math.cos(0.3 + angle / 2), chord * math.sin(0.3 + angle / 2))
    assert driven.map_from_base.xyz[:2] == pytest.approx(at, abs=1e-6)
    assert driven.metres == pytest.approx(abs(length), rel=1e-3, abs=1e-6)
    assert not driven.collided


@pytest.mark.parametrize("slide", [True, False])
def test_a_wall_stops_or_is_slid_along(slide: bool) -> None:
    sim = walled(Pose2(1.9, 0.0, 0.5), RobotModel(camera=SMALL.camera, slide=slide))
    step = sim.act(Action.MOVE_FORWARD)
    assert step.collided
    assert (step.frame.pose.y > 0.1) is slide
    driven = sim.drive(0.2, 0.0, 0.5)
    assert driven.collided and (driven.metres > step.metres + 0.01) is slide


def test_a_slow_drive_into_a_wall_is_a_collision() -> None:
    sim = walled(Pose2(1.9999, 0.0, 0.0))
    assert sim.drive(0.05, 0.0, 0.02).collided
    assert not sim.drive(-0.05, 0.0, 0.02).collided
    assert not sim.drive(0.0, 1.0, 0.02).collided


def test_a_wait_moves_only_the_clock() -> None:
    sim = walled()
    a, b = sim.drive(0.0, 0.0, 0.0), sim.drive(0.0, 0.0, 2.5)
    assert b.stamp_ns - a.stamp_ns == 2_500_000_000
    assert (a.map_from_base, a.metres, a.collided) == (b.map_from_base, b.metres, b.collided)


@pytest.mark.parametrize("bad", [(math.nan, 0.0, 1.0), (0.0, math.inf, 1.0), (1.0, 0.0, -1e-9), (1.0, 0.0, math.inf)])
def test_a_bad_drive_changes_nothing(bad: tuple[float, float, float]) -> None:
    sim = walled()
    before = sim.act(Action.OBSERVE)
    with pytest.raises(SimulatorError, match="rad/s"):
        sim.drive(*bad)
    assert sim.act(Action.OBSERVE).frame is before.frame


def test_nothing_moves_before_a_reset_or_after_closing() -> None:
    sim = Walled()
    for call in (lambda: sim.act(Action.TURN_LEFT), lambda: sim.drive(0.1, 0.0, 0.1),
                 lambda: sim.place_robot(Pose2(0, 0, 0))):
        with pytest.raises(SimulatorError, match="reset"):
            call()
    sim.reset(EpisodeSetup("walled"))
    sim.close()
    with pytest.raises(SimulatorError, match="reset"):
        sim.drive(0.1, 0.0, 0.1)
