"""A file system that really becomes full, without root: a small one, mounted in our own mount namespace.

Shared memory gets its own file system there, too, so that everything left in it is ours. If such a namespace is not
allowed (some containers, hardened kernels), a limit on the file size of a process is used instead: the kernel refuses
the write (EFBIG instead of ENOSPC).
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
_SLACK = 16 << 10  # bytes that remain on a full disk
_TINY = 4 << 10  # maximum file size, bytes, if a limit is used instead
SHM = Path("/dev/shm")


def enter(module: str, arguments: Sequence[str]) -> None:
    """Restart this program in its own namespace; return if it already has one, or none can be created."""
    if os.environ.get(_INSIDE) or shutil.which("unshare") is None:
        return
    probe = subprocess.run([*_UNSHARE, "mount", "-t", "tmpfs", "tmpfs", str(SHM)], capture_output=True, timeout=30)
    if probe.returncode == 0:
        os.environ[_INSIDE] = "1"
        os.execvp("unshare", [*_UNSHARE, sys.executable, "-m", module, *arguments])


def inside() -> bool:
    """Return whether this process has its own mount namespace."""
    return bool(os.environ.get(_INSIDE))


def own_shared_memory() -> None:
    """Mount our own empty file system over the shared memory, if that is allowed."""
    if inside():
        _mount("-t", "tmpfs", "tmpfs", str(SHM))


class Disk:
    """A folder on its own file system; without one, `fill` limits the file size of the process that writes there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._limited = 0
        folder.mkdir(parents=True, exist_ok=True)
        if inside():
            _mount("-t", "tmpfs", "-o", _ROOMY, "tmpfs", str(folder))

    def fill(self, pid: int) -> None:
        """Fill the disk. pid: process id of the writer."""
        if not inside():
            self._limited = pid
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (_TINY, resource.RLIM_INFINITY))
            return
        for extra in (1, 8, 64):  # concurrent writes may take the space
            room = os.statvfs(self.folder)
            used = (room.f_blocks - room.f_bfree) * room.f_frsize
            if _mount("-o", f"remount,size={used + extra * _SLACK}", str(self.folder), check=False):
                return
        raise RuntimeError(f"{self.folder} cannot be made smaller")

    def free(self) -> None:
        """Free the space again."""
        if inside():
            _mount("-o", f"remount,{_ROOMY}", str(self.folder))
        elif self._limited and Path(f"/proc/{self._limited}").exists():
            resource.prlimit(self._limited, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def close(self) -> None:
        """Copy the content to the file system below, and unmount."""
        self.free()
        if inside():
            kept = self.folder.with_name(f"{self.folder.name}.kept")
            shutil.copytree(self.folder, kept)
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True, timeout=30)
            self.folder.rmdir()
            kept.rename(self.folder)


def _mount(*arguments: str, check: bool = True) -> bool:
    return subprocess.run(["mount", *arguments], check=check, capture_output=not check, timeout=30).returncode == 0
