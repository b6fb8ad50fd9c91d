"""The run that a process belongs to: nodes of two runs must not be confused, nor share a name.

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
_PDEATHSIG = 1  # of prctl(2)


def run_variables() -> dict[str, str]:
    """Return the variables that tell processes started by this one that they belong to one run."""
    return {RUN: uuid4().hex[:12], LAUNCH: str(os.getpid())}


def signature(row: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return what a node of this process publishes on `started`: its row of the graph, and its run if any."""
    run = environment.get(RUN, "")
    return f"{row}@{run}" if run else row


def announcement(row: str, born_ns: int, environment: Mapping[str, str] = os.environ) -> str:
    """Return a signature with the time since this machine was started at which the node was: no setting of the clock
    makes a successor look older."""
    return f"{signature(row, environment)}#{boot_id()}:{born_ns}"


def signature_in(said: str) -> str:
    """Return the signature in an announcement."""
    return said.partition("#")[0]


def row_of(said: str) -> str:
    """Return the row in a signature or an announcement."""
    return signature_in(said).partition("@")[0]


def born_in(said: str) -> int | None:
    """Return the start in an announcement of this machine, ns since the machine was started; else None."""
    boot, _, born = said.partition("#")[2].partition(":")
    return int(born) if boot == boot_id() and born.isdecimal() else None


@cache
def boot_id() -> str:
    """Return what tells this start of this machine from all others."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")[:16]
    except OSError:
        return "unknown"


def end_with_launch() -> None:
    """Let this process be sent SIGTERM when the launch that started it dies, which else would leave it behind.

    A parent other than launch, such as a debugger between them, is left alone.
    """
    launch = os.environ.get(LAUNCH, "")
    if not launch.isdecimal():
        return
    with suppress(OSError, AttributeError):  # no Linux
        if os.getppid() == int(launch):
            ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGTERM)
    if not Path(f"/proc/{launch}").exists() and Path("/proc/self").exists():  # it died before that
        os.kill(os.getpid(), signal.SIGTERM)


class HeldName:
    """The name of a node in a ROS domain, ours until it is closed or the process ends.

    Two nodes of one name answer the same calls and write the same files. The reservation is a name in the kernel's
    table of abstract sockets: it holds on this machine, at once, and needs no discovery.
    """

    def __init__(self, name: str, domain_id: int) -> None:
        """name: fully qualified. Raises ConfigError where a node of this name runs."""
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
    """Return the processes that hold an abstract socket, as far as the system tells."""
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
    """Return where a link under /proc leads, "" for one that is gone: other threads open and close files meanwhile."""
    try:
        return os.readlink(fd)
    except OSError:
        return ""
