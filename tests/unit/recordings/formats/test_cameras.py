"""Camera matrices, poses and images that nobody vouches for."""

from __future__ import annotations

import os
import struct
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.recordings.formats.cameras import LOST_POSE, base_below, camera_pose, mount, onto_color, pinhole, rigid
from eqa_nodes.wire.image_files import MAX_PIXELS, decode_image, read_bounded, read_matrix, rgb_pixels
from tests.fixtures.histories import looking

SIZES, FOCAL = st.integers(1, 12), st.floats(2.0, 30.0)


@given(SIZES, SIZES, FOCAL, st.floats(0.1, 0.9), SIZES, SIZES, FOCAL, st.floats(0.1, 0.9))
def test_depth_is_the_measurement_on_the_ray_of_each_colour_pixel(w: int, h: int, f: float, c: float, dw: int, dh: int,
                                                                  df: float, dc: float) -> None:
    color, depth_k = Intrinsics(w, h, f, f, c * w, c * h), Intrinsics(dw, dh, df, 1.1 * df, dc * dw, dc * dh)
    depth = np.arange(1, dw * dh + 1, dtype=np.uint16).reshape(dh, dw)
    taken = onto_color(depth, depth_k, color)
    for v in range(h):
        for u in range(w):
            x, y = (u + 0.5 - color.cx) / color.fx, (v + 0.5 - color.cy) / color.fy
            column, row = np.floor(x * depth_k.fx + depth_k.cx), np.floor(y * depth_k.fy + depth_k.cy)
            inside = 0 <= column < dw and 0 <= row < dh
            assert taken[v, u] == (depth[int(row), int(column)] if inside else 0)


def test_one_camera_keeps_its_depth() -> None:
    k = Intrinsics(4, 3, 5.0, 5.0, 2.0, 1.5)
    depth = np.ones((3, 4), np.uint16)
    assert onto_color(depth, k, k) is depth


def test_a_matrix_counts_pixel_centres_from_nought_or_from_a_half() -> None:
    matrix = np.array([[50.0, 0, 31.5], [0, 51, 23.5], [0, 0, 1]])
    assert pinhole(matrix, (48, 64, 3), 0.0) == (64, 48, 50.0, 51.0, 32.0, 24.0)
    assert pinhole(matrix, (48, 64), 0.5) == (64, 48, 50.0, 51.0, 31.5, 23.5)


@pytest.mark.parametrize(("at", "value"), [((0, 0), 0.0), ((0, 0), -50.0), ((1, 1), np.nan), ((0, 0), np.inf),
                                           ((1, 1), 1e9), ((0, 2), 80.0), ((1, 2), -1.0), ((0, 2), np.nan)])
def test_what_is_no_camera_of_the_image_is_named(at: tuple[int, int], value: float) -> None:
    matrix = np.array([[50.0, 0, 31.5], [0, 51, 23.5], [0, 0, 1]])
    matrix[at] = value
    with pytest.raises(BadFrame, match="does not belong to an image of 64x48"):
        pinhole(matrix, (48, 64), 0.0)


def test_what_is_not_rigid_is_named() -> None:
    assert rigid(looking(1, 2), "pose") is not None
    for at, value, complaint in (((0, 3), -np.inf, LOST_POSE), ((0, 0), np.nan, LOST_POSE), ((0, 0), -1.0, "not a"),
                                 ((0, 0), 1.1, "not a"), ((3, 3), 2.0, "not a"), ((0, 3), 1e7, "not a rigid")):
        matrix = looking(1, 2)
        matrix[at] = value
        with pytest.raises(BadFrame, match=complaint):
            rigid(matrix, "pose")


def test_the_base_stands_below_the_camera_and_heads_where_it_looks() -> None:
    map_from_camera = looking(1.0, 2.0, 1.5)
    base = base_below(map_from_camera, 0.25)
    assert base == Pose2(1.0, 2.0, np.pi / 2).transform(0.25)
    carried = mount(base, map_from_camera)
    assert np.allclose(base.matrix() @ carried.matrix(), map_from_camera)
    assert carried.xyz == pytest.approx((0.0, 0.0, 1.25))


def _claims(width: int, height: int) -> bytes:
    """A PNG of few bytes whose header claims a size."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b""))


def test_an_image_is_no_larger_than_a_cameras() -> None:
    with pytest.raises(BadFrame, match=f"image x claims 8000x8000 pixels, at most {MAX_PIXELS}"):
        decode_image(_claims(8000, 8000), "x")
    with pytest.raises(BadFrame, match="image x cannot be read"):
        decode_image(_claims(60_000, 60_000), "x")  # Pillow refuses this one itself
    with pytest.raises(BadFrame, match="image x cannot be read"):
        decode_image(_claims(40, 40), "x")


def test_colour_has_eight_bits_and_three_channels() -> None:
    for mode in ("RGB", "RGBA", "L", "P"):
        encoded = BytesIO()
        Image.new(mode, (5, 4), 200 if mode in "LP" else (200,) * len(mode)).save(encoded, "PNG")
        pixels = rgb_pixels(encoded.getvalue(), "x")
        assert (pixels.shape, pixels.dtype) == ((4, 5, 3), np.uint8)
    encoded = BytesIO()
    Image.fromarray(np.zeros((4, 5), np.uint16)).save(encoded, "PNG")
    with pytest.raises(BadFrame, match=r"image x has mode I(;16)?, wanted colour of 8 bits"):
        rgb_pixels(encoded.getvalue(), "x")


def test_a_file_is_plain_and_bounded(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 101)
    assert read_bounded(tmp_path / "big", 101) == b"x" * 101
    with pytest.raises(BadFrame, match="big is larger than 100 bytes"):
        read_bounded(tmp_path / "big", 100)
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "nowhere", "."):
        with pytest.raises(BadFrame, match="absent or not a file"):
            read_bounded(tmp_path / name)
    for text in ("1 2 3", "1 " * 17, "one " * 16, "\x00\xff"):
        (tmp_path / "matrix.txt").write_text(text, encoding="latin-1")
        with pytest.raises(BadFrame, match=r"matrix.txt holds no 4x4 matrix"):
            read_matrix(tmp_path / "matrix.txt")


def test_a_pose_is_read_from_a_quaternion_of_any_length_and_a_lost_one_is_none() -> None:
    pose = camera_pose(np.array([1.0, 2.0, 3.0, 0.0, 0.0, 2.0, 2.0]))  # a quarter turn about z
    assert pose is not None
    assert np.allclose(pose, [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
    assert camera_pose(np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0])) is None
    assert camera_pose(np.array([np.nan, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0])) is None
