"""A file system that really becomes full, without root: a mount namespace of our own, where we may mount a small one.

Shared memory gets one of its own there too, so that what is left behind in it is ours. Where no such namespace may be
made (some containers, hardened kernels), a limit on the size of a process's files stands in: the kernel refuses the
write (EFBIG instead of ENOSPC).
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_INSIDE = "EQA_CHAOS_INSIDE"
_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")
_ROOMY = "size=2g"
_SLACK = 16 << 10  # bytes that are left when a disk is full
_TINY = 4 << 10  # bytes that a file may have where a limit stands in
SHM = Path("/dev/shm")


def enter(module: str, arguments: Sequence[str]) -> None:
    """Start this program again inside a namespace of its own; return where it is, or none can be made."""
    if os.environ.get(_INSIDE) or shutil.which("unshare") is None:
        return
    probe = subprocess.run([*_UNSHARE, "mount", "-t", "tmpfs", "tmpfs", str(SHM)], capture_output=True, timeout=30)
    if probe.returncode == 0:
        os.environ[_INSIDE] = "1"
        os.execvp("unshare", [*_UNSHARE, sys.executable, "-m", module, *arguments])


def inside() -> bool:
    """Say whether this process has mounts of its own."""
    return bool(os.environ.get(_INSIDE))


def own_shared_memory() -> None:
    """Put an empty file system of our own over the shared memory, where that may be done."""
    if inside():
        _mount("-t", "tmpfs", "tmpfs", str(SHM))


class Disk:
    """A folder on a file system of its own. limited: what writes there, whose files are limited where none is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._limited = 0
        folder.mkdir(parents=True, exist_ok=True)
        if inside():
            _mount("-t", "tmpfs", "-o", _ROOMY, "tmpfs", str(folder))

    def fill(self, pid: int) -> None:
        """Leave no room. pid: of the process that writes there."""
        if not inside():
            self._limited = pid
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (_TINY, resource.RLIM_INFINITY))
            return
        for extra in (1, 8, 64):  # what is written meanwhile may not fit
            room = os.statvfs(self.folder)
            used = (room.f_blocks - room.f_bfree) * room.f_frsize
            if _mount("-o", f"remount,size={used + extra * _SLACK}", str(self.folder), check=False):
                return
        raise RuntimeError(f"{self.folder} cannot be made smaller")

    def free(self) -> None:
        """Give room again."""
        if inside():
            _mount("-o", f"remount,{_ROOMY}", str(self.folder))
        elif self._limited and Path(f"/proc/{self._limited}").exists():
            resource.prlimit(self._limited, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def close(self) -> None:
        """Copy what is there to the file system below, and unmount."""
        self.free()
        if inside():
            kept = self.folder.with_name(f"{self.folder.name}.kept")
            shutil.copytree(self.folder, kept)
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True, timeout=30)
            self.folder.rmdir()
            kept.rename(self.folder)


def _mount(*arguments: str, check: bool = True) -> bool:
    return subprocess.run(["mount", *arguments], check=check, capture_output=not check, timeout=30).returncode == 0
