"""Decodes RVL (Wilson, "Fast Lossless Depth Image Compression", 2017), used by RTAB-Map and ROS's image transport.

Runs of zeros and of values alternate. A number is stored in groups of three bits, each with a fourth bit that says
whether more groups follow; a 32-bit word has eight groups, the first in the highest bits. A value is stored as the
zigzag-coded difference from the previous one.
"""

from __future__ import annotations

import struct

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.kernels import njit
from eqa_nodes.wire.image_files import MAX_PIXELS

_SIZE = struct.Struct("<II")  # columns, rows


def decode_rvl(data: bytes, what: object) -> np.ndarray:
    """Decode columns and rows (32 bits each) and the values that follow to (H, W) uint16. Raises BadFrame."""
    if len(data) < _SIZE.size:
        raise BadFrame(f"depth image {what} has {len(data)} bytes of RVL: not even its size")
    width, height = _SIZE.unpack_from(data)
    if not 0 < width * height <= MAX_PIXELS:
        raise BadFrame(f"depth image {what} claims {width}x{height} pixels, at most {MAX_PIXELS} are read")
    packed = data[_SIZE.size:]
    words = np.frombuffer(packed[:len(packed) // 4 * 4], "<u4").astype(np.uint32)
    values = np.zeros(width * height, np.uint16)
    if not _decode(words, values):
        raise BadFrame(f"depth image {what} is damaged: its RVL data do not fill {width}x{height} pixels")
    return values.reshape(height, width)


@njit()
def _decode(words: np.ndarray, values: np.ndarray) -> bool:
    """Decode the words into `values`; return False if they are too few, or a run exceeds the image."""
    at = filled = previous = 0  # at: index of a group of four bits
    groups = 8 * len(words)
    run = 0  # 0: next is a run of zeros, 1: of values
    while filled < len(values):
        count, at = _number(words, at)
        if at > groups or count > len(values) - filled or count < 0:
            return False
        if run == 0:
            filled += count
        else:
            for _ in range(count):
                folded, at = _number(words, at)
                if at > groups:
                    return False
                previous = (previous + ((folded >> 1) ^ -(folded & 1))) & 0xFFFF
                values[filled] = previous
                filled += 1
        run = 1 - run
    return True


@njit()
def _number(words: np.ndarray, at: int) -> tuple[int, int]:
    """Return the number that begins at a group and the index of the next group, past the end if it is truncated."""
    value = shift = 0
    groups = 8 * len(words)
    while at < groups and shift <= 30:
        group = (np.int64(words[at // 8]) >> (28 - 4 * (at % 8))) & 0xF
        value |= (group & 7) << shift
        shift += 3
        at += 1
        if group < 8:
            return value, at
    return 0, groups + 1
