"""Encodes a map as a small picture with four kinds of cells, as shown in reports, and decodes it."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.trace import KnownMap

UNKNOWN, FREE, EXPLORED, OCCUPIED = (236, 239, 243), (221, 230, 236), (255, 255, 255), (84, 96, 112)
CELLS = (UNKNOWN, FREE, EXPLORED, OCCUPIED)  # colours, one per kind of cell
_MOST_CELLS = 1 << 24


def picture_of(grid: GridMap) -> KnownMap:
    """Return the map as a picture of a few hundred bytes. Only free cells keep whether they are explored."""
    kinds = np.select([grid.cells > 0, (grid.cells == 0) & grid.explored, grid.cells == 0], [3, 2, 1], 0)
    return KnownMap(grid.resolution_m, grid.origin, palette_png(kinds, CELLS), grid.z)


def grid_of(picture: KnownMap, stamp_ns: int = 0) -> GridMap:
    """Return the map of a picture. Raises BadFrame if it is damaged or was not made by `picture_of`."""
    try:
        with Image.open(io.BytesIO(picture.png), formats=("PNG",)) as image:
            if image.mode != "P" or not 0 < image.width * image.height <= _MOST_CELLS:
                raise BadFrame(f"the picture of a map has mode {image.mode} with {image.width} x {image.height} "
                               f"pixels: expected mode P and at most {_MOST_CELLS} pixels")
            kinds = np.asarray(image)[::-1]
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise BadFrame(f"the picture of a map cannot be read: {error}") from error
    cells = np.select([kinds == 3, (kinds == 2) | (kinds == 1)], [100, 0], -1).astype(np.int8)
    return GridMap(stamp_ns, picture.resolution_m, picture.origin, cells, kinds == 2, picture.z)


def palette_png(cells: np.ndarray, colours: Sequence[tuple[int, ...]]) -> bytes:
    """Return (rows, columns) indices of at most 256 colours (RGB or RGBA) as a small PNG, north up."""
    image = Image.frombytes("P", cells.shape[::-1], cells[::-1].astype(np.uint8).tobytes())
    image.putpalette([c for colour in colours for c in colour[:3]])
    opacity = bytes(colour[3] if len(colour) > 3 else 255 for colour in colours)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True, **({"transparency": opacity} if min(opacity) < 255 else {}))
    return buffer.getvalue()
