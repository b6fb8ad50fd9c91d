"""Meshes with fewer triangles, and pictures of them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")

from eqa_nodes.core.reconstruction.rendering import RenderView, rendered, simplified
from tests.fixtures.scanned import joined, sheet

FLOOR = sheet((0, 0, 0), (4, 0, 0), (0, 4, 0), (200, 40, 40), n=60)
CEILING = sheet((0, 0, 2.5), (0, 4, 0), (4, 0, 0), (40, 200, 40), n=60)  # seen from below


def test_triangles_are_few_enough_and_the_surface_stays() -> None:
    small = simplified(FLOOR, 1500)
    assert 700 < len(small.triangles) <= 1500 and small.colours.dtype == np.uint8
    a, b, c = (small.vertices[small.triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a) / 2
    assert (normals[:, 2] >= 0).all() and 14.0 < normals[:, 2].sum() < 16.1  # the front is still above
    assert small.colours[:, 0].min() > 100 and small.colours[:, 1].max() < 50


def test_few_triangles_stay_as_they_are() -> None:
    assert simplified(FLOOR, 7200) is FLOOR


def test_a_picture_from_above_looks_through_the_ceiling() -> None:
    seen = rendered(joined(FLOOR, CEILING), RenderView((2.0, -3.0, 8.0), (2.0, 2.0, 0.0), 40.0), (90, 60), (1, 2, 3))
    red = (seen[..., 0] > 100) & (seen[..., 1] < 60)
    assert seen.shape == (60, 90, 3) and seen.dtype == np.uint8
    assert 0.15 < red.mean() < 0.9 and not (seen[..., 1] > 100).any()
    assert (seen[0, 0] == (1, 2, 3)).all()


def test_a_picture_of_backs_is_empty() -> None:
    below = RenderView((2.0, -3.0, -8.0), (2.0, 2.0, 0.0), 40.0)
    assert (rendered(FLOOR, below, (30, 20), (9, 9, 9)) == 9).all()
