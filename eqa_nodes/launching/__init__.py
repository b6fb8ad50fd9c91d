"""What the launch files share: their arguments, what follows from them, and the processes that they start and watch."""

from __future__ import annotations

PROGRAMS = ("graph", "ready")  # modules here with a main(), which launch starts beside the nodes
NOT_READY = 1  # exit codes of the program `ready`
EPISODE_FAILED = 3  # after it was ready
INTERRUPTED = 130  # by Ctrl-C, as of a shell
