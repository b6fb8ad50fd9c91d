"""What the launch files share: their arguments, what follows from them, and the processes that they start and watch."""

from __future__ import annotations

PROGRAMS = ("graph", "ready")  # modules here with a main(), which launch starts beside the nodes
