"""Simulates the errors of a detector in a simulator's perfect labels.

Mistakes belong to an instance seen from about one place: looking again from there repeats them, going nearer or round
the object gives another chance, as with a real detector. They are drawn from a hash of seed, instance, distance and
bearing, so that the same drive meets the same mistakes on every machine.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from eqa_nodes.core.ranges import NotNegative, Range, check_ranges
from eqa_nodes.core.settings import constant, setting
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Label, Sighting

_DISTANCE_M = 0.75  # views from within such a step of distance and bearing repeat a mistake
_BEARING_RAD = math.radians(30)
_Half: TypeAlias = Annotated[float, Range(0.0, 0.5)]  # shares that double at range_m


@dataclass(frozen=True)
class NoiseConfig:
    """How often labels are wrong: so often at half of range_m, not at all at the object, twice as often at range_m."""

    miss: _Half = setting(0.0, "Share of sightings (0 to 1) that are missed.")
    confuse: _Half = setting(0.0,
        "Share of sightings (0 to 1) with a wrong label: another kind of object from the same room, or a wrong "
        "colour, material or state.")
    range_m: NotNegative = setting(0.0, "Distance in metres beyond which objects are missed; 0 sets no limit.")
    seed: int = constant(0, "Seed of the simulated label errors.")

    def __post_init__(self) -> None:
        check_ranges(self, "perception.noise")


def disturbed(seen: Sequence[Sighting], pose: Pose2, labels: Mapping[int, Label],
              config: NoiseConfig) -> tuple[Sighting, ...]:
    """Return what a detector with these faults would have seen from `pose`; labels: what mistakes are drawn from."""
    if not (config.miss or config.confuse or config.range_m):
        return tuple(seen)
    names = sorted(labels.values(), key=lambda label: label.instance)
    kept = (_disturbed(s, pose, names, config) for s in seen)
    return tuple(s for s in kept if s is not None)


def _disturbed(s: Sighting, pose: Pose2, names: Sequence[Label], config: NoiseConfig) -> Sighting | None:
    dx, dy = s.centre[0] - pose.x, s.centre[1] - pose.y
    off = math.hypot(dx, dy)
    if config.range_m and off > config.range_m:
        return None
    worse = min(2.0, 2.0 * off / (config.range_m or 6.0))
    spot = f"{config.seed} {s.label.instance} {int(off / _DISTANCE_M)} {round(math.atan2(dy, dx) / _BEARING_RAD)}"
    if _draw("miss", spot) < config.miss * worse:
        return None
    if _draw("confuse", spot) < config.confuse * worse:
        return s._replace(label=_mistaken(s.label, names, spot))
    return s


def _mistaken(label: Label, names: Sequence[Label], spot: str) -> Label:
    """Return the label with another kind, or with one attribute misread as another object of this kind has it."""
    attribute = ("", "colour", "state", "material")[int(4 * _draw("which", spot))]
    if attribute in label.attributes:
        values = sorted({n.attributes[attribute] for n in names
                         if attribute in n.attributes and (n.kind == label.kind or attribute != "state")}
                        - {label.attributes[attribute]})
        if values:
            value = values[int(len(values) * _draw("value", spot))]
            return label._replace(attributes={**label.attributes, attribute: value})
    kinds = sorted({n.kind for n in names if n.room == label.room} - {label.kind})
    return label._replace(kind=kinds[int(len(kinds) * _draw("kind", spot))]) if kinds else label


def _draw(what: str, spot: str) -> float:
    """Return a number in [0, 1) that depends on nothing but its arguments."""
    return zlib.crc32(f"{what} {spot}".encode()) * 2.0 ** -32
