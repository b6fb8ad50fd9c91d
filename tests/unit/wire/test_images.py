"""Depth images of ROS's image transports, worked out by hand."""

from __future__ import annotations

import io
import struct
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.wire.images import depth_of, rgb_of
from eqa_nodes.wire.rvl import decode_rvl

HEADER = struct.pack("<iff", 0, 100.0, 50.0)  # metres = 100 / (value - 50)
# One run of no zeros, one of two values: 1000 and one more. In groups of three bits: 0, 2, 2000 = 0 2 7 3, 2.
RVL = struct.pack("<III", 2, 1, 0x028AF320)


def png(*values: int) -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.array([values], np.uint16)).save(out, "PNG")
    return out.getvalue()


def compressed(kind: str, data: bytes) -> SimpleNamespace:
    return SimpleNamespace(format=kind, data=data)


@pytest.mark.parametrize(("kind", "data", "metres"), [
    ("16UC1; compressedDepth png", HEADER + png(1500, 0), [1.5, 0.0]),
    ("16UC1; compressedDepth", HEADER + png(1500, 1), [1.5, 0.001]),
    ("16UC1; compressedDepth rvl", HEADER + RVL, [1.0, 1.001]),
    ("32FC1; compressedDepth png", HEADER + png(100, 250, 50, 0), [2.0, 0.5, 0.0, 0.0]),
    ("16UC1; png compressed ", png(1500, 2), [1.5, 0.002]), ("png", png(700), [0.7])])
def test_compressed_depth(kind: str, data: bytes, metres: list[float]) -> None:
    found = depth_of(compressed(kind, data))
    assert found.dtype == np.float32 and found[0] == pytest.approx(metres, abs=1e-6)


def test_a_header_alone_or_colour_in_place_of_depth_is_refused() -> None:
    with pytest.raises(BadFrame, match="has 12 bytes: no more than its header"):
        depth_of(compressed("16UC1; compressedDepth png", HEADER))
    with pytest.raises(BadFrame, match="wanted colour of 8 bits"):
        rgb_of(compressed("png", png(1)))


@pytest.mark.parametrize(("data", "complaint"), [
    (RVL[:7], "7 bytes of RVL: not even its size"), (RVL[:8], "is damaged"),
    (struct.pack("<III", 0, 1, 0), "claims 0x1"),
    (struct.pack("<III", 1, 1, 0x028AF320), "is damaged")])  # the last has a run of two values for one pixel
def test_damaged_rvl_is_refused(data: bytes, complaint: str) -> None:
    with pytest.raises(BadFrame, match=complaint):
        decode_rvl(data, "of the camera")
