"""All kinds of objects of a home, from two tables; kinds whose parts depend on chance have a function in kinds_*.py.

kinds.csv has one row for each kind: its sizes, colours, materials and states. parts.csv has one row for each part.
tools.csv and tool_parts.csv are the same for kinds that only houses with chores have (see actions.yaml).
A row without a name belongs to the kind above it. A length is a sum of numbers and of the letters d, w, h (depth, width
and height of the object) and s (the part of the depth that an open leaf takes), such as 0.5w-0.02, in metres. Columns:

state: the states in which the part exists, separated by |; empty for all.
shape: one of scene.SHAPES, or `doors`: closed fronts over the width, with handles.
repeat: x, y or xy: once at either side of that axis; 5: five times, where the letter i counts 0 to 4; 1x3, of doors:
    one row with three columns; empty: once.
at: x, y and z of the part's lowest point.
colour: a word of scene.PALETTE, #rrggbb, or c for the object's own; a number behind it darkens (< 1) or lightens (> 1).
    Repeated parts take the colours of a list a|b|c in turn; the second colour of doors is that of the handles.
texture: one of scene.TEXTURES, or t for the texture of the object's material; empty: plain.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import resources
from typing import NamedTuple

from sim_bridge.house import kinds_fittings, kinds_furniture, kinds_objects  # noqa: F401  they fill BUILDERS
from sim_bridge.house.kinds import BUILDERS, COLOURS, SURFACES, Kind, Look, Range, at, doors, tone
from sim_bridge.house.scene import ObjectPart

Length = tuple[tuple[float, str], ...]  # terms of a sum: factor and the letters that multiply it
_TERM = re.compile(r"([+-]?)([0-9.]*)([dwhsi]*)")
_SIGNS = {"x": ((-1, 1), (1, 1)), "y": ((1, -1), (1, 1)), "xy": ((-1, -1), (-1, 1), (1, -1), (1, 1)), "": ((1, 1),)}


class PartRow(NamedTuple):
    """A row of parts.csv; see the module's docstring."""

    states: tuple[str, ...]
    shape: str
    repeat: str
    at: tuple[Length, ...]
    size: tuple[Length, ...]
    colours: tuple[str, ...]
    texture: str
    glow: float
    yaw: float

    def parts(self, look: Look) -> Iterator[ObjectPart]:
        """Yield the parts of an object with this look."""
        values = {"d": look.depth, "w": look.width, "h": look.height, "s": look.swing}
        texture = look.texture if self.texture == "t" else self.texture
        if self.shape == "doors":
            rows, columns = map(int, self.repeat.split("x"))
            z, high = metres(self.at[2], values), metres(self.size[2], values)
            handles = self.colours[1:] or ("silver",)
            yield from doors(look, z, z + high, rows, columns, _colour(self.colours[0], look), handles[0])
            return
        signs = ((1, 1),) * int(self.repeat) if self.repeat.isdecimal() else _SIGNS[self.repeat]
        for i, (x_sign, y_sign) in enumerate(signs):
            x, y, z = (metres(length, {**values, "i": i}) for length in self.at)
            depth, width, height = (metres(length, {**values, "i": i}) for length in self.size)
            yield at(self.shape, x_sign * x, y_sign * y, z, (depth, width, height),
                     _colour(self.colours[i % len(self.colours)], look), texture, self.glow, self.yaw)


def length_of(text: str) -> Length:
    """Parse a length such as "0.5w-0.02". Raises ValueError for other text."""
    terms = [_TERM.fullmatch(term) for term in re.findall(r"[+-]?[^+-]*", text)[:-1]]
    if not terms or not all(term and term[2] + term[3] for term in terms):
        raise ValueError(f"{text!r} is not a length: write a sum of numbers and of the letters d, w, h, s and i, such "
                         "as 0.5w-0.02")
    return tuple((float(term[1] + (term[2] or "1")), term[3]) for term in terms if term)


def metres(length: Length, values: Mapping[str, float]) -> float:
    """Return a length, with values for its letters."""
    return sum(math.prod((values[letter] for letter in letters), start=factor) for factor, letters in length)


def part_row(line: str) -> PartRow:
    """Parse a line of parts.csv without its first cell. Raises ValueError for a length that is not one."""
    states, shape, repeat, place, size, colours, texture, glow, yaw = _cells(line, 9)
    return PartRow(tuple(_split(states, "|")), shape, repeat, tuple(map(length_of, _split(place, ","))),
                   tuple(map(length_of, _split(size, ","))), tuple(_split(colours, "|")), texture or "plain",
                   float(glow or 0), float(yaw or 0))


def _colour(cell: str, look: Look) -> str:
    word, _, factor = cell.partition(" ")
    colour = look.colour if word == "c" else word
    return tone(colour, float(factor)) if factor else colour


def _cells(line: str, count: int) -> list[str]:
    cells = [cell.strip() for cell in line.split(";")]
    return cells + [""] * (count - len(cells))


def _split(cell: str, sign: str) -> list[str]:
    return [word.strip() for word in cell.split(sign)] if cell else []


def _lines(table: str) -> list[str]:
    return resources.files("sim_bridge.house").joinpath(table).read_text(encoding="utf-8").splitlines()[1:]


def _read_parts() -> dict[str, list[PartRow]]:
    rows: dict[str, list[PartRow]] = {}
    name = ""
    for line in (*_lines("parts.csv"), *_lines("tool_parts.csv")):
        first, _, rest = line.partition(";")
        name = first.strip() or name
        rows.setdefault(name, []).append(part_row(rest))
    return rows


def _assembled(rows: list[PartRow], look: Look) -> list[ObjectPart]:
    return [part for row in rows if not row.states or look.state in row.states for part in row.parts(look)]


def _read_kinds() -> dict[str, Kind]:
    rows, kinds = _read_parts(), {}
    for line in (*_lines("kinds.csv"), *_lines("tools.csv")):
        name, *sizes, colours, materials, states, solid, swing, carries = _cells(line, 10)
        depth, width, height = map(_range, sizes)
        kinds[name] = Kind(name, depth, width, height, BUILDERS.get(name) or partial(_assembled, rows[name]),
                           COLOURS.get(colours) or _words(colours), _words(materials), _words(states),
                           solid != "no", float(swing or 0.0), SURFACES[carries])
    return kinds


def _range(cell: str) -> Range:
    low, high = map(float, cell.split())
    return low, high


def _words(cell: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in cell.split(","))


KINDS = _read_kinds()
