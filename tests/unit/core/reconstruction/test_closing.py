"""Closing: unseen floor is closed where the robot drove and in gaps up to a limit; drops and windows stay open."""

from __future__ import annotations

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError, NoFloor
from eqa_nodes.core.reconstruction.closing import closed, floor_patches, holes_filled, without_crumbs
from eqa_nodes.core.reconstruction.config import ClosingConfig
from eqa_nodes.core.types.views import Mesh

STEP_M = 0.025
FAR = np.array([[0.3, 0.3, 0.0]])  # where the base was: away from what the tests are about
NO_HOLES = ClosingConfig(hole_m=0.0)


def sheet(missing: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0), z: float = 0.0, size: float = 4.0,
          at: tuple[float, float] = (0.0, 0.0), up: bool = True) -> Mesh:
    """A level square sheet without the rectangle x0, y0, x1, y1, metres; label 5, or 6 where it is not up."""
    n = round(size / STEP_M)
    grid = np.stack(np.meshgrid(np.arange(n + 1), np.arange(n + 1)), axis=-1).reshape(-1, 2) * STEP_M + at
    a = (np.arange(n) + (n + 1) * np.arange(n)[:, None]).ravel()
    x, y = (grid[a] + STEP_M / 2).T
    x0, y0, x1, y1 = missing
    a = a[~((x > x0) & (x < x1) & (y > y0) & (y < y1))]
    b, c, d = a + 1, a + n + 2, a + n + 1
    halves = ((a, b, c), (a, c, d)) if up else ((a, c, b), (a, d, c))
    triangles = np.concatenate([np.stack(half, axis=1) for half in halves])
    return Mesh(np.column_stack([grid, np.full(len(grid), z)]).astype(np.float32), triangles.astype(np.int32),
                np.full((len(grid), 3), (10, 200, 30), np.uint8), np.full(len(grid), 5 if up else 6, np.uint16))


def added(*meshes: Mesh) -> Mesh:
    from eqa_nodes.core.reconstruction.closing import joined

    return joined(*meshes)


def patch_of(mesh: Mesh, bases: np.ndarray = FAR, config: ClosingConfig = ClosingConfig()) -> Mesh:
    (patch,) = floor_patches(mesh, bases, config)
    assert patch.area_m2 == pytest.approx(0.05 ** 2 * len(patch.mesh.triangles) / 2)
    return patch.mesh


def covers(patch: Mesh, x: float, y: float) -> bool:
    corners = patch.vertices[patch.triangles][:, :, :2]
    return bool(((corners.min(axis=1) <= (x, y)) & (corners.max(axis=1) >= (x, y))).all(axis=1).any())


def test_a_strip_that_nobody_saw_is_floor_as_high_and_as_coloured_as_its_surroundings() -> None:
    patch = patch_of(sheet((1.5, -1.0, 2.0, 5.0)))  # half a metre, from edge to edge
    assert covers(patch, 1.75, 2.0) and not covers(patch, 3.0, 2.0)
    assert np.allclose(patch.vertices[:, 2], 0.0, atol=1e-6)
    assert (patch.colours == (10, 200, 30)).all() and patch.labels is not None and (patch.labels == 5).all()
    a, b, c = (patch.vertices[patch.triangles[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()


def test_what_is_wider_than_the_limits_stays_open_and_the_path_of_the_base_is_closed() -> None:
    wide = sheet((1.0, -1.0, 3.0, 5.0))
    assert not covers(patch_of(wide), 2.0, 2.0)
    drove = np.array([[x, 2.0, 0.0] for x in np.arange(0.5, 3.5, 0.25)])
    patch = patch_of(wide, drove)
    assert covers(patch, 2.0, 2.0) and covers(patch, 2.0, 2.2) and not covers(patch, 2.0, 3.0)


def test_floor_at_the_border_of_the_surface_is_as_high_as_its_surroundings() -> None:
    patch = patch_of(sheet(z=0.1, size=1.0), np.array([[1.6, 0.5, 0.0]]))  # the base left the surface behind
    assert covers(patch, 1.65, 0.5) and np.allclose(patch.vertices[:, 2], 0.1, atol=1e-6)


def test_an_enclosed_area_is_closed_up_to_the_limit() -> None:
    enclosed = sheet((1.5, 1.5, 2.4, 2.4))
    assert covers(patch_of(enclosed), 1.95, 1.95)
    assert not covers(patch_of(enclosed, config=ClosingConfig(area_m2=0.5)), 1.95, 1.95)


def test_a_drop_into_which_was_looked_stays_open() -> None:
    hole = (1.5, 1.5, 2.0, 2.0)
    stairwell = added(sheet(hole), sheet(z=-0.4, size=0.5, at=(1.5, 1.5)))
    patch = floor_patches(stairwell, FAR, NO_HOLES)[0].mesh
    assert not covers(patch, 1.75, 1.75) and covers(patch_of(sheet(hole)), 1.75, 1.75)


def test_each_storey_has_its_own_floor() -> None:
    two = added(sheet((1.5, 1.5, 1.9, 1.9)), sheet((2.5, 2.5, 2.9, 2.9), z=3.0))
    bases = np.array([[0.3, 0.3, z] for z in (0.0,) * 9 + (1.0, 2.0) + (3.0,) * 9])
    low, high = floor_patches(two, bases, ClosingConfig())
    assert (low.height_m, high.height_m) == pytest.approx((0.0, 3.0))
    assert covers(low.mesh, 1.7, 1.7) and not covers(low.mesh, 2.7, 2.7) and covers(high.mesh, 2.7, 2.7)


@pytest.mark.parametrize("mesh", [
    sheet(z=1.0), sheet(up=False), sheet()._replace(vertices=sheet().vertices[:, [0, 2, 1]])],
    ids=["too high", "facing down", "on its side"])
def test_a_surface_without_a_floor_is_named(mesh: Mesh) -> None:
    with pytest.raises(NoFloor, match=r"is z up in the map frame, .* --raw"):
        floor_patches(mesh, FAR, ClosingConfig())


def test_crumbs_are_removed_and_the_rest_is_kept() -> None:
    mesh, crumbs = without_crumbs(added(sheet(), sheet(z=1.0, size=0.05), sheet(z=1.5, size=0.5)), 0.1)
    assert crumbs == 1 and not (mesh.vertices[:, 2] == 1.0).any() and (mesh.vertices[:, 2] == 1.5).any()
    assert mesh.triangles.max() < len(mesh.vertices) == len(mesh.colours)


def test_small_holes_are_filled_and_openings_are_not() -> None:
    pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")
    small, window = sheet((1.0, 1.0, 1.05, 1.05), size=2.0), sheet((0.5, 0.5, 1.5, 1.5), size=2.0)
    filled = holes_filled(small, 0.1)
    new = filled.triangles[len(small.triangles):]
    corners = filled.vertices[new]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert len(new) and (normals[:, 2] > 0).all() and normals[:, 2].sum() / 2 == pytest.approx(0.05 ** 2, rel=1e-3)
    assert len(holes_filled(window, 0.1).triangles) == len(window.triangles)


def test_measured_vertices_stay_first_and_as_they_are() -> None:
    mesh = sheet((1.5, 1.5, 2.0, 2.0))
    done = closed(mesh, FAR, NO_HOLES)
    assert np.array_equal(done.mesh.vertices[:len(mesh.vertices)], mesh.vertices) or done.crumbs
    assert done.mesh.labels is not None and len(done.mesh.labels) == len(done.mesh.vertices)
    assert done.floor_m2 > 0.2 and done.storeys_m == (pytest.approx(0.0),)


def test_negative_limits_are_refused() -> None:
    with pytest.raises(ConfigError, match="gap_m"):
        ClosingConfig(gap_m=-1.0)
