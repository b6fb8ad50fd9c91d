"""The common part of the launch files: arguments, plans derived from them, and the processes they start and watch."""

from __future__ import annotations

PROGRAMS = ("graph", "ready")  # modules here with a main(), which launch starts in addition to the nodes
NOT_READY = 1  # exit codes of the program `ready`
EPISODE_FAILED = 3  # after the graph was ready
INTERRUPTED = 130  # by Ctrl-C, as in a shell
