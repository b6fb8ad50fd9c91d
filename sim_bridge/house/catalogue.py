"""All kinds of objects of a home: importing this module registers them in KINDS."""

from __future__ import annotations

from sim_bridge.house import (  # noqa: F401
    kinds_belongings,
    kinds_decor,
    kinds_fixtures,
    kinds_kitchen,
    kinds_seating,
    kinds_storage,
    kinds_utility,
)
from sim_bridge.house.kinds import KINDS, Kind

__all__ = ["KINDS", "Kind"]
