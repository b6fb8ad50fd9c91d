"""Decodes images and reads small untrusted files. No call blocks or exceeds its size limit, and every failure
is a named error."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.pillow import RESAMPLING

MAX_PIXELS = 1 << 25  # more than an 8K camera has
_MAX_IMAGE_BYTES = 4 * MAX_PIXELS
_MAX_TEXT_BYTES = 1 << 16
_FORMATS = ("JPEG", "PNG", "PPM")
# The errors that Pillow's decoders are known to raise for damaged images; SyntaxError stands for a broken PNG.
_DAMAGE = (OSError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, EOFError, struct.error,
           zlib.error, Image.DecompressionBombError)


def read_bounded(path: Path, limit: int = _MAX_IMAGE_BYTES) -> bytes:
    """Return a whole file. Raises BadFrame if it is absent, not a regular file, or larger than `limit` bytes."""
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            raise BadFrame(f"{path} is absent or not a file")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise BadFrame(f"{path} cannot be read: {error}") from error
    if len(data) > limit:
        raise BadFrame(f"{path} is larger than {limit} bytes: it cannot be what its name says")
    return data


def text_of(data: bytes) -> str:
    """Decode the text of a file, without the byte order mark that spreadsheets and editors write."""
    return data.decode("utf-8-sig", "replace")


def decode_image(data: bytes, what: object) -> Image.Image:
    """Decode a JPEG, PNG or PNM image. Raises BadFrame naming `what` when it is damaged or too large."""
    try:
        image = Image.open(BytesIO(data), formats=_FORMATS)
        if image.width * image.height > MAX_PIXELS:
            raise BadFrame(f"image {what} claims {image.width}x{image.height} pixels, at most {MAX_PIXELS} are read")
        image.load()
    except _DAMAGE as error:
        raise BadFrame(f"image {what} cannot be read: {error}") from error
    return image


def rgb_pixels(data: bytes, what: object) -> np.ndarray:
    """Decode an image to (H, W, 3) uint8. Raises BadFrame naming `what`, also for 16-bit images."""
    image = decode_image(data, what)
    if image.mode not in ("RGB", "RGBA", "L", "P"):
        raise BadFrame(f"image {what} has mode {image.mode}, wanted colour of 8 bits")
    return np.array(image if image.mode == "RGB" else image.convert("RGB"))


def read_rgb(path: Path) -> np.ndarray:
    """Read an image file as (H, W, 3) uint8. Raises BadFrame."""
    return rgb_pixels(read_bounded(path), path)


def raw_depth(data: bytes, what: object) -> np.ndarray:
    """Decode a 16-bit image to (H, W) integers. Raises BadFrame naming `what`."""
    raw = np.array(decode_image(data, what))
    if raw.ndim != 2 or raw.dtype.itemsize < 2:
        raise BadFrame(f"image {what} is {raw.shape} {raw.dtype}: a depth image has one channel of 16 bits (a JPEG has "
                       "lost it: use PNG; of ROS topics record the one with /compressedDepth)")
    return raw


def read_raw_depth(path: Path) -> np.ndarray:
    """Read a 16-bit image file as (H, W) integers. Raises BadFrame."""
    return raw_depth(read_bounded(path), path)


def read_matrix(path: Path) -> np.ndarray:
    """Read a (4, 4) float64 matrix from a text file; values may be non-finite. Raises BadFrame."""
    try:
        return np.array(text_of(read_bounded(path, _MAX_TEXT_BYTES)).split(), np.float64).reshape(4, 4)
    except ValueError as error:
        raise BadFrame(f"{path} holds no 4x4 matrix: {error}") from error


def shrunk(jpeg: bytes, width: int) -> bytes:
    """Scale an encoded image down to at most `width` pixels. Raises BadFrame if it is damaged or too large."""
    image = decode_image(jpeg, "of a view")
    if image.width <= width:
        return jpeg
    size = width, max(1, round(image.height * width / image.width))
    small = image.convert("RGB").resize(size, RESAMPLING.LANCZOS)
    buffer = BytesIO()
    small.save(buffer, "JPEG", quality=82, optimize=True)
    return buffer.getvalue()
