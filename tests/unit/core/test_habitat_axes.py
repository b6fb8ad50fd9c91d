"""Habitat's axes and ours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.types.geometry import (
    Pose2,
    Transform,
    camera_mount,
    camera_to_habitat,
    compose,
    position_from_habitat,
    position_to_habitat,
    rotation_to_habitat,
)

metres = st.floats(-50, 50)


@given(x=metres, y=metres, yaw=st.floats(-3.1, 3.1), tilt=st.floats(-1.5, 1.5))
def test_a_camera_sees_the_same_point_in_both_axes(x: float, y: float, yaw: float, tilt: float) -> None:
    camera = compose(Pose2(x, y, yaw).transform(0.3), camera_mount(1.2, tilt))
    position, rotation = camera_to_habitat(camera)
    seen = np.array([0.2, -0.1, 2.0])  # optical: right, down, forward
    ours = (camera.matrix() @ [*seen, 1.0])[:3]
    theirs = Transform(position, rotation).matrix() @ [seen[0], -seen[1], -seen[2], 1.0]
    assert position_from_habitat(theirs[:3].tolist()) == pytest.approx(tuple(ours), abs=1e-9)


def test_a_level_camera_is_turned_as_its_robot() -> None:
    for yaw in (0.0, 1.0, -2.5):
        position, (x, y, z, w) = camera_to_habitat(compose(Pose2(1.0, 2.0, yaw).transform(), camera_mount(1.5)))
        assert position == pytest.approx(position_to_habitat((1.0, 2.0, 1.5)))
        wanted = rotation_to_habitat(yaw)
        sign = math.copysign(1.0, w * wanted[0] + y * wanted[2])
        assert (w * sign, x * sign, y * sign, z * sign) == pytest.approx(wanted, abs=1e-9)
