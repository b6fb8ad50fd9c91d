"""Small episode histories of every kind that is not a bag, for tests."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.views import Frame, Intrinsics
from tests.unit.frame_fixture import H, W

COLOR_SIZE, DEPTH_SIZE = (48, 36), (24, 18)  # width, height
COLOR_K = np.array([[40.0, 0, 23.5, 0], [0, 40.0, 17.5, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
DEPTH_K = np.array([[20.0, 0, 11.5, 0], [0, 20.0, 8.5, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
LOST = np.full((4, 4), -np.inf)


def walk(count: int, seed: int = 0) -> list[Frame]:
    """Frames of noise along a walk that turns, climbs and looks down; the principal point is off the centre."""
    random = np.random.default_rng(seed)
    k = Intrinsics(W, H, 50.0, 51.5, 30.25, 25.75)
    frames = []
    for i in range(count):
        rgb = random.integers(0, 256, (H, W, 3), np.uint8)
        depth_m = random.uniform(0.0, 10.0, (H, W)).astype(np.float32)
        depth_m[:3] = 0
        pose = Pose2(0.3 * i - 1.0, 0.2 * i * i, 2.5 * i)
        frames.append(Frame(10**9 + 70_000_001 * i, rgb, depth_m, k, pose.transform(0.1 * i),
                            camera_mount(1.2, 0.2 * i, 0.1)))
    return frames


def looking(x: float, y: float, z: float = 1.5) -> np.ndarray:
    """(4, 4) pose of a level camera that looks along +y of a world with z up."""
    pose = np.eye(4)
    pose[:3, :3] = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    pose[:3, 3] = x, y, z
    return pose


def room(index: int) -> tuple[np.ndarray, np.ndarray]:
    """Smooth colour, which JPEG keeps, and depth in millimetres that tells each pixel from its neighbours."""
    (w, h), (dw, dh) = COLOR_SIZE, DEPTH_SIZE
    ramp = np.linspace(40 + index, 200, w)[None, :, None] * np.ones((h, 1, 3))
    return ramp.astype(np.uint8), (1000 + np.arange(dw * dh, dtype=np.uint16)).reshape(dh, dw)


def png(pixels: np.ndarray, kind: str = "PNG") -> bytes:
    encoded = BytesIO()
    Image.fromarray(pixels).save(encoded, kind)
    return encoded.getvalue()


def sens_bytes(poses: Sequence[np.ndarray], stamps_us: Sequence[int] | None = None, *, count: int | None = None,
               color_kind: int = 2, depth_kind: int = 1, sizes: tuple[int, int, int, int] | None = None) -> bytes:
    """A .sens file of version 4, frame by frame as ScanNet's sensorData.h has it."""
    name = b"StructureSensor"
    head = struct.pack("<IQ", 4, len(name)) + name
    head += b"".join(m.astype("<f4").tobytes() for m in (COLOR_K, np.eye(4), DEPTH_K, np.eye(4)))
    head += struct.pack("<ii4If", color_kind, depth_kind, *(sizes or (*COLOR_SIZE, *DEPTH_SIZE)), 1000.0)
    head += struct.pack("<Q", len(poses) if count is None else count)
    for i, pose in enumerate(poses):
        rgb, raw = room(i)
        color = png(rgb, {1: "PNG", 2: "JPEG"}.get(color_kind, "PNG"))
        depth = zlib.compress(raw.tobytes()) if depth_kind == 1 else raw.tobytes()
        stamp = stamps_us[i] if stamps_us is not None else 33_333 * (i + 1)
        head += pose.astype("<f4").tobytes() + struct.pack("<4Q", stamp, stamp, len(color), len(depth)) + color + depth
    return head


def write_scannet(folder: Path, poses: dict[int, np.ndarray]) -> Path:
    """An exported ScanNet folder; frames by their number."""
    for kind in ("color", "depth", "pose", "intrinsic"):
        (folder / kind).mkdir(parents=True)
    for number, pose in poses.items():
        rgb, raw = room(number)
        (folder / "color" / f"{number}.jpg").write_bytes(png(rgb, "JPEG"))
        (folder / "depth" / f"{number}.png").write_bytes(png(raw))
        np.savetxt(folder / "pose" / f"{number}.txt", pose, fmt="%f")
    for kind, matrix in (("color", COLOR_K), ("depth", DEPTH_K)):
        np.savetxt(folder / "intrinsic" / f"intrinsic_{kind}.txt", matrix, fmt="%f")
    return folder


def write_redwood(folder: Path, count: int) -> Path:
    """A Redwood folder of a camera that looks at a wall and a floor."""
    (folder / "color").mkdir(parents=True)
    (folder / "depth").mkdir()
    log = ""
    for i in range(count):
        pose = np.eye(4)
        pose[0, 3] = 0.1 * i
        log += f"{i} {i} {i + 1}\n" + "\n".join(" ".join(map(str, row)) for row in pose) + "\n"
        (folder / "color" / f"{i:05d}.png").write_bytes(png(np.full((480, 640, 3), 90 + i, np.uint8)))
        (folder / "depth" / f"{i:05d}.png").write_bytes(png(np.full((480, 640), 2000, np.uint16)))
    (folder / "trajectory.log").write_text(log)
    return folder
