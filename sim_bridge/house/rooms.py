"""The kinds of rooms of a home, from rooms.csv: size, floors, walls, windows, and what must stand in them.

An empty cell means the value of the first row. Columns: area and width: smallest and largest floor area (m2) and
smallest width (m); side: of the corridor, deep or shallow; floors: texture and colour; windows: lowest and highest
sill, head, smallest and largest width (m).
"""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple

Range = tuple[float, float]


class RoomKind(NamedTuple):
    """A row of rooms.csv; sizes in metres, areas in square metres. windows: sill, head and width, None: no windows."""

    area_m2: Range
    least_m: float
    side: str
    floors: tuple[tuple[str, str], ...]
    walls: tuple[str, ...]
    windows: tuple[Range, float, Range] | None
    curtains: bool
    needed: tuple[str, ...]


def _kind(area: str, width: str, side: str, floors: str, walls: str, windows: str, curtains: str, needed: str
          ) -> RoomKind:
    low, high = map(float, area.split()) if area else (0.0, 0.0)
    surfaces = [surface.split(": ") for surface in floors.split(", ")]
    return RoomKind((low, high), float(width or 0.0), side, tuple((texture, colour) for texture, colour in surfaces),
                    tuple(walls.split(", ")), _windows(windows), bool(curtains),
                    tuple(needed.split(", ")) if needed else ())


def _windows(cell: str) -> tuple[Range, float, Range] | None:
    if cell == "none":
        return None
    low, high, head, narrow, wide = map(float, cell.split())
    return (low, high), head, (narrow, wide)


def _read() -> dict[str, RoomKind]:
    table = resources.files("sim_bridge.house").joinpath("rooms.csv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [[cell.strip() for cell in line.split(";")] for line in table]
    usual = rows[0][1:]
    return {name: _kind(*(cell or default for cell, default in zip(cells, usual, strict=True)))
            for name, *cells in rows}


_KINDS = _read()


def room_kind(name: str) -> RoomKind:
    """Return what holds for rooms of a kind; a kind without a row is like `other`."""
    return _KINDS.get(name, _KINDS["other"])
