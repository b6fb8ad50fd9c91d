"""Parameters of the policies; where a paper or its code publishes a value, that is the default."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RandomConfig:
    """nearest_m: cells nearer than this by path are not drawn."""

    nearest_m: float = 1.0


@dataclass(frozen=True)
class FrontierConfig:
    """Scales of the weight, lengths of the rays, and of a leg in metres (explore-eqa)."""

    unexplored: float = 0.2
    unoccupied: float = 2.0
    distance_m: float = 10.0
    unexplored_ray_m: float = 3.0
    unoccupied_ray_m: float = 1.0
    leg_m: float = 3.0


@dataclass(frozen=True)
class PolicyConfig:
    """The parameters of every policy, by its name."""

    random: RandomConfig = RandomConfig()
    frontier: FrontierConfig = FrontierConfig()
