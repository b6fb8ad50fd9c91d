"""Camera frames at the boundary: what arrives is checked, repaired, matched by stamp, and masked."""
