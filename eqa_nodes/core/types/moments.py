"""What the robot saw and knew at moments of an episode: small pictures, so that a report can show the map as it was."""

from __future__ import annotations

from typing import NamedTuple

VIEW_PX = 400  # width of the views of moments


class KnownMap(NamedTuple):
    """A map as a PNG with one pixel for each cell, north up. origin, z: as those of GridMap, metres, map frame."""

    resolution_m: float
    origin: tuple[float, float]
    png: bytes
    z: float = 0.0


class Moment(NamedTuple):
    """What was seen and known when an observation was stamped.

    view: JPEG of the observation, at most VIEW_PX wide; empty: the keyframe of this stamp is it, or nothing was seen.
    map: as it was known then, None where there was none.
    """

    stamp_ns: int
    view: bytes = b""
    map: KnownMap | None = None
