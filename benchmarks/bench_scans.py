"""Scans of a million triangles in the mesh simulator, beside habitat_sim on the same file where that is there.

habitat_sim is taken from EQA_HABITAT_PYTHON, or from this Python.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import trimesh

from benchmarks.habitat_echo import frame_seconds
from benchmarks.large_mesh import write_large_mesh
from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.habitat.simulator import HabitatSimulator
from sim_bridge.house.generate import generate_house
from sim_bridge.mesh.simulator import MeshSimulator, _loaded
from sim_bridge.rays import BAND_ROWS, for_bands, optical_rays
from sim_bridge.simulator import EpisodeSetup, Simulator

TRIANGLES, OTHER, SEED, FRAMES = 1_000_000, 300_000, 3, 24
PEAK = ("import resource, sys; from sim_bridge.mesh.simulator import MeshSimulator; from sim_bridge.simulator import "
        "EpisodeSetup; MeshSimulator().reset(EpisodeSetup(sys.argv[1])); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)")


def rows() -> list[dict[str, object]]:
    """Return one row a figure: name, median_ms, baseline, ratio, note."""
    with tempfile.TemporaryDirectory() as folder:
        large, other, small = (Path(folder) / f"{name}.glb" for name in ("large", "other", "small"))
        count = write_large_mesh(generate_house(SEED), large, TRIANGLES)
        write_large_mesh(generate_house(SEED + 1), other, OTHER)
        write_large_mesh(generate_house(SEED), small, 1)
        loads, frames, resets = _times(MeshSimulator(), "mesh", (small, large, other))
        _loaded.cache_clear()
        again, _, _ = _times(MeshSimulator(), "mesh", (small, large, other))
        trimesh_ms = _once(lambda: trimesh.load(large))
        try:
            theirs = _times(HabitatSimulator(), "habitat", (small, large, other))
            names = [f"habitat_sim on the same file, {ms:.0f} ms" for ms in theirs]
        except EqaError as error:
            theirs, names = None, [f"habitat_sim: {error}"[:80]] * 3
        ratios = [round(a / b, 2) for a, b in zip((loads, frames, resets), theirs, strict=True)] if theirs else [""] * 3
        return [
            {"name": "scan: load with traversability and first frame", "median_ms": round(loads), "baseline": names[0],
             "ratio": ratios[0], "note": f"{count} textured triangles (wanted: 6 s); trimesh alone loads them in "
                                         f"{trimesh_ms / 1e3:.1f} s; peak memory {_peak_mb(large)} MB"},
            {"name": "scan: load once more, from what was kept", "median_ms": round(again), "baseline": names[0],
             "ratio": round(again / theirs[0], 2) if theirs else "",
             "note": "wanted: no slower than habitat_sim; it takes what was kept beside the file"},
            {"name": "scan: RGB-D 640x480", "median_ms": round(frames, 1), "baseline": names[1], "ratio": ratios[1],
             "note": f"{1e3 / frames:.1f} frames/s at {count} triangles (wanted: 10, and no slower than habitat_sim)"},
            {"name": "scan: reset to another scene", "median_ms": round(resets), "baseline": names[2],
             "ratio": ratios[2], "note": f"{OTHER} triangles, read anew (wanted: 2 s)"},
            _beside_embree(large), _boundary()]


def _times(simulator: Simulator, prefix: str, files: tuple[Path, Path, Path]) -> tuple[float, float, float]:
    """Return milliseconds: to open the large scan, of a frame in it, to change to the other scan."""
    small, large, other = (EpisodeSetup(f"{prefix}:{file}") for file in files)
    with closing(simulator):
        simulator.reset(small)  # starts and compiles what is started and compiled once
        opened = _once(lambda: simulator.reset(large))
        frames = [_once(lambda: simulator.act(Action.TURN_LEFT)) for _ in range(FRAMES)]
        return opened, statistics.median(frames), _once(lambda: simulator.reset(other))


def _beside_embree(file: Path) -> dict[str, object]:
    """Return what a 1920x1080 image takes beside Embree's cast of the same rays, one by one, in as many threads."""
    camera = RobotModel(camera=CameraModel(width=1920, height=1080)).camera
    simulator = MeshSimulator()
    with closing(simulator):
        frame = simulator.reset(EpisodeSetup(f"mesh:{file}", robot=RobotModel(camera=camera))).frame
        pose, renderer = frame.map_from_camera(), simulator._now_in().renderer
        directions = (optical_rays(camera.intrinsics) @ pose[:3, :3].T.astype(np.float32)).astype(np.float32)
        origins = np.broadcast_to(pose[:3, 3].astype(np.float32), directions.shape).copy()

        def band(part: slice) -> None:
            renderer._rays.hits(origins[part], directions[part])

        def cast() -> None:
            for_bands(band, len(directions), BAND_ROWS * camera.width)
        whole, bare = (statistics.median(_spent(work) for _ in range(5))
                       for work in (lambda: renderer.image(camera, pose), cast))
    return {"name": "scan: RGB-D 1920x1080, CPU time", "median_ms": round(whole), "ratio": round(whole / bare, 2),
            "baseline": f"Embree's bare cast of the same rays one by one, {bare:.0f} ms",
            "note": "wanted: 1.3 times the cast"}


def _spent(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return 1e3 * (time.process_time() - begin)


def _boundary() -> dict[str, object]:
    frame = 1e3 * statistics.median(frame_seconds())
    copy = np.ones((480, 640, 7), np.uint8)
    bare = statistics.median(_once(copy.copy) for _ in range(FRAMES))
    return {"name": "Habitat worker: what a 640x480 RGB-D frame costs beyond rendering", "median_ms": round(frame, 2),
            "baseline": f"one copy of as many bytes, {bare:.2f} ms", "ratio": round(frame / bare, 1),
            "note": "a worker that draws nothing (wanted: 3 ms)"}


def _peak_mb(file: Path) -> str:
    done = subprocess.run([sys.executable, "-c", PEAK, f"mesh:{file}"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _once(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - begin)
