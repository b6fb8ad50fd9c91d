"""Small training views, reduced or parts in full size: their pixels keep colour, depth, place and object."""

from __future__ import annotations

import numpy as np

from eqa_nodes.learn.pool import Batch
from eqa_nodes.learn.training_inputs import smaller

CAMERA = (160.0, 160.0, 160.0, 120.0, 0.0, -1.0, 0.0, 1.0)  # fx, fy, cx, cy, and the row of the height


def batch(views: int) -> Batch:
    """Return views of a wall 2 m away, with one object of 40 x 20 pixels. Red, green: column, row; blue: the object."""
    v, u = np.mgrid[:240, :320]
    segments = np.tile(np.arange(views)[:, None, None], (1, 120, 160))
    segments[:, 50:60, 70:90] = views + np.arange(views)[:, None, None]
    whole = segments.repeat(2, axis=1).repeat(2, axis=2) >= views
    rgb = np.stack([np.broadcast_to(u * 255 // 320, whole.shape), np.broadcast_to(v, whole.shape), 200 * whole], -1)
    depth = np.broadcast_to(2000 + v, whole.shape).astype(np.uint16)
    return Batch(rgb.astype(np.uint8), depth, np.tile(np.array(CAMERA, np.float32), (views, 1)), segments,
                 np.zeros((2 * views, 5), np.int64))


def test_pixels_keep_colour_depth_ray_and_object() -> None:
    given = batch(40)
    found = smaller(given, np.random.default_rng(0))
    assert found.rgb.shape == (40, 120, 160, 3) and found.segments.shape == (40, 60, 80)
    full = 0
    for rgb, depth, camera, segments in zip(found.rgb, found.depth_mm, found.camera, found.segments, strict=True):
        fx, fy, cx, cy = camera[:4].tolist()
        full += fx == 160.0
        v, u = np.mgrid[:120, :160]
        column = 160.0 * (u + 0.5 - cx) / fx + 160.0  # in the whole view, by the ray of the pixel
        row = 160.0 * (v + 0.5 - cy) / fy + 120.0
        assert np.abs(rgb[..., 0] - column * 255 / 320).max() <= 1.5 and np.abs(rgb[..., 1] - row).max() <= 1.5
        assert np.abs(depth - 2000.0 - row).max() <= 1.0
        blue = rgb[1::2, 1::2, 2] == 200
        assert ((segments >= 40) == blue).mean() > 0.99 and blue.any(), "the object is in every view"
    assert 10 < full < 30, "about half of the views are parts in full size"
    assert (given.camera == np.array(CAMERA, np.float32)).all(), "the batch is not changed"


def test_a_view_without_objects_is_reduced() -> None:
    empty = batch(3)
    empty.segments[:] = np.arange(3)[:, None, None]
    assert (smaller(empty, np.random.default_rng(0)).camera[:, 0] == 80.0).all()
