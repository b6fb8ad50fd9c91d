"""The nodes: each converts, makes one call into the core, converts, publishes."""
