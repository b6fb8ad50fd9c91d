"""All kinds of objects of a home: importing this module registers them in KINDS."""

from __future__ import annotations

from sim_bridge.house import (  # noqa: F401
    kinds_bath,
    kinds_belongings,
    kinds_decor,
    kinds_kitchen,
    kinds_lamps,
    kinds_laundry,
    kinds_openings,
    kinds_seating,
    kinds_small,
    kinds_sport,
    kinds_storage,
    kinds_tableware,
    kinds_toys,
    kinds_utility,
)
from sim_bridge.house.kinds import KINDS, Kind

__all__ = ["KINDS", "Kind"]
