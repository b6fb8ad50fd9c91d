"""What the robot remembers: `MemoryStore`."""

from eqa_nodes.core.memory.store import MemoryConfig, MemoryStore

__all__ = ["MemoryConfig", "MemoryStore"]
