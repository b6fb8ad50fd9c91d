"""The mapper: camera frames -> voxels -> occupancy grid, explored area and frontiers."""

from __future__ import annotations

import math

import numpy as np

from eqa_nodes.core.errors import BadFrame, StaleData
from eqa_nodes.core.mapping import voxels
from eqa_nodes.core.mapping.config import HEAD_ROOM_M, MapperConfig, blind_m, check_body
from eqa_nodes.core.mapping.frontiers import find_frontiers
from eqa_nodes.core.mapping.stairs import StairLayer, body_of, laid_over, sheet_of
from eqa_nodes.core.types.floor import Frontier, GridMap, Staircase
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.views import Frame, Intrinsics, check_frame, clean_depth

_GROWTH = 32  # cells; the volume grows in blocks of this size, so that it seldom has to grow
_PUSH = 0.01  # share of a voxel: covers rounding of depth without overshooting a far edge
_SAMPLES = 3  # measured points per voxel and image axis at maximum range: fewer would leave holes in walls
_STAIRS_M = 3.3  # stairs are mapped up to this far above and below the floor
_ENOUGH = 0.2  # a voxel is solid from this share of the points of a wall at maximum range; ignores stray points


class Mapper:
    """Voxel map of one floor. The cost of a frame depends on the voxels in view, not on the size of the house.

    rejected: number of frames refused since the reset; bad_pixels: number of depth pixels that were NaN, inf, negative
    or out of range; floor_z: height of the floor in the map frame, metres (the base in the first frame; 0 before it).
    """

    def __init__(self, config: MapperConfig | None = None, robot: RobotModel | None = None) -> None:
        """Raises ConfigError if the robot's height does not fit the heights of the map."""
        self.config, self.robot = config or MapperConfig(), robot or RobotModel()
        check_body(self.config, self.robot)
        c, self._blind_m = self.config, blind_m(self.config, self.robot)
        below_m = max(c.floor_below_m, _STAIRS_M) if self.robot.stairs else c.floor_below_m
        self._below = math.ceil((c.obstacle_min_m + below_m) / c.voxel_m - 1e-9)  # layers below obstacle_min_m
        self._body = body_of(self.robot.climb_m, self.robot.height_m + HEAD_ROOM_M, self.robot.radius_m, c.voxel_m)
        self.reset()

    def reset(self) -> None:
        """Delete the map."""
        self.rejected = 0
        self.bad_pixels = 0
        self.floor_z = 0.0
        self._stamp_ns = -1
        self._layout: voxels.VoxelLayout | None = None
        c = self.config
        self._aloft: tuple[float, float, float] | None = None  # position of the base while it stands on stairs
        self._sheet: StairLayer | None = None  # stairs of the current map, computed on demand
        up_m = max(c.ceiling_m, _STAIRS_M + self.robot.height_m + HEAD_ROOM_M) if self.robot.stairs else c.ceiling_m
        layers = self._below + math.ceil((up_m - c.obstacle_min_m) / c.voxel_m - 1e-9)
        self._voxels = np.zeros((0, 0, layers), np.int8)
        self._clear = np.zeros((0, 0), np.bool_)
        self._explored = np.zeros((0, 0), np.bool_)
        self._cells = np.zeros((0, 0), np.int8)

    def integrate(self, frame: Frame) -> None:
        """Integrate a frame. Raises BadFrame, counted in `rejected`, if it is malformed or not newer than the last."""
        try:
            self._check(frame)
            layout = self._layout or self._first_layout(frame)
            view = self._view(frame)
            window = self._reserve(layout, view, frame.intrinsics)
        except BadFrame:
            self.rejected += 1
            raise
        depth_m, n_bad = clean_depth(frame.depth_m)
        self.bad_pixels += n_bad
        first, self._stamp_ns = self._stamp_ns < 0, frame.stamp_ns
        if first:
            self.floor_z = frame.map_from_base.xyz[2]
        self._see(np.require(depth_m, np.float32, ("C", "W")), view, window)
        self._sheet, base = None, frame.map_from_base.xyz
        on_stairs = self.robot.stairs and abs(base[2] - self.floor_z) > self.config.obstacle_min_m
        self._aloft = base if on_stairs else None
        if on_stairs:
            self._tread(base)
        else:
            self._stand(frame, first)

    def set_back(self, stamp_ns: int) -> None:
        """Accept frames from this stamp on, because the clock was set back. Does nothing before the first frame."""
        self._stamp_ns = max(0, min(self._stamp_ns, stamp_ns - 1)) if self._stamp_ns >= 0 else -1

    def skip(self, frame: Frame) -> None:
        """Skip a frame of another floor: the map keeps its content and gets this stamp. Raises the errors of integrate.

        Not allowed for the first frame.
        """
        try:
            self._check(frame)
        except BadFrame:
            self.rejected += 1
            raise
        self._stamp_ns = frame.stamp_ns

    def look_back(self, frame: Frame) -> None:
        """Integrate an older frame, taken on the way to this floor. Not allowed for the first frame."""
        view = self._view(frame)
        window = self._reserve(self._require_layout(), view, frame.intrinsics)
        self._see(np.require(clean_depth(frame.depth_m)[0], np.float32, ("C", "W")), view, window)
        self._sheet = None

    def grid(self) -> GridMap:
        """Return a snapshot of the 2D map. Raises StaleData before the first frame."""
        layout = self._require_layout()
        voxel = self.config.voxel_m
        origin = (layout.gx * voxel, layout.gy * voxel)
        if not self.robot.stairs:
            return GridMap(self._stamp_ns, voxel, origin, self._cells.copy(), self._explored.copy(), self.floor_z)
        sheet = self._stairs()
        return GridMap(self._stamp_ns, voxel, origin,
                       laid_over(sheet, self._voxels, self._cells, layout.floor, self._body),
                       self._explored | sheet.stairs, self.floor_z)

    def frontiers(self) -> list[Frontier]:
        """Return the frontiers of the current map, except those on stairs. Raises StaleData before the first frame."""
        grid = self.grid()
        found = find_frontiers(grid)
        if not self.robot.stairs:
            return found
        stairs, (x0, y0), voxel = self._stairs().stairs, grid.origin, grid.resolution_m
        return [f for f in found if not stairs[math.floor((f.y - y0) / voxel), math.floor((f.x - x0) / voxel)]]

    def staircases(self) -> list[Staircase]:
        """Return the stairs seen from this floor as far as they are known; empty if the robot does not climb."""
        if not self.robot.stairs or self._stamp_ns < 0:
            return []
        layout, voxel, found = self._require_layout(), self.config.voxel_m, list[Staircase]()
        for climb in self._stairs().climbs:
            foot, end = (((layout.gx + ix + 0.5) * voxel, (layout.gy + iy + 0.5) * voxel, self.floor_z + rise)
                         for (iy, ix), rise in ((climb.foot, 0.0), (climb.end, climb.rise_m)))
            found.append(Staircase(foot, end) if climb.rise_m > 0 else Staircase(end, foot))
        return found

    def _stairs(self) -> StairLayer:
        if self._sheet is None:
            layout, voxel, aloft = self._require_layout(), self.config.voxel_m, None
            if self._aloft is not None:
                x, y, z = self._aloft
                aloft = (math.floor(y / voxel) - layout.gy, math.floor(x / voxel) - layout.gx,
                         layout.base + math.floor((z - layout.z0) / voxel))
            self._sheet = sheet_of(self._voxels, self._cells, layout.floor, voxel, self._body, aloft)
        return self._sheet

    def points(self) -> np.ndarray:
        """Return the centres of the occupied voxels, (n, 3) float32, map frame, metres. The cost grows with the map."""
        layout = self._require_layout()
        index = np.argwhere(self._voxels > 0)
        corner = np.array([layout.gx, layout.gy, 0.0])
        centres = (index[:, [1, 0, 2]] + corner + 0.5) * self.config.voxel_m
        centres[:, 2] += layout.z0 - layout.base * self.config.voxel_m
        return centres.astype(np.float32)

    def _check(self, frame: Frame) -> None:
        check_frame(frame)
        if frame.stamp_ns <= self._stamp_ns:
            raise BadFrame(f"stamp {frame.stamp_ns} ns is not newer than {self._stamp_ns} ns: frames come in order")

    def _require_layout(self) -> voxels.VoxelLayout:
        if self._layout is None or self._stamp_ns < 0:
            raise StaleData("there is no map yet: no frame has arrived since the reset")
        return self._layout

    def _first_layout(self, frame: Frame) -> voxels.VoxelLayout:
        """Place the volume: a layer begins at obstacle_min_m, so the floor lies inside a layer and not on its face."""
        c, (x, y, floor) = self.config, frame.map_from_base.xyz
        below = math.ceil((c.obstacle_min_m + c.floor_below_m) / c.voxel_m - 1e-9)
        above = math.ceil((c.ceiling_m - c.obstacle_min_m) / c.voxel_m - 1e-9)
        z0, base = floor + c.obstacle_min_m - below * c.voxel_m, self._below - below
        return voxels.VoxelLayout(
            gx=math.floor(x / c.voxel_m), gy=math.floor(y / c.voxel_m), voxel_m=c.voxel_m, z0=z0, base=base,
            top=self._below + above, floor=base + math.floor((floor - z0) / c.voxel_m),
            low=base + math.ceil((floor + c.low_m - z0) / c.voxel_m - 1e-9) - 1, band0=self._below,
            band1=base + math.ceil((floor + self.robot.height_m + HEAD_ROOM_M - z0) / c.voxel_m - 1e-9))

    def _view(self, frame: Frame) -> voxels.CameraView:
        m, k = frame.map_from_camera(), frame.intrinsics
        return voxels.CameraView(np.ascontiguousarray(m[:3, :3]), np.ascontiguousarray(m[:3, 3]),
                                 float(k.fx), float(k.fy), float(k.cx), float(k.cy), self.config.range_m)

    def _reserve(self, layout: voxels.VoxelLayout, view: voxels.CameraView, k: Intrinsics) -> voxels.VoxelWindow:
        """Grow the volume until it contains the view; return the range of indices that the view may change."""
        reach = view_box(view, k, self.config.clearance_m + self.robot.radius_m) / self.config.voxel_m
        if not np.all(np.abs(reach) < 1e9):
            raise BadFrame(f"camera position {view.position} is absurdly far from the map's origin")
        x0, y0, x1, y1 = (math.floor(edge) + pad for edge, pad in zip(reach, (-1, -1, 2, 2), strict=True))
        rows, columns = self._cells.shape
        before_x, before_y = _blocks(layout.gx - x0), _blocks(layout.gy - y0)
        after_x, after_y = _blocks(x1 - layout.gx - columns), _blocks(y1 - layout.gy - rows)
        extent = max(rows + before_y + after_y, columns + before_x + after_x) * self.config.voxel_m
        if extent > self.config.max_extent_m:
            raise BadFrame(f"pose {view.position[:2].tolist()} would stretch the map to {extent:.0f} m, the limit is "
                           f"{self.config.max_extent_m:.0f} m: has localisation jumped?")
        if before_x or before_y or after_x or after_y:
            pad = ((before_y, after_y), (before_x, after_x))
            self._voxels = np.pad(self._voxels, (*pad, (0, 0)))
            self._clear, self._explored = np.pad(self._clear, pad), np.pad(self._explored, pad)
            self._cells = np.pad(self._cells, pad, constant_values=-1)
        self._layout = layout._replace(gx=layout.gx - before_x, gy=layout.gy - before_y)
        return voxels.VoxelWindow(y0 - self._layout.gy, y1 - self._layout.gy, x0 - self._layout.gx,
                                  x1 - self._layout.gx)

    def _see(self, depth_m: np.ndarray, view: voxels.CameraView, window: voxels.VoxelWindow) -> None:
        """Integrate the depth image into the volume."""
        c, layout = self.config, self._require_layout()
        hits = np.zeros((window.y1 - window.y0, window.x1 - window.x0, self._voxels.shape[2]), np.uint8)
        pixels = min(view.fx, view.fy) * c.voxel_m / c.range_m  # width of the farthest voxels in pixels
        stride = max(1, int(pixels / _SAMPLES))
        enough = max(1, round(_ENOUGH * (pixels / stride) ** 2))
        rise = math.tan(math.radians(c.tilt_error_deg))
        voxels.scatter(depth_m, stride, view, layout, window, _PUSH * c.voxel_m, rise, enough, hits)
        rules = voxels.FusionRules(enough, c.hit, c.miss, c.bound, c.truncation_m, c.drop_m, self._blind_m,
                                   c.explored_range_m, c.explored_width)
        voxels.sweep(depth_m, view, layout, window, rules, hits, self._voxels, self._clear, self._explored, self._cells)

    def _tread(self, base: tuple[float, float, float]) -> None:
        """Mark the surface below the robot as solid and the space above it as free: the camera cannot see them."""
        layout, (x, y, z), radius = self._require_layout(), base, self._body.radius
        voxel, layer = self.config.voxel_m, layout.base + math.floor((z - layout.z0) / self.config.voxel_m)
        if not 0 <= layer < self._voxels.shape[2]:
            return
        cx, cy = x / voxel - layout.gx, y / voxel - layout.gy
        for iy in range(math.floor(cy - radius), math.ceil(cy + radius)):
            for ix in range(math.floor(cx - radius), math.ceil(cx + radius)):
                if math.hypot(ix + 0.5 - cx, iy + 0.5 - cy) <= radius:
                    column = self._voxels[iy, ix]
                    column[layer] = self.config.bound
                    np.minimum(column[layer + 1:layer + 1 + self._body.height], -1,
                               out=column[layer + 1:layer + 1 + self._body.height])

    def _stand(self, frame: Frame, first: bool) -> None:
        """Mark the robot's footprint as free; in the first frame also its surroundings, which are assumed free."""
        c, layout, pose = self.config, self._require_layout(), frame.pose
        reach = c.clearance_m if first else self.robot.radius_m
        span = math.ceil(reach / c.voxel_m) + 1
        ix0, iy0 = math.floor(pose.x / c.voxel_m) - span, math.floor(pose.y / c.voxel_m) - span
        for gy in range(iy0, iy0 + 2 * span + 1):
            for gx in range(ix0, ix0 + 2 * span + 1):
                distance = math.hypot((gx + 0.5) * c.voxel_m - pose.x, (gy + 0.5) * c.voxel_m - pose.y)
                iy, ix = gy - layout.gy, gx - layout.gx
                if distance > reach:
                    continue
                self._clear[iy, ix] = self._explored[iy, ix] = True
                if distance + c.voxel_m * math.sqrt(0.5) <= self.robot.radius_m:  # entirely below the robot, not a wall
                    column = self._voxels[iy, ix, layout.band0:layout.band1]
                    np.minimum(column, 0, out=column)
                self._cells[iy, ix] = voxels.project(self._voxels[iy, ix], layout, True)


def view_box(view: voxels.CameraView, k: Intrinsics, margin_m: float) -> np.ndarray:
    """Return the box (x0, y0, x1, y1), map frame, metres, of the view and of `margin_m` around the camera."""
    corners = np.array([[(u - k.cx) / k.fx, (v - k.cy) / k.fy, 1.0] for u in (0, k.width) for v in (0, k.height)])
    axis = view.rotation[:2, 2]
    rays = corners @ view.rotation[:2].T
    ahead, across = rays @ axis, rays @ np.array([-axis[1], axis[0]])
    if ahead.min() > 1e-6:
        bearing, half = math.atan2(axis[1], axis[0]), float(np.arctan2(np.abs(across), ahead).max())
    else:  # the camera looks steeply up or down: anything around it may be in view
        bearing, half = 0.0, math.pi
    steps = 16
    angles = bearing + np.linspace(-half, half, steps + 1)
    reach = view.range_m / math.cos(half / steps)  # the corners of the polygon lie outside the circle
    x, y = view.position[0], view.position[1]
    xs = np.concatenate([x + reach * np.cos(angles), [x - margin_m, x + margin_m]])
    ys = np.concatenate([y + reach * np.sin(angles), [y - margin_m, y + margin_m]])
    return np.array([xs.min(), ys.min(), xs.max(), ys.max()])


def _blocks(cells: int) -> int:
    """Round a missing number of cells up to whole blocks; 0 or less gives 0."""
    return max(0, math.ceil(cells / _GROWTH)) * _GROWTH
