"""`eqa memory backup` and `restore`: what an operator does with memory files as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.options import FILE, argument, flag


@dataclass(frozen=True, kw_only=True)
class BackupMemory:
    """Copies a memory file as it is at this moment, also while a robot writes it, and checks the copy. Its SHA-256
    stands in a file beside it.
    """

    path: Path = argument("file of the memory node (memory/NAME.sqlite)", metavar="FILE")
    backup: Path = argument("file of the backup, which must not exist yet", metavar="BACKUP", writes=FILE)

    def run(self) -> int:
        """Copy, and print what was copied."""
        from eqa_nodes.core.memory.backup import back_up

        done = back_up(self.path, self.backup)
        print(f"{done.path}: {done.keyframes} views, format {done.format}, {done.bytes / 1e6:.1f} MB, SHA-256 "
              f"{done.sha256}")
        return 0


@dataclass(frozen=True, kw_only=True)
class RestoreMemory:
    """Puts a backup back as a memory file, whole or not at all. The robot's memory node must not have it open."""

    backup: Path = argument("file that eqa memory backup wrote, with its .sha256 beside it", metavar="BACKUP")
    path: Path = argument("file of the memory node; what it holds is backed up beside it first", metavar="FILE",
                          writes=FILE)
    discard: bool = flag("do not keep what the file holds now")

    def run(self) -> int:
        """Restore, and print what is remembered now."""
        from eqa_nodes.core.memory.backup import free_name, restore

        before = None if self.discard else free_name(self.path.with_name(f"{self.path.name}.before-restore"))
        done = restore(self.backup, self.path, before)
        kept = f"; what it held before: {before}" if before is not None and before.exists() else ""
        print(f"{self.path}: {done.keyframes} views, format {done.format}{kept}")
        return 0
