"""The body of a person: capsules for what is drawn, discs for what is solid, by pose and posture."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.types.geometry import Pose2
from sim_bridge.house.meshes import linear_rgb

STAND, WALK, SIT = "standing", "walking", "sitting"
RADIUS_M, HEIGHT_M = 0.24, 1.75  # of somebody who stands: what has to be free where they go
FEET_M = 0.42  # that the feet of somebody who sits are before the middle of the seat
_SHIRTS = ("red", "blue", "green", "yellow", "purple", "turquoise", "orange", "white")
_TROUSERS = ("black", "gray", "#2c3c5c", "brown", "beige")
_HAIR = ("#2a1c14", "#5a3a20", "#c8a050", "#777777", "#1a1a1a")
_SKIN = ("#e8b898", "#c68c64", "#8a5a3c", "#f0c8a8")
_SHIRT, _LEGS, _BARE, _TOP, _SHOE = range(5)


class Looks(NamedTuple):
    """Colours of a person, linear RGB 0..1, by part: shirt, trousers, skin, hair, shoes; (5, 3)."""

    colours: np.ndarray
    shirt: str  # as a person says it


class Limb(NamedTuple):
    """A capsule in the person's own frame (x ahead, y left, floor at z 0), metres."""

    a: tuple[float, float, float]
    b: tuple[float, float, float]
    radius_m: float
    part: int


def looks_of(rng: np.random.Generator) -> Looks:
    """Draw what somebody wears."""
    shirt, trousers, hair, skin = (str(rng.choice(words)) for words in (_SHIRTS, _TROUSERS, _HAIR, _SKIN))
    return Looks(np.array([linear_rgb(c) for c in (shirt, trousers, skin, hair, "#202020")]), shirt)


def capsules(pose: Pose2, posture: str, stride_rad: float, seat_m: float, looks: Looks) -> np.ndarray:
    """Return (k, 10) float32: both ends of each limb in the map frame, its radius, its colour (linear RGB).

    stride_rad: the phase of the steps of somebody who walks; seat_m: the height of the seat of somebody who sits.
    """
    limbs = _sitting(seat_m) if posture == SIT else _upright(stride_rad if posture == WALK else None)
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)

    def placed(p: tuple[float, float, float]) -> tuple[float, float, float]:
        return pose.x + c * p[0] - s * p[1], pose.y + s * p[0] + c * p[1], p[2]

    return np.array([(*placed(limb.a), *placed(limb.b), limb.radius_m, *looks.colours[limb.part]) for limb in limbs],
                    np.float32)


def discs(pose: Pose2, posture: str) -> list[tuple[float, float, float]]:
    """Return what nobody can drive through: x, y and radius of discs on the floor, metres, map frame."""
    if posture != SIT:
        return [(pose.x, pose.y, RADIUS_M)]
    feet = pose.x + FEET_M * math.cos(pose.yaw), pose.y + FEET_M * math.sin(pose.yaw)
    return [(pose.x, pose.y, RADIUS_M), (*feet, 0.18)]


def _upright(stride_rad: float | None) -> list[Limb]:
    swing = 0.0 if stride_rad is None else math.sin(stride_rad)
    limbs = []
    for side in (1, -1):
        leg, arm = 0.42 * swing * side, -0.35 * swing * side
        hip, knee = (0.0, 0.09 * side, 0.92), (0.44 * math.sin(leg), 0.09 * side, 0.92 - 0.44 * math.cos(leg))
        bend = leg - (0.5 * max(0.0, -swing * side) if stride_rad is not None else 0.0)
        foot = (knee[0] + 0.40 * math.sin(bend), 0.09 * side, max(0.06, knee[2] - 0.42 * math.cos(bend)))
        shoulder = (0.0, 0.20 * side, 1.40)
        elbow = (0.28 * math.sin(arm), 0.24 * side, 1.40 - 0.28 * math.cos(arm))
        hand = (elbow[0] + 0.26 * math.sin(arm + 0.25), 0.24 * side, elbow[2] - 0.26 * math.cos(arm + 0.25))
        limbs += [Limb(hip, knee, 0.085, _LEGS), Limb(knee, foot, 0.062, _LEGS),
                  Limb((foot[0] - 0.04, foot[1], 0.045), (foot[0] + 0.13, foot[1], 0.045), 0.045, _SHOE),
                  Limb(shoulder, elbow, 0.052, _SHIRT), Limb(elbow, hand, 0.04, _BARE)]
    return limbs + _trunk(0.0, 0.95)


def _sitting(seat_m: float) -> list[Limb]:
    limbs, up = [], seat_m + 0.09
    for side in (1, -1):
        hip, knee = (-0.02, 0.10 * side, up), (FEET_M, 0.12 * side, up)
        shoulder, elbow = (-0.06, 0.20 * side, up + 0.47), (0.02, 0.25 * side, up + 0.22)
        limbs += [Limb(hip, knee, 0.085, _LEGS), Limb(knee, (FEET_M, 0.12 * side, 0.09), 0.062, _LEGS),
                  Limb((FEET_M - 0.04, 0.12 * side, 0.045), (FEET_M + 0.13, 0.12 * side, 0.045), 0.045, _SHOE),
                  Limb(shoulder, elbow, 0.052, _SHIRT), Limb(elbow, (0.24, 0.14 * side, up + 0.13), 0.04, _BARE)]
    return limbs + _trunk(-0.06, up + 0.03)


def _trunk(x: float, hips_m: float) -> list[Limb]:
    """Return torso, neck and head above hips at this height."""
    chest, chin = hips_m + 0.40, hips_m + 0.52
    face, eyes = x + 0.105, chin + 0.105
    return [*(Limb((x, 0.06 * side, hips_m + 0.02), (x, 0.085 * side, chest), 0.12, _SHIRT) for side in (1, -1)),
            *(Limb((face, 0.033 * side, eyes), (face, 0.036 * side, eyes), 0.013, _SHOE) for side in (1, -1)),
            Limb((x, 0.0, hips_m + 0.02), (x, 0.0, chest), 0.126, _SHIRT),
            Limb((x, -0.16, chest + 0.06), (x, 0.16, chest + 0.06), 0.062, _SHIRT),
            Limb((x, 0.0, chest + 0.06), (x, 0.0, chin), 0.052, _BARE),
            Limb((x + 0.025, 0.0, chin + 0.06), (x + 0.01, 0.0, chin + 0.15), 0.088, _BARE),
            Limb((x - 0.02, 0.0, chin + 0.10), (x - 0.01, 0.0, chin + 0.175), 0.094, _TOP)]
