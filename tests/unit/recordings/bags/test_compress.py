"""Compressed images are those of ROS's image transports, and come back as they were within what is promised."""

from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from rosbags.typesys import Stores, get_typestore

from eqa_nodes.core.errors import BadFrame, ConfigError
from eqa_nodes.recordings.bags.compress import COMPRESSED, ImageEncoder, millimetres, png_file
from eqa_nodes.recordings.options import RecordingConfig
from eqa_nodes.wire import images
from tests.fixtures.bags import SECOND, Cdr, needs_messages

pytestmark = needs_messages
H, W = 48, 64


def _encoded(cdr: Cdr, role: str, pixels: np.ndarray, encoding: str, **options: str) -> images.Any:
    data = ImageEncoder(RecordingConfig(**options)).encode(role, cdr.image(pixels, encoding, 7 * SECOND))  # type: ignore[arg-type]
    return get_typestore(Stores.ROS2_JAZZY).deserialize_cdr(data, COMPRESSED)


def _smooth() -> np.ndarray:
    """(H, W, 3) of ramps that differ between channels and rows: blurred, swapped or turned they are another image."""
    y, x = np.mgrid[0:H, 0:W]
    return np.stack([3 * x, 4 * y, 200 - x - y], axis=-1).astype(np.uint8)


@pytest.mark.parametrize(("encoding", "order", "target"), [("rgb8", (0, 1, 2), "bgr8"), ("bgr8", (2, 1, 0), "bgr8"),
                                                           ("mono8", (0, 0, 0), "mono8")])
@pytest.mark.parametrize("kind", ["jpeg", "png"])
def test_color(cdr: Cdr, encoding: str, order: tuple[int, int, int], target: str, kind: str) -> None:
    wanted = _smooth()[..., list(order)]
    pixels = wanted[..., 0] if encoding == "mono8" else wanted[..., list(order)]
    message = _encoded(cdr, "color", np.ascontiguousarray(pixels), encoding, color=kind)
    assert message.format == f"{encoding}; {kind} compressed {target}"
    assert (message.header.stamp.sec, message.header.frame_id) == (7, "camera_color_optical_frame")
    read = images.rgb_of(message).astype(int)
    assert np.array_equal(read, wanted) if kind == "png" else np.abs(read - wanted).max() <= 8


def test_quality_is_that_of_the_configuration(cdr: Cdr) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (H, W, 3)).astype(np.uint8)
    sizes = [len(_encoded(cdr, "color", noise, "rgb8", color="jpeg", jpeg_quality=q).data) for q in (30, 60, 95)]
    assert sizes == sorted(sizes) and sizes[0] < 0.6 * sizes[-1]


@pytest.mark.parametrize("encoding", ["16UC1", "mono16"])
def test_depth_of_16_bits_is_exact(cdr: Cdr, encoding: str) -> None:
    mm = np.random.default_rng(0).integers(0, 65536, (H, W)).astype(np.uint16)
    mm[0, :2] = 0, 65535
    message = _encoded(cdr, "depth", mm, encoding, depth="png")
    assert message.format == f"{encoding}; compressedDepth png"
    seen = np.where(mm == 65535, 0, mm)  # which means no return, as 0 does
    assert np.array_equal(images.depth_of(message), seen.astype(np.float32) * np.float32(0.001))
    with Image.open(io.BytesIO(bytes(message.data)[12:])) as png:  # what OpenCV gets to see behind the header
        assert png.format == "PNG" and np.array_equal(np.array(png), mm)


@given(arrays(st.sampled_from([np.uint8, np.uint16]), st.tuples(st.integers(1, 9), st.integers(1, 9)))
       | arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3))),
       st.sampled_from([zlib.Z_RLE, zlib.Z_FILTERED]))
def test_a_png_is_what_others_read_exactly(pixels: np.ndarray, strategy: int) -> None:
    with Image.open(io.BytesIO(png_file(pixels, strategy))) as png:
        assert png.mode == ("RGB" if pixels.ndim == 3 else "L" if pixels.dtype == np.uint8 else "I;16")
        assert np.array_equal(np.array(png), pixels)


@given(st.lists(st.floats(width=32, allow_nan=True, allow_infinity=True), min_size=1, max_size=64))
def test_depth_in_metres_is_off_by_half_a_millimetre_at_most(metres: list[float]) -> None:
    depth = np.array([metres], np.float32)
    read = millimetres(depth).astype(np.float64) * 0.001
    inside = np.isfinite(depth) & (depth >= 0.0005) & (depth <= 65.535)
    assert (np.abs(read - depth)[inside] <= 0.0005 + 1e-5).all()
    assert (read[~np.isfinite(depth) | (depth < 0.00049) | (depth > 65.536)] == 0).all()


def test_depth_in_metres_says_that_it_is_in_millimetres_now(cdr: Cdr) -> None:
    depth = np.linspace(0.1, 9.9, H * W, dtype=np.float32).reshape(H, W)
    message = _encoded(cdr, "depth", depth, "32FC1", depth="png")
    assert message.format == "16UC1; compressedDepth png"
    assert np.abs(images.depth_of(message) - depth).max() <= 0.00051


@pytest.mark.parametrize(("role", "encoding"), [("color", "yuv422_yuy2"), ("color", "32FC1"), ("depth", "rgb8")])
def test_pixels_that_are_not_known_are_refused(cdr: Cdr, role: str, encoding: str) -> None:
    with pytest.raises(BadFrame, match=encoding):
        _encoded(cdr, role, np.zeros((H, W, 3), np.uint8), encoding, color="jpeg", depth="png")
    with pytest.raises(BadFrame, match="cannot be read"):
        ImageEncoder(RecordingConfig(color="jpeg")).encode("color", b"\0\1\0\0rubbish")


def test_topics_are_named_as_the_transports_name_them() -> None:
    encoder, lossless = ImageEncoder(RecordingConfig()), ImageEncoder(RecordingConfig(color="raw", depth="raw"))
    assert (encoder.suffix("color"), encoder.suffix("depth")) == ("/compressed", "/compressedDepth")
    assert lossless.suffix("color") == lossless.suffix("depth") == ""


@pytest.mark.parametrize(("options", "complaint"), [
    ({"compression": "gzip"}, "'gzip': known are lz4, none, zstd"), ({"color": "webp"}, "known are jpeg, png, raw"),
    ({"depth": "jpeg"}, "known are png, raw"), ({"jpeg_quality": 0}, "1 to 100"), ({"split_mb": 0.5}, "at least 1"),
    ({"split_s": 0.5}, "or 0 for a single file"), ({"split_s": -1.0}, "0 or more"),
    ({"split_s": float("nan")}, "0 or more"), ({"buffer_mb": 0.0}, "above 0"), ({"buffer_mb": 7.0}, "at least 8")])
def test_wrong_options_are_named(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        RecordingConfig(**options)  # type: ignore[arg-type]
