"""What the robot remembers: `MemoryStore`."""

from eqa_nodes.core.memory.config import MemoryConfig
from eqa_nodes.core.memory.store import MemoryStore

__all__ = ["MemoryConfig", "MemoryStore"]
