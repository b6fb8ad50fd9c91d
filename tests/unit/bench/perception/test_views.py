"""Views are those of a robot: from reachable places, at its heights and tilts, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.bench.perception.views import CAMERA_M, MeasuredViews, kinds_of, views_of
from eqa_nodes.core.components import SIMULATORS
from eqa_nodes.core.errors import ConfigError, SimulatorError, UnknownScene
from eqa_nodes.core.perception.instances import points_of
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import check_frame
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import HouseWorld
from tests.fixtures.houses import empty_room, two_rooms

pytest.importorskip("embreex", reason="the house needs embreex: pip install 'eqa-nodes[house]'")

SMALL = MeasuredViews(4, 64, 48)


@pytest.fixture(scope="module", autouse=True)
def rooms() -> Iterator[None]:
    furnished = replace(two_rooms(), start=Pose2(1.5, 2.0, 0.0))
    worlds = {"rooms:2": HouseWorld(furnished), "rooms:empty": HouseWorld(empty_room())}
    SIMULATORS["rooms"] = lambda: HouseSimulator(worlds)
    yield
    del SIMULATORS["rooms"]


def test_views_are_complete_and_repeat() -> None:
    views = list(views_of("rooms:2", SMALL))
    again = list(views_of("rooms:2", SMALL))
    assert [v.number for v in views] == [0, 1, 2, 3]
    for one, other in zip(views, again, strict=True):
        check_frame(one.frame)
        assert (one.frame.depth_m == other.frame.depth_m).all() and (one.frame.rgb == other.frame.rgb).all()
        assert CAMERA_M[0] <= one.frame.base_from_camera.xyz[2] <= CAMERA_M[1] and one.labels[2].kind == "sofa"
    assert len({v.frame.base_from_camera.xyz[2] for v in views}) == 4
    assert not (next(views_of("rooms:2", MeasuredViews(1, 64, 48, seed=1))).frame.rgb == views[0].frame.rgb).all()


def test_the_pose_of_a_view_is_that_of_its_camera() -> None:
    for one in views_of("rooms:2", MeasuredViews(4, 64, 48, 0.0)):
        v, u = np.nonzero(one.depth_m > 0)
        x, y, z = points_of(one.frame, v, u)[1]
        assert x.min() > -0.1 and x.max() < 8.3 and y.min() > -0.2 and y.max() < 4.3, "everything is in the rooms"
        assert z.min() > -0.01 and z.max() < 3.0, "nothing is below the floor"
        assert one.frame.map_from_base.xyz[2] == 0.0 and one.frame.depth_m is one.depth_m


def test_depth_has_the_noise_of_a_camera() -> None:
    one = next(views_of("rooms:2", SMALL))
    both = (one.frame.depth_m > 0) & (one.depth_m > 0)
    off = one.frame.depth_m[both] / one.depth_m[both] - 1
    assert 0.003 < off.std() < 0.005 and (one.frame.depth_m[one.depth_m > 0] == 0).any()


def test_kinds_are_those_of_the_scenes() -> None:
    assert {"sofa", "bowl"} < set(kinds_of(["rooms:2"]))


def test_scenes_that_cannot_be_measured_are_refused() -> None:
    with pytest.raises(ConfigError, match="'rooms:empty' has no labels"):
        kinds_of(["rooms:2", "rooms:empty"])
    with pytest.raises(ConfigError, match="'rooms:empty' has no labels"):
        next(views_of("rooms:empty", SMALL))
    with pytest.raises(SimulatorError, match="'toy:flat' renders only what its robot sees"):
        next(views_of("toy:flat", SMALL))
    with pytest.raises(UnknownScene):
        next(views_of("nowhere:1", SMALL))
    with pytest.raises(ConfigError, match="views is 0"):
        MeasuredViews(0)
