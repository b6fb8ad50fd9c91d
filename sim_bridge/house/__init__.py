"""The built-in world: seeded, furnished, multi-room homes that render on the CPU and know their own truth."""
