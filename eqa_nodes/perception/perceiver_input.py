"""The input of the perceiver: colour, depth and height above the floor at a fixed size, from a frame of any camera."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.types.views import Frame

HEIGHT, WIDTH, PLANES = 240, 320, 6  # size of the input in pixels; red, green, blue, nearness, height, depth is valid
_NEAR_M, _TALL_M = 0.5, 2.5  # depth from which nearness is less than 1; height above the floor that is 1


def planes_of(frame: Frame) -> np.ndarray:
    """Return the input (PLANES, HEIGHT, WIDTH) float32 of a frame.

    Colours are 0..1; nearness is 0.5 m / depth, at most 1, and 0 without depth; the height above the floor is in units
    of 2.5 m, -1..2, and 0 without depth. The image is stretched to the size; depth gives the scale.
    """
    k, (rows, columns) = frame.intrinsics, frame.depth_m.shape
    rgb = resized_colours(frame.rgb)
    v, u = centres(rows, HEIGHT), centres(columns, WIDTH)
    depth = frame.depth_m[np.ix_(v, u)].astype(np.float32)
    planes = np.empty((PLANES, HEIGHT, WIDTH), np.float32)
    planes[:3] = rgb.transpose(2, 0, 1) * np.float32(1 / 255)
    to_map = frame.map_from_camera()[2] - np.array([0.0, 0.0, 0.0, frame.map_from_base.xyz[2]])
    rise = (to_map[0] * ((u + 0.5 - k.cx) / k.fx)[None] + to_map[1] * ((v + 0.5 - k.cy) / k.fy)[:, None] + to_map[2])
    add_geometry(planes, depth, rise.astype(np.float32), float(to_map[3]))
    return planes


def add_geometry(planes: np.ndarray, depth_m: np.ndarray, rise: np.ndarray, eye_m: float) -> None:
    """Fill the planes of nearness, height and validity.

    depth_m: (H, W) float32, metres, 0 = none; rise: (H, W) float32, metres upwards for each metre of depth; eye_m:
    height of the camera above the floor.
    """
    valid = (depth_m > 0) & np.isfinite(depth_m)
    depth = np.where(valid, depth_m, np.float32(1.0))
    planes[3] = np.where(valid, np.minimum(np.float32(1.0), np.float32(_NEAR_M) / depth), np.float32(0.0))
    height = np.clip((np.float32(eye_m) + rise * depth) * np.float32(1 / _TALL_M), -1.0, 2.0)
    planes[4] = np.where(valid, height, np.float32(0.0))
    planes[5] = valid


def centres(size: int, wanted: int) -> np.ndarray:
    """Return (wanted,) indices of the pixels nearest to the centres of a row that is resampled to `wanted` pixels."""
    return np.minimum(((np.arange(wanted) + 0.5) * size / wanted).astype(np.intp), size - 1)


def resized_colours(rgb: np.ndarray) -> np.ndarray:
    """Return an image (H, W, 3) uint8 at the size of the input; a larger one is averaged over the area of a pixel."""
    rows, columns = rgb.shape[:2]
    if rows % HEIGHT == 0 and columns % WIDTH == 0:
        a, b = rows // HEIGHT, columns // WIDTH
        if a == b == 1:
            return rgb
        blocks = np.full((HEIGHT, WIDTH, 3), a * b // 2, np.uint32)
        for i in range(a):
            for j in range(b):
                blocks += rgb[i::a, j::b]
        return (blocks // (a * b)).astype(np.uint8)
    from PIL import Image

    filtered = Image.Resampling.BOX if rows > HEIGHT and columns > WIDTH else Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(rgb).resize((WIDTH, HEIGHT), filtered))
