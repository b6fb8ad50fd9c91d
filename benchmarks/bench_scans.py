"""A million textured triangles: loading, frames, and habitat_sim's frames of the same file where EQA_HABITAT_PYTHON is.

Seconds of the CPU stand beside those of the clock: other work on the machine makes the latter longer.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.large_mesh import write_large_mesh
from eqa_nodes.bench.axes import position_to_habitat, rotation_to_habitat
from eqa_nodes.core.geometry import Pose2, camera_mount
from sim_bridge.house.generate import generate_house
from sim_bridge.mesh.load import load_mesh
from sim_bridge.mesh.look import MeshRenderer
from sim_bridge.scans import Scan
from sim_bridge.simulator import Camera

TRIANGLES, FRAMES, SEED, HEIGHT_M = 1_000_000, 12, 3, 1.2
_HABITAT = Path(__file__).parents[1] / "tests" / "contract" / "habitat_views.py"
_CAMERA = Camera(max_range_m=1000.0)


def rows() -> list[dict[str, object]]:
    """Return one row a figure: name, median_ms, baseline, ratio, note."""
    house = generate_house(SEED)
    middle = house.start.y, -house.start.x  # the file's front is the house's north
    poses = [Pose2(*middle, turn) for turn in np.linspace(0, 2 * np.pi, FRAMES, endpoint=False)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "house.glb"
        count = write_large_mesh(house, path, TRIANGLES)
        scan = Scan(str(path), glb=path)
        load_mesh(scan)  # compiles
        wall, cpu, scene = _timed(lambda: load_mesh(scan))
        tree, tree_cpu, renderer = _timed(lambda: MeshRenderer(scene))
        views = [pose.transform().matrix() @ camera_mount(HEIGHT_M, 0.0).matrix() for pose in poses]
        renderer.image(_CAMERA, views[0])  # compiles
        frames = [_timed(lambda view=view: renderer.image(_CAMERA, view))[:2] for view in views]
        theirs = _habitat(path, poses) if os.environ.get("EQA_HABITAT_PYTHON") else []
    frame, frame_cpu = (statistics.median(column) for column in zip(*frames))
    beside = f"habitat_sim, {1e3 * statistics.median(theirs):.0f} ms of CPU" if theirs else "no EQA_HABITAT_PYTHON"
    ratio = frame_cpu / statistics.median(theirs) if theirs else 0.0
    return [_row("scan frame: RGB-D 640x480", frame, beside, ratio,
                 f"{1 / frame:.1f} frames/s, {1e3 * frame_cpu:.0f} ms of CPU, {count} textured triangles"),
            _row("scan: file to triangles", wall, "-", 0.0, f"{cpu:.1f} s of CPU"),
            _row("scan: tree of triangles", tree, "-", 0.0, f"{tree_cpu:.1f} s of CPU")]


def _timed(work: Callable[[], object]) -> tuple[float, float, object]:
    """Return seconds of the clock and of the CPU (all threads), and what came out."""
    wall, cpu = time.perf_counter(), time.process_time()
    out = work()
    return time.perf_counter() - wall, time.process_time() - cpu, out


def _habitat(path: Path, poses: list[Pose2]) -> list[float]:
    """Return the CPU seconds of habitat_sim for each frame of the same file."""
    asked, answered = path.with_name("views.npz"), path.with_name("images.npz")
    np.savez(asked, positions=[position_to_habitat((p.x, p.y, HEIGHT_M)) for p in poses],
             rotations=[rotation_to_habitat(p.yaw) for p in poses], dataset="",
             size=(_CAMERA.width, _CAMERA.height, _CAMERA.hfov_deg))
    subprocess.run([os.environ["EQA_HABITAT_PYTHON"], _HABITAT, path, asked, answered], check=True, timeout=600,
                   capture_output=True)
    return np.load(answered)["seconds"][1:].tolist()


def _row(name: str, seconds: float, baseline: str, ratio: float, note: str) -> dict[str, object]:
    return {"name": name, "median_ms": round(1e3 * seconds, 1), "baseline": baseline, "ratio": round(ratio, 2),
            "note": note}
