"""Episodic memory of the robot: `MemoryStore`."""

from eqa_nodes.core.memory.config import MemoryConfig
from eqa_nodes.core.memory.store import MemoryStore, open_file

__all__ = ["MemoryConfig", "MemoryStore", "open_file"]
