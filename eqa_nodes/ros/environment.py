"""Prepares the environment of a process of the graph: variables, its own ROS domain, clean shared memory.

Everything here runs before, or without, an import of rclpy.
"""

from __future__ import annotations

import errno
import fcntl
import gc
import importlib.util
import os
import re
import socket
import sys
import sysconfig
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from eqa_nodes.core.errors import EqaError, MissingExtra

DOMAINS = range(101, 0, -1)  # ports of higher domains lie in the ephemeral range; users set low ones by hand
RESERVATION = "\0eqa_nodes/domain/"
PROFILE = Path(__file__).with_name("fastdds.xml")
SMALL_PROFILE = Path(__file__).with_name("fastdds_small.xml")
NETWORK_PROFILE = Path(__file__).with_name("fastdds_network.xml")
LOCK_FILE = re.compile(r"(fastdds|fastrtps)_([0-9a-f]{16}|port\d{1,5})_(el|sl)")
# Large images need shared memory and an allocator that keeps blocks. Domain and discovery range stay the user's choice.
IMAGES = ("FASTDDS_DEFAULT_PROFILES_FILE", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_",
          "MALLOC_ARENA_MAX")
WHEELS = ("LD_LIBRARY_PATH", "_ROS_WHEELS_BOOTSTRAP_COMPLETE")
READY, CLOSED = "eqa: ready", "eqa: closed"  # printed by a process of nodes when all are ready, and closed
STOP_DEADLINE_S = 5.0  # deadline for all processes of a graph to end; END_S for one that writes a bag
POLL_S = 0.02
END_S = 20.0  # deadline for a process of nodes to end: a recorder may have to write a bag to a slow disk
IMAGE_BYTES = 32 << 20  # larger than any image message: freed blocks are kept for the next one


def ros_environment(domain_id: int, log_dir: Path) -> dict[str, str]:
    """Return the variables that a process of the graph needs in addition to os.environ.

    A Fast DDS profile set by the user is kept.
    """
    profile = _users_profile() or str(PROFILE)
    return {
        "ROS_DOMAIN_ID": str(domain_id),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": _discovery_range(profile),
        "FASTDDS_DEFAULT_PROFILES_FILE": profile,
        "ROS_LOG_DIR": str(log_dir),
        "RCUTILS_COLORIZED_OUTPUT": "0",
        "RCUTILS_LOGGING_BUFFERED_STREAM": "0",
        "PYTHONUNBUFFERED": "1",
        # Without these the allocator returns each image to the system, and the next one causes page faults again.
        "MALLOC_MMAP_THRESHOLD_": str(IMAGE_BYTES),
        "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
        "MALLOC_TOP_PAD_": str(IMAGE_BYTES),
        # Blocks are kept per arena, so many arenas would keep the peak memory of each thread.
        "MALLOC_ARENA_MAX": "2",
        **_wheels_environment(),
    }


def _discovery_range(profile: str) -> str:
    """Return the range of discovery that keeps a graph on this machine. profile: its Fast DDS profile.

    Our profile does that itself, and quicker: for LOCALHOST rmw_fastrtps adds a second shared memory, a second UDP, and
    sends what participants tell each other over UDP only, twice, which overflows the sockets of ten processes.
    """
    ours = profile == str(PROFILE) and not os.environ.get("ROS_STATIC_PEERS")
    fast_dds = os.environ.get("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp").startswith("rmw_fastrtps")
    return "SYSTEM_DEFAULT" if ours and fast_dds else "LOCALHOST"


def _users_profile() -> str:
    """Return the Fast DDS profile that the user has set, "" = none: `use_small_segment` sets one too."""
    profile = os.environ.get("FASTDDS_DEFAULT_PROFILES_FILE", "")
    return "" if profile == str(SMALL_PROFILE) else profile


def use_small_segment() -> None:
    """Use the small shared-memory segment for this process, which publishes no images. Call it before ROS starts.

    A Fast DDS profile set by the user is kept.
    """
    if os.environ.get("FASTDDS_DEFAULT_PROFILES_FILE") == str(PROFILE):
        os.environ["FASTDDS_DEFAULT_PROFILES_FILE"] = str(SMALL_PROFILE)


def _wheels_environment() -> dict[str, str]:
    """Return the library paths of the ros-* wheels; nothing if ROS 2 is a distribution.

    Without them the wheels start Python a second time, with the library folders in a varying order.
    """
    if importlib.util.find_spec("ros_wheels_bootstrapper") is None:
        return {}
    site = Path(sysconfig.get_path("platlib"))
    ours = [str(Path(sys.prefix, "lib")), *sorted(str(path) for path in site.glob("ros_*.libs"))]
    theirs = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if path and path not in ours]
    others = [path for path in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if path and path != sys.prefix]
    return {
        "LD_LIBRARY_PATH": os.pathsep.join(ours + theirs),
        "AMENT_PREFIX_PATH": os.pathsep.join([sys.prefix, *others]),
        "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1",
    }


def launch_variables() -> dict[str, str]:
    """Return the variables of launched nodes if ROS 2 comes from Python wheels; empty for a sourced distribution.

    Other machines can discover the nodes, unless ROS_AUTOMATIC_DISCOVERY_RANGE restricts ROS to this one.
    """
    values = ros_environment(0, Path())
    if os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE") not in ("LOCALHOST", "OFF"):
        values["FASTDDS_DEFAULT_PROFILES_FILE"] = _users_profile() or str(NETWORK_PROFILE)
    return {name: values[name] for name in IMAGES + WHEELS} if values.keys() >= set(WHEELS) else {}


def ensure_ros() -> None:
    """Raise MissingExtra if rclpy is missing, EqaError if the project's or the standard messages are."""
    if importlib.util.find_spec("rclpy") is None:
        raise MissingExtra("rclpy", "ros")
    for package in ("eqa_interfaces", "tf2_msgs", "nav2_msgs", "vision_msgs"):
        if importlib.util.find_spec(package) is None:
            raise EqaError(f"the messages of {package} are not installed: run `make setup` in the checkout, "
                           "or see docs/install.md")


@contextmanager
def free_domain() -> Iterator[int]:
    """Reserve a ROS_DOMAIN_ID that is unused on this machine; it is released after the block, or at exit.

    The reservation is a name in the kernel's table of abstract sockets: it needs no file, is valid for all users, and
    ends with the process. Shared memory of dead processes is removed first: 70 MB for each that was killed.
    Raises EqaError if all domains are in use.
    """
    clean_shared_memory()
    with ExitStack() as held:
        for collect in (lambda: None, gc.collect):  # ended contexts stay visible until they are collected
            collect()
            if domain_id := _reserved(held):
                yield domain_id
                return
    raise EqaError(f"all ROS domains from {DOMAINS[-1]} to {DOMAINS[0]} are in use on this machine: end some graphs")


def _reserved(held: ExitStack) -> int:
    """Reserve and return an unused domain; 0 if there is none."""
    for domain_id in DOMAINS:
        reservation = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if _bound(reservation, f"{RESERVATION}{domain_id}") and not _spoken_in(domain_id):
            held.enter_context(closing(reservation))
            return domain_id
        reservation.close()
    return 0


def _spoken_in(domain_id: int) -> bool:
    """Return whether a ROS process on this machine listens on the domain's discovery ports.

    This includes ended contexts of this process: their nodes stay visible until Python collects them.
    """
    base = 7400 + 250 * domain_id  # DDSI-RTPS 2.5, 9.6.2.3: multicast discovery; unicast of each process from +10 on
    for port in (base, *range(base + 10, base + 250, 2)):
        with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
            if not _bound(probe, ("", port)):
                return True
    return False


def _bound(sock: socket.socket, address: object) -> bool:
    try:
        sock.bind(address)  # type: ignore[arg-type]
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    return True


def clean_shared_memory(folder: Path = Path("/dev/shm"), older_than_s: float = 10.0,
                        held: Collection[str] | None = None) -> list[str]:
    """Remove the shared-memory files that dead Fast DDS processes left, and return their names.

    A living process holds a lock on its files; files younger than `older_than_s` may not be locked yet and stay.
    held: names of lock files; only their files are removed, None = all.
    """
    left = left_in_shared_memory(folder, older_than_s, held)
    for victim in left:
        victim.unlink(missing_ok=True)
    return [victim.name for victim in left]


def held_in_shared_memory(pid: int, folder: Path = Path("/dev/shm")) -> set[str]:
    """Return the names of the lock files of segments that a process holds; none on a system without /proc.

    Ports are left out: they are small, and other processes, which may live longer, keep using the file they opened.
    """
    found = set()
    with suppress(OSError):  # it has ended
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            path = Path(os.readlink(descriptor))
            if path.parent == folder and LOCK_FILE.fullmatch(path.name) and "port" not in path.name:
                found.add(path.name)
    return found


def left_in_shared_memory(folder: Path = Path("/dev/shm"), older_than_s: float = 10.0,
                          held: Collection[str] | None = None) -> list[Path]:
    """Return the shared-memory files that dead Fast DDS processes left. held: names of lock files to check."""
    left = []
    for lock_file in sorted(folder.iterdir()) if folder.is_dir() else []:
        asked = LOCK_FILE.fullmatch(lock_file.name) and (held is None or lock_file.name in held)
        if asked and _abandoned(lock_file, older_than_s):
            name = lock_file.name[:-3]
            left += [path for path in (folder / name, folder / f"sem.{name}_mutex", lock_file) if path.exists()]
    return left


def _abandoned(lock_file: Path, older_than_s: float) -> bool:
    try:
        with lock_file.open("rb") as held:
            file = os.fstat(held.fileno())
            if time.time() - file.st_ctime < older_than_s or os.geteuid() not in (0, file.st_uid):
                return False
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, FileNotFoundError, PermissionError):  # in use, already removed, or another user's
        return False
    return True
