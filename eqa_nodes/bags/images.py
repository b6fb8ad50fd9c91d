"""Images of bags: raw ones and the compressed ones of ROS's image transports -> colour and metres."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
from PIL import Image

from eqa_nodes import messages
from eqa_nodes.core.errors import BadFrame

_MAX_PIXELS = 50_000_000  # more is no camera's: a small file may claim to hold gigabytes
_DEPTH_HEADER = struct.Struct("<iff")  # format, then the two parameters of the inverse depth


def rgb_of(message: Any) -> np.ndarray:
    """Return (H, W, 3) uint8, RGB, of an Image or a CompressedImage (JPEG or PNG). Raises BadFrame."""
    if hasattr(message, "encoding"):
        return messages.rgb_of(message)
    return _unpacked(bytes(message.data), "RGB")


def depth_of(message: Any) -> np.ndarray:
    """Return (H, W) float32 metres, 0 = no return, of an Image or a CompressedImage. Raises BadFrame.

    A compressed depth image is a PNG of 16 bits. With compressed_depth_image_transport a header of 12 bytes comes
    first; floating-point depth is stored as inverse depth, metres = A / (value - B) with A and B of the header.
    """
    if hasattr(message, "encoding"):
        return messages.depth_of(message)
    encoding, _, transport = (part.strip() for part in message.format.partition(";"))
    data = bytes(message.data)
    if "compressedDepth" not in transport:
        return _millimetres(_unpacked(data))
    if "rvl" in transport:
        raise BadFrame(f"depth image is {message.format!r}: RVL is not supported, republish it as PNG or raw")
    if len(data) <= _DEPTH_HEADER.size:
        raise BadFrame(f"compressed depth image has {len(data)} bytes: no more than its header")
    raw = _unpacked(data[_DEPTH_HEADER.size:])
    if encoding != "32FC1":
        return _millimetres(raw)
    _, a, b = _DEPTH_HEADER.unpack_from(data)
    return _inverse(_sixteen_bits(raw), a, b)


def _inverse(raw: np.ndarray, a: float, b: float) -> np.ndarray:
    """Return metres of inverse depth; what is not in front of the camera has no return."""
    below = raw.astype(np.float32) - np.float32(b)
    metres = np.divide(np.float32(a), below, out=np.zeros(raw.shape, np.float32), where=(raw > 0) & (below > 0))
    return np.where(np.isfinite(metres), metres, np.float32(0))


def _millimetres(raw: np.ndarray) -> np.ndarray:
    return _sixteen_bits(raw).astype(np.float32) * np.float32(0.001)


def _sixteen_bits(raw: np.ndarray) -> np.ndarray:
    if raw.ndim != 2 or raw.dtype.itemsize < 2:
        raise BadFrame(f"compressed depth image is {raw.shape} {raw.dtype}: depth has one channel of 16 bits "
                       "(a JPEG has lost it: record the topic with /compressedDepth)")
    return raw


def _unpacked(data: bytes, mode: str = "") -> np.ndarray:
    """Return the pixels of a JPEG or PNG file, converted to Pillow's mode where one is given. Raises BadFrame."""
    try:
        with Image.open(io.BytesIO(data), formats=("JPEG", "PNG")) as image:
            if image.width * image.height > _MAX_PIXELS:
                raise BadFrame(f"compressed image claims {image.width}x{image.height} pixels: that is no camera's")
            return np.array(image.convert(mode) if mode else image)
    except BadFrame:
        raise
    except Exception as error:  # a damaged file makes the decoders raise whatever they stumble over
        raise BadFrame(f"compressed image of {len(data)} bytes cannot be read: {error}") from error
