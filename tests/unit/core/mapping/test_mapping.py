"""The mapper, on images of the toy world whose truth is known, and on images made by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.core.errors import BadFrame, ConfigError, StaleData
from eqa_nodes.core.mapping.config import MapperConfig
from eqa_nodes.core.mapping.mapper import Mapper, view_box
from eqa_nodes.core.mapping.voxels import CameraView
from eqa_nodes.core.types.floor import Action, GridMap
from eqa_nodes.core.types.geometry import Pose2, Transform, camera_mount
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Frame, Intrinsics
from sim_bridge.simulator import EpisodeSetup
from sim_bridge.toy import CELL_M, SCENES, GridWorld

WORLDS = {**SCENES, "empty": ("########", "#......#", "#......#", "#..>...#", *["#......#"] * 3, "########")}
ORIGIN = Pose2(0.0, 0.0, 0.0)
SMALL = RobotModel(camera=CameraModel(320, 240))


def at(grid: GridMap, x: float, y: float) -> int:
    """Return the state of the cell that holds a point, -1 off the map."""
    iy, ix = math.floor((y - grid.origin[1]) / grid.resolution_m), math.floor((x - grid.origin[0]) / grid.resolution_m)
    inside = 0 <= iy < grid.cells.shape[0] and 0 <= ix < grid.cells.shape[1]
    return int(grid.cells[iy, ix]) if inside else -1


def tour(scene: str = "room", robot: RobotModel = SMALL,
         actions: tuple[Action, ...] = (Action.TURN_LEFT,) * 11) -> list[Frame]:
    """Return what the robot sees at the start and after each action."""
    world = GridWorld(WORLDS)
    return [world.reset(EpisodeSetup(scene, robot=robot)).frame, *(world.act(action).frame for action in actions)]


def mapped(frames: list[Frame], config: MapperConfig | None = None) -> Mapper:
    mapper = Mapper(config)
    for frame in frames:
        mapper.integrate(frame)
    return mapper


def wall_ahead(stamp_ns: int, distance_m: float, pose: Pose2 = ORIGIN) -> Frame:
    """Return a frame that sees nothing but a wall across the axis, also where the floor would be."""
    k = Intrinsics(64, 48, 32.0, 32.0, 32.0, 24.0)
    return Frame(stamp_ns, np.zeros((48, 64, 3), np.uint8), np.full((48, 64), distance_m, np.float32), k,
                 pose.transform(), camera_mount(1.2))


def test_the_grid_is_the_room() -> None:
    grid = mapped(tour()).grid()
    rows = SCENES["room"][::-1]
    for iy, row in enumerate(rows):
        for ix, mark in enumerate(row):
            state = at(grid, (ix + 0.5) * CELL_M, (iy + 0.5) * CELL_M)
            assert state != (0 if mark in "#CT" else 100), (ix, iy, mark)
    assert at(grid, 2.25, 1.55) == at(grid, 1.75, 2.25) == 0  # free up to the chair
    assert at(grid, 1.75, 1.45) == 100  # the chair's near face
    assert at(grid, 1.25, 2.25) == 0  # the start


def test_walls_are_one_cell_thick_on_their_own_side_and_floor_reaches_their_foot() -> None:
    grid = mapped(tour("empty")).grid()
    for i in range(2, 28):
        y = 0.45 + 0.1 * i
        assert [at(grid, x, y) for x in (3.25, 3.35, 3.45)] == [0, 0, 0], y
        assert at(grid, 3.55, y) == 100
        assert at(grid, 3.75, y) == -1


@pytest.mark.parametrize("tilt_deg", [0.0, 10.0, 30.0])
def test_bare_floor_is_never_an_obstacle(tilt_deg: float) -> None:
    robot = replace(SMALL, camera=CameraModel(320, 240, tilt_down_deg=tilt_deg))
    grid = mapped(tour("flat", robot, (Action.TURN_LEFT,) * 11 + (Action.MOVE_FORWARD,) * 6)).grid()
    iy, ix = np.nonzero(grid.cells == 100)
    x, y = grid.origin[0] + (ix + 0.5) * 0.1, grid.origin[1] + (iy + 0.5) * 0.1
    rows = SCENES["flat"][::-1]
    nearby = [{rows[int((b + dy) / CELL_M)][int((a + dx) / CELL_M)] for dx in (-0.1, 0, 0.1) for dy in (-0.1, 0, 0.1)}
              for a, b in zip(x, y, strict=True)]
    assert nearby
    assert all(marks & set("#SB") for marks in nearby)


def over_a_tray(tilt_deg: float, believed_deg: float, tray_m: float) -> Frame:
    """Return a frame of a floor with a tray 10 cm high `tray_m` ahead; the camera may be tilted other than believed."""
    k = Intrinsics(320, 240, 160.0, 160.0, 160.0, 120.0)
    u, v = np.meshgrid((np.arange(320) + 0.5 - k.cx) / k.fx, (np.arange(240) + 0.5 - k.cy) / k.fy)
    rays = np.stack([u, v, np.ones_like(u)], -1) @ camera_mount(1.2, math.radians(tilt_deg)).matrix()[:3, :3].T
    with np.errstate(divide="ignore"):
        floor, top, front = (np.where(rays[..., 2] < 0, -1.2 / rays[..., 2], 0.0), -1.1 / rays[..., 2],
                             tray_m / rays[..., 0])
    on_top = (top > 0) & (abs(top * rays[..., 0] - tray_m - 0.4) < 0.4) & (abs(top * rays[..., 1]) < 0.5)
    on_front = (abs(1.15 + front * rays[..., 2]) < 0.05) & (abs(front * rays[..., 1]) < 0.5)
    depth = np.where(on_front, front, np.where(on_top, top, np.where(floor < 9.0, floor, 0.0)))
    return Frame(1, np.zeros((240, 320, 3), np.uint8), depth.astype(np.float32), k, ORIGIN.transform(),
                 camera_mount(1.2, math.radians(believed_deg)))


@pytest.mark.parametrize(("believed_deg", "error_deg", "tray", "floor"), [
    (20.0, 0.0, 100, 0), (20.0, 1.0, 100, 0),  # near, the allowance is less than the tray
    (18.5, 0.0, 100, 100), (18.5, 1.5, 100, 0)])  # believed to look higher than it does, it sees floor rise
def test_low_things_are_obstacles_near_the_camera_and_far_floor_is_none(
        believed_deg: float, error_deg: float, tray: int, floor: int) -> None:
    config = MapperConfig(obstacle_min_m=0.05, tilt_error_deg=error_deg)
    grid = mapped([over_a_tray(20.0, believed_deg, 1.5)], config).grid()
    assert at(grid, 1.75, 0.05) == tray and at(mapped([over_a_tray(20.0, 20.0, 1.5)]).grid(), 1.75, 0.05) == 0
    assert at(grid, 4.05, 1.55) == floor


def test_a_thin_leg_is_kept_from_every_distance() -> None:
    k = Intrinsics(640, 480, 320.0, 320.0, 320.0, 240.0)
    mapper = Mapper()
    for i, distance in enumerate((4.5, 3.0, 1.5)):
        depth = np.full((480, 640), 8.0, np.float32)
        half = 0.015 / distance * 320  # a leg 3 cm wide, seen over the height of a table
        depth[250:330, round(320.5 - half):round(320.5 + half) + 1] = distance
        pose = Pose2(5.05 - distance, 0.05, 0.0)
        mapper.integrate(Frame(i, np.zeros((480, 640, 3), np.uint8), depth, k, pose.transform(), camera_mount(0.8)))
    assert at(mapper.grid(), 5.05, 0.05) == 100


@pytest.mark.parametrize(("first_m", "first", "then_m", "then", "changes"), [
    (2.05, 8, 4.05, 15, True), (2.05, 8, 4.05, 14, False),  # 8 hits of 3 count as 15, from which 15 misses take all
    (4.05, 40, 2.05, 6, True), (4.05, 40, 2.05, 5, False)])  # 40 misses count as -15: 5 hits lead to 0, which is free
def test_the_evidence_of_a_voxel_is_bounded(first_m: float, first: int, then_m: float, then: int,
                                            changes: bool) -> None:
    frames = [wall_ahead(i, first_m) for i in range(first)] + [wall_ahead(first + i, then_m) for i in range(then)]
    assert (at(mapped(frames).grid(), 2.05, 0.05) == 100) == ((first_m < then_m) != changes)


@pytest.mark.parametrize(("low_m", "clear_m", "unknown_m"), [
    (0.25, 1.35, 1.25), (0.35, 1.25, 1.15), (0.45, 1.15, 1.05)])
def test_a_column_is_clear_where_it_was_seen_down_to_a_height(low_m: float, clear_m: float, unknown_m: float) -> None:
    """A level camera 1.2 m up, with 24 of 32 pixels below the axis, sees down to 1.2 m - 0.75 d at a distance d.

    What is shown at 1.25 m is the layer around 0.3 m and those above it, at 1.15 m the one around 0.4 m.
    """
    grid = mapped([wall_ahead(1, 4.05)], MapperConfig(low_m=low_m, blind_m=0.0)).grid()
    assert (at(grid, clear_m, 0.05), at(grid, unknown_m, 0.05)) == (0, -1)
    near = mapped([wall_ahead(1, 4.05)], MapperConfig(low_m=low_m, blind_m=unknown_m + 0.01)).grid()
    assert at(near, unknown_m, 0.05) == 0, "so near, the lowest part in view decides"


@pytest.mark.parametrize(("back_to", "refused", "taken"), [(50, 49, 50), (200, 100, 101), (0, 0, 1)])
def test_frames_are_taken_from_the_stamp_to_which_the_clock_was_set_back(back_to: int, refused: int,
                                                                         taken: int) -> None:
    mapper = mapped([wall_ahead(100, 2.05)])
    mapper.set_back(back_to)
    with pytest.raises(BadFrame, match="frames come in order"):
        mapper.integrate(wall_ahead(refused, 2.05))
    mapper.integrate(wall_ahead(taken, 2.05))
    assert mapper.grid().stamp_ns == taken and at(mapper.grid(), 2.05, 0.05) == 100


def test_setting_back_before_the_first_frame_changes_nothing() -> None:
    mapper = Mapper()
    mapper.set_back(50)
    with pytest.raises(StaleData):
        mapper.grid()
    mapper.integrate(wall_ahead(0, 2.05))


@pytest.mark.parametrize(("tilt_deg", "around"), [(53.0, False), (54.0, True), (90.0, True)])
def test_a_camera_that_looks_at_its_feet_may_show_what_is_all_around(tilt_deg: float, around: bool) -> None:
    """The lowest row looks 36.87 degrees below the axis: straight down at a tilt of 53.13 degrees.

    All around, the corners of 16 equal parts of a turn lie 5 m / cos(pi / 16) = 5.098 m away.
    """
    k = Intrinsics(64, 48, 32.0, 32.0, 32.0, 24.0)
    pose = Pose2(1.0, 2.0, 0.0).transform().matrix() @ camera_mount(1.2, math.radians(tilt_deg)).matrix()
    box = view_box(CameraView(pose[:3, :3], pose[:3, 3], k.fx, k.fy, k.cx, k.cy, 5.0), k, 0.7)
    if around:
        assert box == pytest.approx([-4.098, -3.098, 6.098, 7.098], abs=1e-3)
    else:
        assert box[0] == pytest.approx(1.0 - 0.7) and box[2] > 5.9, "nothing behind the robot but the margin"


def test_no_return_is_unknown_never_free() -> None:
    frames = [replace(frame, depth_m=np.zeros_like(frame.depth_m)) for frame in tour()]
    grid = mapped(frames).grid()
    config = MapperConfig()
    iy, ix = np.nonzero(grid.cells != -1)
    away = np.hypot(grid.origin[0] + (ix + 0.5) * 0.1 - 1.25, grid.origin[1] + (iy + 0.5) * 0.1 - 2.25)
    assert len(iy) > 0
    assert away.max() <= config.clearance_m + 1e-9


def test_behind_furniture_nothing_is_known_however_much_air_is_seen() -> None:
    """Air above a low box says nothing about the floor behind it."""
    world = GridWorld({"sofa": ("##########", "#........#", "#>.SS....#", "#........#", "##########")})
    frame = world.reset(EpisodeSetup("sofa", start=Pose2(0.75, 1.25, 0.0), robot=SMALL)).frame
    grid = mapped([frame]).grid()
    assert at(grid, 2.55, 1.25) == -1


def test_a_drop_is_not_floor() -> None:
    """The image shows a floor 1.5 m below the robot's: nothing there may become free."""
    k = Intrinsics(64, 48, 32.0, 32.0, 32.0, 24.0)
    rows = (np.arange(48) + 0.5 - 24) / 32.0
    depth = np.where(rows > 0.05, 2.7 / np.maximum(rows, 0.05), 0.0).astype(np.float32)
    frame = Frame(1, np.zeros((48, 64, 3), np.uint8), np.repeat(depth[:, None], 64, axis=1), k,
                  Pose2(0.0, 0.0, 0.0).transform(), camera_mount(1.2))
    assert at(mapped([frame]).grid(), 2.55, 0.05) == -1


def test_where_the_robot_stood_is_free() -> None:
    """A phantom in the robot's own place goes away when it drives there; the wall beside it stays."""
    mapper = mapped([wall_ahead(0, 1.05)])
    assert at(mapper.grid(), 1.05, 0.05) == 100
    mapper.integrate(wall_ahead(1, 0.0, Pose2(1.05, 0.05, 0.0)))
    assert at(mapper.grid(), 1.05, 0.05) == 0
    assert at(mapper.grid(), 1.05, 0.35) == 100


def test_the_floor_need_not_be_at_zero() -> None:
    low, high = tour(), tour()
    high = [replace(f, map_from_base=Transform((*f.map_from_base.xyz[:2], 3.3), f.map_from_base.xyzw)) for f in high]
    a, b = mapped(low), mapped(high)
    assert np.array_equal(a.grid().cells, b.grid().cells)
    assert b.points()[:, 2].min() > 3.0


def test_explored_is_near_and_central_and_clear() -> None:
    robot = replace(SMALL, camera=CameraModel(320, 240))
    grid = mapped(tour("flat", robot, ())).grid()
    iy, ix = np.nonzero(grid.explored)
    x, y = grid.origin[0] + (ix + 0.5) * 0.1 - 1.25, grid.origin[1] + (iy + 0.5) * 0.1 - 6.75
    away, bearing = np.hypot(x, y), np.abs(np.degrees(np.arctan2(y, x)))
    config = MapperConfig()
    outside = (away > config.clearance_m + 0.1)
    assert away.max() <= config.explored_range_m + 1e-9
    assert bearing[outside].max() <= 26.6 + 4  # half of tan 45 deg is tan 26.6 deg
    assert bearing[outside].max() > 20
    assert np.all(grid.cells[grid.explored] == 0)


def test_points_lie_on_surfaces() -> None:
    points = mapped(tour()).points()
    assert points.dtype == np.float32
    assert points.shape[1] == 3
    near_wall = np.minimum.reduce([abs(points[:, 0] - 0.5), abs(points[:, 0] - 5.5), abs(points[:, 1] - 0.5),
                                   abs(points[:, 1] - 3.0)]) < 0.11
    low = points[:, 2] < 0.76
    high = points[:, 2] > 2.5
    assert np.all(near_wall | low | high)


def test_same_frames_same_bits_and_snapshots_do_not_change() -> None:
    frames = tour("flat")
    a, b = mapped(frames), mapped(frames)
    grid = a.grid()
    kept = grid.cells.copy()
    assert np.array_equal(grid.cells, b.grid().cells)
    assert np.array_equal(grid.explored, b.grid().explored)
    assert a.frontiers() == b.frontiers()
    a.integrate(replace(frames[0], stamp_ns=10**12, map_from_base=Pose2(5.0, 4.0, 1.0).transform()))
    assert np.array_equal(grid.cells, kept)
    a.reset()
    for frame in frames:
        a.integrate(frame)
    assert np.array_equal(a.grid().cells, kept)


def test_cells_are_the_same_wherever_the_first_frame_was() -> None:
    """Growing the volume moves nothing: two orders of the same views agree on walls, cell by cell."""
    frames = tour("flat", SMALL, (Action.TURN_LEFT,) * 11 + (Action.MOVE_FORWARD,) * 8)
    ahead = mapped(frames).grid()
    back = mapped([replace(f, stamp_ns=i) for i, f in enumerate(frames[::-1])]).grid()
    for x in np.arange(0.05, 11.9, 0.1):
        for y in np.arange(0.05, 7.9, 0.1):
            assert (at(ahead, x, y) == 100) == (at(back, x, y) == 100), (x, y)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 239), st.integers(0, 319),
                          st.sampled_from([math.nan, math.inf, -math.inf, -1.0, 1e6])), max_size=60))
def test_rubbish_pixels_do_no_more_than_missing_ones(spots: list[tuple[int, int, float]]) -> None:
    frame = tour(actions=())[0]
    bad, missing = frame.depth_m.copy(), frame.depth_m.copy()
    for v, u, value in spots:
        bad[v, u], missing[v, u] = value, 0.0
    a, b = mapped([replace(frame, depth_m=bad)]), mapped([replace(frame, depth_m=missing)])
    assert np.array_equal(a.grid().cells, b.grid().cells)
    assert np.array_equal(a.grid().explored, b.grid().explored)
    assert a.bad_pixels == len({spot[:2] for spot in spots})


def test_stamps_may_not_go_back_and_refused_frames_leave_no_trace() -> None:
    first, second = tour(actions=(Action.TURN_LEFT,))
    mapper = mapped([second])
    before = mapper.grid()
    for late in (first, second, replace(second, stamp_ns=second.stamp_ns + 1, depth_m=second.depth_m[:10])):
        with pytest.raises(BadFrame):
            mapper.integrate(late)
    assert mapper.rejected == 3
    assert mapper.grid().stamp_ns == second.stamp_ns
    assert np.array_equal(mapper.grid().cells, before.cells)


@pytest.mark.parametrize("x", [1e4, 1e12, 1e300])
def test_a_jump_of_localisation_is_refused(x: float) -> None:
    frames = tour(actions=())
    mapper = mapped(frames)
    with pytest.raises(BadFrame, match=r"localisation|absurdly"):
        mapper.integrate(replace(frames[0], stamp_ns=10**12, map_from_base=Pose2(x, 0.0, 0.0).transform()))
    assert mapper.rejected == 1


def test_nothing_seen_yet_is_an_error_not_an_empty_map() -> None:
    for question in (Mapper().grid, Mapper().frontiers, Mapper().points):
        with pytest.raises(StaleData, match="no frame"):
            question()


@pytest.mark.parametrize("change", [{"voxel_m": 0.0}, {"range_m": -1.0}, {"bound": 200},
                                    {"truncation_m": math.nan}])
def test_senseless_configuration_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(change))):
        MapperConfig(**change)


def test_read_only_and_strided_images_are_welcome() -> None:
    frame = tour(actions=())[0]
    strided = np.repeat(frame.depth_m, 2, axis=1)[:, ::2]
    strided.setflags(write=False)
    assert np.array_equal(mapped([frame]).grid().cells, mapped([replace(frame, depth_m=strided)]).grid().cells)
