"""Exit codes of the program `ready`."""

from __future__ import annotations

NOT_READY = 1
EPISODE_FAILED = 3  # after it was ready
INTERRUPTED = 130  # by Ctrl-C, as of a shell
