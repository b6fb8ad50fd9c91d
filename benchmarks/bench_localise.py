"""Error of poses that are found without any: five hand-held tours through built-in houses, beside the truth."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.handheld import HandheldTour
from eqa_nodes.core.errors import BadFrame, MissingExtra
from eqa_nodes.core.reconstruction.library import open3d
from eqa_nodes.core.reconstruction.localisation import Localisation, localised
from eqa_nodes.core.reconstruction.odometry import moved
from eqa_nodes.core.reconstruction.rgbd import RgbdImage
from eqa_nodes.core.reconstruction.tracking import CameraTracker

SEEDS = (3, 11, 16, 20, 30)  # houses in which a tour visits three rooms or more
KEEP = "EQA_BENCH_KEEP"  # folder for the images and poses of each tour, to look at


class Error(NamedTuple):
    """Of poses against the truth, after the best rigid alignment: root mean squares in metres and degrees; tilt_deg
    and floor_m: of the map frame against the house's."""

    ate_m: float
    ate_deg: float
    tilt_deg: float
    floor_m: float


def rows() -> list[dict[str, str | float]]:
    """Return rows: name, median_ms (a frame), note; one that names the extra where Open3D is absent."""
    try:
        open3d()
    except MissingExtra as error:
        return [{"name": "localise a hand-held tour", "note": str(error)}]
    found = []
    for seed in SEEDS:
        found.append(row(seed))
        print(f"  {found[-1]['name']}: {found[-1]['median_ms']} ms a frame; {found[-1]['note']}", flush=True)
    return found


def row(seed: int) -> dict[str, str | float]:
    """Return the row of one tour; its time is that of the processor, all cores together."""
    tour, tracker = HandheldTour(seed), CameraTracker()
    seconds, shots = 0.0, list(tour)
    for i, shot in enumerate(shots):
        begin = time.process_time()
        tracker.add(RgbdImage(i, shot.stamp_ns, shot.rgb, shot.depth_m, tour.camera.intrinsics))
        seconds += time.process_time() - begin
    name, what = f"localise house:{seed}", f"{tour.metres:.1f} m, {tour.rooms} rooms"
    begin = time.process_time()
    try:
        result = localised(tracker.track)
    except BadFrame as error:
        return {"name": name, "median_ms": 0.0, "note": f"{what}: {error}"}
    seconds += time.process_time() - begin
    if folder := os.environ.get(KEEP):
        np.savez(Path(folder) / f"tour{seed}.npz", rgb=[s.rgb for s in shots], depth_m=[s.depth_m for s in shots],
                 truth=tour.poses, found=np.array([result.poses.get(i, np.full((4, 4), np.nan))
                                                   for i in range(len(shots))]))
    return {"name": name, "median_ms": round(seconds / len(shots) * 1e3, 1), "note": f"{what}, " + told(
        result, tour.poses, len(tracker.track.breaks))}


def told(result: Localisation, truth: np.ndarray, breaks: int) -> str:
    """Return how good the poses are, in words."""
    placed = sorted(result.poses)
    error = error_of(np.array([result.poses[i] for i in placed]), truth[placed])
    before = max((loop.before[0] for loop in result.drift), default=float("nan"))
    return (f"{len(placed)} of {len(truth)} frames: ATE {error.ate_m * 100:.2f} cm, {error.ate_deg:.2f} degrees (rms); "
            f"map tilted by {error.tilt_deg:.2f} degrees, floor off by {error.floor_m * 100:.1f} cm; "
            f"{len(result.drift)} of {result.loops} loops kept, odometry missed them by up to {before * 100:.1f} cm; "
            f"{breaks} breaks")


def error_of(found: np.ndarray, truth: np.ndarray) -> Error:
    """Return the errors of poses (n, 4, 4) against the truth."""
    a, b = found[:, :3, 3], truth[:, :3, 3]
    u, _, vt = np.linalg.svd((b - b.mean(axis=0)).T @ (a - a.mean(axis=0)))
    align = np.eye(4)
    align[:3, :3] = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
    align[:3, 3] = b.mean(axis=0) - align[:3, :3] @ a.mean(axis=0)
    missed = [moved(np.linalg.inv(there) @ align @ here) for here, there in zip(found, truth, strict=True)]
    metres = np.linalg.norm((align @ found)[:, :3, 3] - b, axis=1)
    degrees = np.array([deg for _, deg in missed])
    middle = align @ np.append(a.mean(axis=0), 1.0)
    return Error(float(np.sqrt((metres ** 2).mean())), float(np.sqrt((degrees ** 2).mean())),
                 float(np.degrees(np.arccos(min(1.0, align[2, 2])))), float(middle[2] - a.mean(axis=0)[2]))
