from __future__ import annotations

import math

import numpy as np
import pytest

from eqa_nodes.core.memory.extents import ObjectBox, box_of_sightings, wall_yaw, whole_edges
from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.views import Intrinsics, Keyframe, Label, Sighting, ViewGeometry
from tests.fixtures.frames import depth_png

CAMERA = Intrinsics(640, 480, 400.0, 400.0, 320.0, 240.0)
MOUNT = camera_mount(1.2, math.radians(15))
SIZE, CENTRE = np.array([1.6, 0.8, 0.75]), np.array([0.0, 0.0, 0.375])


def seen_from(number: int, x: float, y: float, turned: float = 0.0, near: np.ndarray | None = None
              ) -> tuple[Keyframe, Sighting]:
    """Return a view of a table that stands at the origin, turned by an angle, and the table's sighting.

    near: (48, 64) millimetres of what the coarse depth shows; default: everything far away.
    """
    pose = Pose2(x, y, math.atan2(-y, -x))
    cells = np.full((48, 64), 9000) if near is None else near
    view = Keyframe(number, number, pose.transform(), b"", geometry=ViewGeometry(CAMERA, MOUNT, depth_png(cells)))
    c, s = math.cos(turned), math.sin(turned)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    ends = (-0.5, 0.5)
    corners = CENTRE + np.array([[i, j, k] for i in ends for j in ends for k in ends]) * SIZE @ turn.T
    camera = np.linalg.inv(view.map_from_base.matrix() @ MOUNT.matrix())
    p = corners @ camera[:3, :3].T + camera[:3, 3]
    u = np.clip(400.0 * p[:, 0] / p[:, 2] + 320.0, 0, 640)
    v = np.clip(400.0 * p[:, 1] / p[:, 2] + 240.0, 0, 480)
    bbox = round(u.min()), round(v.min()), round(u.max()), round(v.max())
    coarse = np.abs(turn) @ SIZE * 0.8
    x0, y0, z0 = CENTRE.tolist()
    a, b, h = coarse.tolist()
    label = Label(1, "dining table", "kitchen", {"relation": "floor"})
    return view, Sighting(label, 9000, bbox, (x0, y0, z0), (a, b, h))


def test_views_from_several_sides_measure_a_box_to_a_centimetre() -> None:
    box = box_of_sightings([seen_from(1, 3.0, 1.0), seen_from(2, 1.0, 3.0), seen_from(3, -2.0, 2.5)])
    assert box.size == pytest.approx(tuple(SIZE), abs=0.02)
    assert box.centre == pytest.approx(tuple(CENTRE), abs=0.02)
    assert max(box.doubt_m(axis) for axis in range(3)) < 0.05


def test_a_box_that_stands_askew_is_measured_along_its_own_sides() -> None:
    turned = math.radians(30)
    seen = [seen_from(n, 3 * math.cos(a), 3 * math.sin(a), turned) for n, a in enumerate((0.2, 1.3, 2.6, 4.0), 1)]
    box = box_of_sightings(seen, turned)
    assert box.size == pytest.approx(tuple(SIZE), abs=0.03)


def test_views_that_cut_the_object_off_say_that_they_do_not_know_its_size() -> None:
    near = [seen_from(1, 1.1, 0.1), seen_from(2, 1.15, 0.0)]
    assert box_of_sightings(near).doubt_m(1) > 0.2 or box_of_sightings(near).doubt_m(0) > 0.2
    assert not all(whole_edges(*near[0]))


def test_what_stands_nearer_hides_an_edge() -> None:
    view, sighting = seen_from(1, 3.0, 0.0)
    assert whole_edges(view, sighting) == (True, True, True, True)
    wall = np.full((48, 64), 9000)
    wall[:, :math.floor(sighting.bbox[0] / 10)] = 900  # to the left of the outline, nearer than the table
    hidden, sighting = seen_from(1, 3.0, 0.0, near=wall)
    assert whole_edges(hidden, sighting) == (False, True, True, True)


def test_without_geometry_the_coarse_boxes_count() -> None:
    view, sighting = seen_from(1, 3.0, 0.0)
    bare = Keyframe(1, 1, view.map_from_base, b"")
    assert box_of_sightings([(bare, sighting)]).size == pytest.approx(tuple(0.8 * SIZE), abs=0.15)
    assert box_of_sightings([(bare, sighting)]).doubt_m(0) > 0.2


def test_nothing_seen_has_no_size() -> None:
    with pytest.raises(ValueError, match="no sighting"):
        box_of_sightings([])


@pytest.mark.parametrize("degrees", [0.0, 20.0, -35.0])
def test_walls_tell_how_furniture_stands(degrees: float) -> None:
    """A flat wall before the camera has the camera's own heading."""
    level = camera_mount(1.2)
    cells = np.full((48, 64), 3000)
    view = Keyframe(1, 1, Pose2(0.0, 0.0, math.radians(degrees)).transform(), b"",
                    geometry=ViewGeometry(CAMERA, level, depth_png(cells)))
    assert math.degrees(wall_yaw([view])) == pytest.approx(degrees, abs=0.5)
    assert wall_yaw([]) == 0.0


@pytest.mark.parametrize("yaw", [0.0, 0.5])
def test_a_side_is_the_edge_that_the_camera_sees(yaw: float) -> None:
    back = np.linalg.inv(ObjectBox((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), yaw).axes())
    eye = tuple(map(float, back @ np.array([0.3, -3.0, 1.5])))
    table = ObjectBox((0.0, 0.0, 0.4), (2.0, 1.0, 0.8), yaw)
    for axis, ends in ((0, ((-1.0, -0.5, 0.8), (1.0, -0.5, 0.8))), (2, ((0.0, -0.5, 0.0), (0.0, -0.5, 0.8)))):
        side = table.side(axis, (eye[0], eye[1], eye[2]))
        assert side.metres == pytest.approx(table.size[axis])
        at = np.array(side.line) @ back  # in the axes of the box
        assert np.abs(at[:, 1]) == pytest.approx(0.5)
        assert at[:, axis] == pytest.approx(np.array(ends)[:, axis])
        assert at[:, 2] == pytest.approx(np.array(ends)[:, 2])


def test_the_distance_of_two_boxes_is_that_of_their_faces() -> None:
    low, high = ObjectBox((0.0, 0.0, 0.4), (2.0, 1.0, 0.8)), ObjectBox((0.5, 2.5, 1.5), (1.0, 0.6, 1.0))
    level, straight = low.distance(high, level=True), low.distance(high, level=False)
    assert level.metres == pytest.approx(1.7) and level.line.start[2] == level.line.end[2]
    assert straight.metres == pytest.approx(math.hypot(1.7, 0.2))
    assert low.distance(low, level=True).metres == 0.0
    unsure = low._replace(covariance=tuple(tuple(0.01 * (i == j) for j in range(6)) for i in range(6)))
    assert unsure.distance(high, level=True).doubt_m == pytest.approx(unsure.face_doubt_m(1, True))
