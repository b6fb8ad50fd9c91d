"""Worlds for learning: questions in simulators as Gymnasium environments.

Importing this package registers them: `gymnasium.make("eqa_nodes.worlds:eqa/House-v0")` imports it, too. It needs the
extra `worlds`.
"""

from __future__ import annotations

try:
    import gymnasium
except ImportError as error:
    from eqa_nodes.core.errors import MissingExtra

    raise MissingExtra("gymnasium", "worlds") from error

HOUSE, TOPO = "eqa/House-v0", "eqa/HouseTopo-v0"  # names of the environments

if HOUSE not in gymnasium.registry:
    gymnasium.register(HOUSE, "eqa_nodes.worlds.house:HouseEnv")
    gymnasium.register(TOPO, "eqa_nodes.worlds.topo:TopoEnv")
