"""The run that a process belongs to: nodes of two runs must not be confused or share a name.

A launch file passes the run to its processes in environment variables; nodes started alone belong to no run.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from uuid import uuid4

from eqa_nodes.core.errors import ConfigError

RUN, LAUNCH = "EQA_RUN", "EQA_LAUNCH_PID"
_NAME = "\0eqa_nodes/node/"
_PDEATHSIG = 1  # PR_SET_PDEATHSIG of prctl(2)


def run_variables() -> dict[str, str]:
    """Return the variables that mark processes started by this one as parts of one run."""
    return {RUN: uuid4().hex[:12], LAUNCH: str(os.getpid())}


def signature(row: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the signature of a node of this process: its row of the graph, and its run if any."""
    run = environment.get(RUN, "")
    return f"{row}@{run}" if run else row


def announcement(row: str, born_ns: int, environment: Mapping[str, str] = os.environ) -> str:
    """Return a signature with the node's start, ns since the start of this machine. Setting the clock does not affect
    the order of restarts. born_ns: that start."""
    return f"{signature(row, environment)}#{boot_id()}:{born_ns}"


def signature_in(said: str) -> str:
    """Return the signature in an announcement."""
    return said.partition("#")[0]


def row_of(said: str) -> str:
    """Return the row in a signature or an announcement."""
    return signature_in(said).partition("@")[0]


def born_in(said: str) -> int | None:
    """Return a node's start from an announcement of this machine, ns since the machine's start; None for others."""
    boot, _, born = said.partition("#")[2].partition(":")
    return int(born) if boot == boot_id() and born.isdecimal() else None


@cache
def boot_id() -> str:
    """Return an id of this boot of this machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")[:16]
    except OSError:
        return "unknown"


def end_with_launch() -> None:
    """Make the kernel send this process SIGTERM when the launch that started it dies.

    This does not apply if the parent is not launch, for example a debugger between them.
    """
    launch = os.environ.get(LAUNCH, "")
    if not launch.isdecimal():
        return
    with suppress(OSError, AttributeError):  # not Linux
        if os.getppid() == int(launch):
            ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGTERM)
    if not Path(f"/proc/{launch}").exists() and Path("/proc/self").exists():  # launch died before prctl
        os.kill(os.getpid(), signal.SIGTERM)


class HeldName:
    """A reservation of a node's name in a ROS domain until `close` or the end of the process.

    Two nodes of one name would answer the same calls and write the same files. The reservation is a name in the
    kernel's table of abstract sockets: it is valid on this machine, immediately, without discovery.
    """

    def __init__(self, name: str, domain_id: int) -> None:
        """name: fully qualified node name. Raises ConfigError if a node of this name is running."""
        address = f"{_NAME}{domain_id}/{hashlib.sha256(name.encode()).hexdigest()[:32]}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._socket.bind(address)
        except OSError as error:
            self._socket.close()
            who = " ".join(map(str, _holders(address)))
            raise ConfigError(f"a node {name} runs in ROS domain {domain_id} on this machine already"
                              + (f": end its graph (kill {who}), or" if who else ": end its graph, or")
                              + " choose another ROS_DOMAIN_ID or namespace") from error

    def close(self) -> None:
        """Release the name."""
        self._socket.close()


def _holders(address: str) -> list[int]:
    """Return the ids of the processes that hold an abstract socket, as far as /proc shows them."""
    found = []
    with suppress(OSError):
        shown = address.replace("\0", "@")
        inodes = {line.split()[6] for line in Path("/proc/net/unix").read_text().splitlines() if line.endswith(shown)}
        links = {f"socket:[{inode}]" for inode in inodes}
        for folder in Path("/proc").glob("[0-9]*/fd"):
            with suppress(OSError):  # the process ended, or is another user's
                if any(_link(fd) in links for fd in folder.iterdir()):
                    found.append(int(folder.parent.name))
    return sorted(found)


def _link(fd: Path) -> str:
    """Return the target of a link under /proc, "" if it no longer exists: other threads may close files meanwhile."""
    try:
        return os.readlink(fd)
    except OSError:
        return ""
