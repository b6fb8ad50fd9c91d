"""Decodes raw images and those of ROS's image transports to RGB, and to depth in metres."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from eqa_nodes.core.camera.image_geometry import metres
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.wire import messages
from eqa_nodes.wire.image_files import raw_depth, rgb_pixels

_DEPTH_HEADER = struct.Struct("<iff")  # format, then the two parameters of the inverse depth


def rgb_of(message: Any) -> np.ndarray:
    """Decode an Image or a CompressedImage (JPEG or PNG) to (H, W, 3) uint8, RGB. Raises BadFrame."""
    if hasattr(message, "encoding"):
        return messages.rgb_of(message)
    return rgb_pixels(bytes(message.data), f"of format {message.format!r}")


def depth_of(message: Any, unit_m: float = 0.0) -> np.ndarray:
    """Decode an Image or a CompressedImage to (H, W) float32 metres, 0 = no return. Raises BadFrame.

    unit_m: as in `metres`. A compressed depth image is a 16-bit PNG, or RVL. compressed_depth_image_transport writes a
    12-byte header before it and stores floats as inverse depth: metres = A / (value - B), with A and B in that header.
    """
    if hasattr(message, "encoding"):
        return messages.depth_of(message, unit_m)
    encoding, _, transport = (part.strip() for part in message.format.partition(";"))
    data, what = bytes(message.data), f"of format {message.format!r}"
    if "compressedDepth" not in transport:
        return metres(raw_depth(data, what), unit_m)
    if len(data) <= _DEPTH_HEADER.size:
        raise BadFrame(f"compressed depth image has {len(data)} bytes: no more than its header")
    if "rvl" in transport:
        from eqa_nodes.wire.rvl import decode_rvl as decode  # loads numba
    else:
        decode = raw_depth
    raw = decode(data[_DEPTH_HEADER.size:], what)
    if encoding != "32FC1":
        return metres(raw, unit_m)
    _, a, b = _DEPTH_HEADER.unpack_from(data)
    return metres(_inverse(raw, a, b), unit_m)


def _inverse(raw: np.ndarray, a: float, b: float) -> np.ndarray:
    """Convert inverse depth to metres; values that are not in front of the camera become 0 (no return)."""
    below = raw.astype(np.float32) - np.float32(b)
    depth_m = np.divide(np.float32(a), below, out=np.zeros(raw.shape, np.float32), where=(raw > 0) & (below > 0))
    return np.where(np.isfinite(depth_m), depth_m, np.float32(0))
