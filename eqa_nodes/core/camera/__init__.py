"""Camera frames at the boundary of the core: they are checked, repaired, matched by stamp, and masked."""
