"""Training views: what is drawn, what is stored, and that both depend on the seed alone."""

from __future__ import annotations

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError, UnknownScene
from eqa_nodes.learn.training_inputs import inputs_of
from eqa_nodes.learn.views import ViewsConfig, camera_of, draw_views, read_tables, read_views, write_views
from eqa_nodes.perception.perceiver_input import planes_of

FEW = ViewsConfig(cameras=2, per_camera=3)


@pytest.fixture(scope="module")
def drawn():
    return list(draw_views("house:3", FEW))


def test_views_are_of_cameras_of_several_heights_and_angles(drawn):
    heights = {round(frame.base_from_camera.xyz[2], 2) for frame, _ in drawn}
    assert len(drawn) == 6 and len(heights) > 3 and all(0.3 <= h <= 1.5 for h in heights)
    assert len({frame.intrinsics.fx for frame, _ in drawn}) == 2
    assert all(frame.map_from_base.xyz[2] == 0.0 for frame, _ in drawn)


def test_every_labelled_pixel_has_an_entry_in_the_table(drawn):
    for frame, table in drawn:
        assert set(np.unique(frame.labels).tolist()) - {0} <= set(table)


def test_floor_pixels_are_at_height_zero(drawn):
    """The stored camera row gives heights above the floor: the lowest point of a view is the floor or above it."""
    for frame, _ in drawn:
        heights = planes_of(frame)[4][planes_of(frame)[5] > 0]
        assert heights.min() > -0.02


def test_the_same_seed_draws_the_same_views(drawn):
    again = next(iter(draw_views("house:3", FEW)))[0]
    assert np.array_equal(again.rgb, drawn[0][0].rgb) and again.base_from_camera == drawn[0][0].base_from_camera
    other = next(iter(draw_views("house:3", ViewsConfig(2, 3, seed=1))))[0]
    assert not np.array_equal(other.rgb, drawn[0][0].rgb)


def test_files_hold_the_views_and_are_not_drawn_again(drawn, tmp_path):
    file = tmp_path / "house.npz"
    assert write_views("house:3", file, FEW) == 6
    views = read_views(file)
    assert np.array_equal(views.rgb[0], drawn[0][0].rgb)
    assert np.abs(views.depth_mm[0] / 1000 - drawn[0][0].depth_m).max() <= 0.0006
    assert np.array_equal(views.camera[0], camera_of(drawn[0][0]))
    assert read_tables(file) == views.table and views.table[0]
    stamp = file.stat().st_mtime_ns
    assert write_views("house:3", file, FEW) == 6 and file.stat().st_mtime_ns == stamp


def test_stored_views_give_the_input_that_the_detector_computes(drawn, tmp_path):
    file = tmp_path / "house.npz"
    write_views("house:3", file, FEW)
    views = read_views(file)
    stored = inputs_of(views.camera, views.depth_mm * np.float32(1e-3), views.rgb * np.float32(1 / 255))
    for mine, (frame, _) in zip(stored, drawn, strict=True):
        assert np.abs(mine - planes_of(frame)).max() < 2e-3


def test_a_foreign_file_is_refused_by_name(tmp_path):
    file = tmp_path / "other.npz"
    file.write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(ConfigError, match="other.npz is no file of training views"):
        read_views(file)


def test_an_unknown_scene_is_refused(tmp_path):
    with pytest.raises(UnknownScene):
        write_views("house:2000", tmp_path / "x.npz", FEW)
