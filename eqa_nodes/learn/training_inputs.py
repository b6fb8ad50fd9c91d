"""The network's input from stored views: plain, and augmented by what differs between rooms, cameras and robots."""

from __future__ import annotations

import numpy as np

from eqa_nodes.learn.pool import Batch
from eqa_nodes.perception.perceiver_input import PLANES, add_geometry


def plain(batch: Batch) -> np.ndarray:
    """Return the input (n, PLANES, HEIGHT, WIDTH) float32 of a batch as it is."""
    return inputs_of(batch.camera, batch.depth_mm.astype(np.float32) * np.float32(1e-3),
                     batch.rgb.astype(np.float32) * np.float32(1 / 255))


def inputs_of(camera: np.ndarray, depth_m: np.ndarray, rgb: np.ndarray) -> np.ndarray:
    """Return the input (n, PLANES, HEIGHT, WIDTH) float32 of views, as perceiver_input.planes_of computes it.

    Also of views of another size. camera: see SceneViews; depth_m: (n, HEIGHT, WIDTH) float32, metres; rgb: (n, HEIGHT,
    WIDTH, 3) float32, 0..1.
    """
    height, width = depth_m.shape[1:]
    planes = np.empty((len(rgb), PLANES, height, width), np.float32)
    planes[:, :3] = rgb.transpose(0, 3, 1, 2)
    u, v = np.arange(width, dtype=np.float32) + 0.5, np.arange(height, dtype=np.float32) + 0.5
    for one, depth, (fx, fy, cx, cy, a, b, c, eye) in zip(planes, depth_m, camera.tolist(), strict=True):
        rise = np.float32(a) * ((u - cx) / fx)[None] + np.float32(b) * ((v - cy) / fy)[:, None] + np.float32(c)
        add_geometry(one, depth, rise, eye)
    return planes


def smaller(batch: Batch, rng: np.random.Generator) -> Batch:
    """Return a batch with views of half the width and height, which take a quarter of the time.

    Half of them are whole views, reduced; the others are parts in full size around a random pixel of a random object,
    so that small objects are seen often and as large as they are.
    """
    n, height, width = batch.depth_mm.shape
    rows, columns = height // 2, width // 2
    rgb, depth = np.empty((n, rows, columns, 3), np.uint8), np.empty((n, rows, columns), batch.depth_mm.dtype)
    camera, segments = batch.camera.copy(), np.empty((n, rows // 2, columns // 2), batch.segments.dtype)
    for k, own in enumerate(batch.segments):
        objects = np.unique(own)
        objects = objects[objects >= n]
        if rng.random() < 0.5 or not len(objects):
            blocks = batch.rgb[k].reshape(rows, 2, columns, 2, 3)
            rgb[k] = (blocks.sum(axis=(1, 3), dtype=np.uint16) + 2) // 4
            depth[k], segments[k] = batch.depth_mm[k, 1::2, 1::2], own[1::2, 1::2]
            camera[k, :4] /= 2
            continue
        there = np.flatnonzero(own == rng.choice(objects))
        y, x = divmod(int(rng.choice(there)), own.shape[1])  # in pixels of the output
        top, left = (int(np.clip(at - rng.integers(size), 0, size)) for at, size in ((y, rows // 2), (x, columns // 2)))
        part = np.s_[2 * top:2 * top + rows, 2 * left:2 * left + columns]
        rgb[k], depth[k] = batch.rgb[k][part], batch.depth_mm[k][part]
        segments[k] = own[top:top + rows // 2, left:left + columns // 2]
        camera[k, 2:4] -= 2 * left, 2 * top
    return Batch(rgb, depth, camera, segments, batch.classes)


def augmented(batch: Batch, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and segments of a batch with other light and colours, blur, noise of camera and depth, mirrored."""
    n = len(batch.rgb)
    rgb = batch.rgb.astype(np.float32) * np.float32(1 / 255)
    gain = rng.uniform(0.6, 1.3, (n, 1, 1, 1)) * rng.uniform(0.92, 1.08, (n, 1, 1, 3))
    rgb = np.clip(rgb * gain.astype(np.float32), 0.0, 1.0) ** rng.uniform(0.8, 1.25, (n, 1, 1, 1)).astype(np.float32)
    for k in np.flatnonzero(rng.random(n) < 0.25).tolist():
        rgb[k] = _blurred(rgb[k], horizontal=rng.random() < 0.5)
    rgb += rng.standard_normal(rgb.shape, np.float32) * rng.uniform(0, 0.025, (n, 1, 1, 1)).astype(np.float32)
    depth = batch.depth_mm.astype(np.float32) * np.float32(1e-3)
    share = (rng.uniform(0, 0.03, (n, 1, 1)) * (rng.random((n, 1, 1)) < 0.7)).astype(np.float32)
    noisy = depth * (1 + share * rng.standard_normal(depth.shape, np.float32))
    edge = (np.abs(np.diff(depth, axis=2)) > 0.1) & (share > 0)
    noisy[:, :, 1:][edge] = 0.0
    noisy[noisy > rng.uniform(5.0, 10.0, (n, 1, 1))] = 0.0
    planes, segments = inputs_of(batch.camera, noisy, np.clip(rgb, 0.0, 1.0)), batch.segments.copy()
    mirrored = rng.random(n) < 0.5
    planes[mirrored], segments[mirrored] = planes[mirrored, :, :, ::-1], segments[mirrored, :, ::-1]
    return planes, segments


def _blurred(rgb: np.ndarray, horizontal: bool) -> np.ndarray:
    """Return an image (H, W, 3) blurred over five pixels of a row, as by a turning camera, or three by three."""
    if horizontal:
        return sum(np.roll(rgb, k, 1) for k in range(-2, 3)) * np.float32(0.2)
    rows = (np.roll(rgb, 1, 0) + rgb + np.roll(rgb, -1, 0)) * np.float32(1 / 3)
    return np.asarray((np.roll(rows, 1, 1) + rows + np.roll(rows, -1, 1)) * np.float32(1 / 3))
