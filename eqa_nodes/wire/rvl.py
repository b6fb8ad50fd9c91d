"""Decodes RVL (Wilson, "Fast Lossless Depth Image Compression", 2017): depth of RTAB-Map and of ROS's image transport.

Runs of zeros and of values alternate. Numbers are stored in groups of three bits, each with a bit that says whether
more follow, eight groups in a word of 32 bits, the first in the highest bits. A value is the difference from the one
before.
"""

from __future__ import annotations

import struct

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.kernels import njit
from eqa_nodes.wire.image_files import MAX_PIXELS

_SIZE = struct.Struct("<II")  # columns, rows


def decode_rvl(data: bytes, what: object) -> np.ndarray:
    """Return (H, W) uint16 of columns and rows (32 bits each) and the compressed values. Raises BadFrame."""
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
    """Fill the values; say whether the words hold exactly as many."""
    at = filled = previous = 0  # at: group of four bits
    groups = 8 * len(words)
    run = 0  # 0: how many zeros, 1: how many values
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
    """Return the number that begins at a group, and the group after it; beyond the end for one that is cut short."""
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
