"""Maps drawn with characters, for tests."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.types.floor import GridMap


def grid_of(*rows: str, scale: int = 5) -> GridMap:
    """First row is the north; `#` occupied, `?` unknown, else free and explored. `scale` cells of 0.1 m a character."""
    marks = np.array([list(row) for row in reversed(rows)]).repeat(scale, 0).repeat(scale, 1)
    cells = np.select([marks == "#", marks == "?"], [100, -1], 0).astype(np.int8)
    return GridMap(0, 0.1, (0.0, 0.0), cells, cells == 0)
