"""Checks of this machine: Python, ROS 2 and its environment, simulators, disk."""

from __future__ import annotations

import importlib.util
import math
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.findings import Finding
from eqa_nodes.core.storage.text import shown_name
from sim_bridge.registry import check_simulator
from sim_bridge.scans import HABITAT_VARIABLE, SCENES_VARIABLE

FREE_GB = 2.0
SHM_MB = 256  # the graph's shared memory: one segment per process
_RAW_RATE = 640 * 480 * (3 + 2) * 15.0  # bytes per second of a camera of that size, colour and 16-bit depth, at 15 Hz
_HOURS = 0.25
_DOMAINS = range(233)  # RTPS: higher ids have no ports
_EPHEMERAL = 101  # higher ids use ports in Linux's ephemeral range
_RANGES = ("", "SUBNET", "LOCALHOST", "OFF", "SYSTEM_DEFAULT")


def machine_findings() -> list[Finding]:
    """Run all checks; an unexpected failure becomes an error finding of its own."""
    return [_guarded(check) for check in CHECKS]


def _guarded(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except (EqaError, OSError, ImportError) as error:
        return Finding(check.__name__.strip("_").replace("_", " "), "error", str(error),
                       "see docs/install.md" if isinstance(error, ImportError) else "")


def _python() -> Finding:
    return Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}, "
                                   f"{os.cpu_count()} cores")


def _ros() -> Finding:
    from eqa_nodes.ros.environment import ensure_ros

    ensure_ros()
    import rclpy

    source = os.environ.get("ROS_DISTRO", "wheels (kilted)")
    return Finding("ros", "ok", f"rclpy of {source}, {Path(rclpy.__file__).parent}")


def _rmw() -> Finding:
    wanted = os.environ.get("RMW_IMPLEMENTATION", "")
    import rclpy

    try:
        used = rclpy.get_rmw_implementation_identifier()
    except RuntimeError as error:
        return Finding("rmw", "error", f"RMW_IMPLEMENTATION is {wanted!r}: {str(error)[:200]}", "install that "
                       "middleware, or unset RMW_IMPLEMENTATION; robot and this machine must use the same one")
    return Finding("rmw", "ok", f"{used}" + ("" if wanted else ", as nothing else is asked for"))


def _interfaces() -> Finding:
    from eqa_nodes.ros.interfaces import interface
    from eqa_nodes.wire.graph import ACTIONS, SERVICES, TOPICS

    types = sorted({wire.type for table in (TOPICS, SERVICES, ACTIONS) for wire in table.values()})
    for name in types:
        interface(name)
    return Finding("interfaces", "ok", f"all {len(types)} types of the graph")


def _ros_domain() -> Finding:
    from eqa_nodes.ros.environment import free_domain

    said = os.environ.get("ROS_DOMAIN_ID", "0") or "0"
    if not said.isdecimal() or int(said) not in _DOMAINS:
        return Finding("ros domain", "error", f"ROS_DOMAIN_ID is {said!r}", f"set a number from 0 to {_EPHEMERAL}")
    with free_domain() as domain:
        found = f"ROS_DOMAIN_ID {said}; simulated graphs take a free one, now {domain}"
    if int(said) > _EPHEMERAL:
        return Finding("ros domain", "warning", found, f"above {_EPHEMERAL} its ports may be in use")
    return Finding("ros domain", "ok", found)


def _discovery() -> Finding:
    said = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "")
    peers = os.environ.get("ROS_STATIC_PEERS", "")
    found = f"range {said or 'SUBNET, as nothing is set'}" + (f", peers {peers}" if peers else "")
    if said.upper() not in _RANGES:
        return Finding("discovery", "error", found, f"ROS_AUTOMATIC_DISCOVERY_RANGE is one of {', '.join(_RANGES[1:])}")
    if said.upper() == "OFF":
        return Finding("discovery", "warning", found, "no other process is discovered: set it to LOCALHOST or SUBNET")
    if os.environ.get("ROS_LOCALHOST_ONLY", "0") == "1":
        return Finding("discovery", "warning", f"{found}, ROS_LOCALHOST_ONLY=1", "it is deprecated and wins over the "
                       "range: a robot beside this machine is not found; unset it")
    return Finding("discovery", "ok", found)


def _shared_memory() -> Finding:
    from eqa_nodes.ros.environment import left_in_shared_memory

    folder = Path("/dev/shm")
    if not folder.is_dir():
        return Finding("shared memory", "warning", "there is no /dev/shm",
                       "images go over UDP: slower; mount a tmpfs there")
    free, left = shutil.disk_usage(folder).free / 1e6, left_in_shared_memory(folder)
    held = sum(path.stat().st_blocks * 512 for path in left if path.exists()) / 1e6
    found = f"{free:.0f} MB free" + (f", {held:.0f} MB in {len(left)} files of dead processes" if left else "")
    if free < SHM_MB:
        return Finding("shared memory", "warning", found, "remove what dead processes left (eqa commands that start a "
                       "graph do): ls /dev/shm/fastdds*; in a container: --shm-size=1g")
    return Finding("shared memory", "ok", found)


def _house() -> Finding:
    missing = [name for name in ("embreex", "trimesh") if importlib.util.find_spec(name) is None]
    if missing:
        return Finding("house", "error", f"{' and '.join(missing)} not installed", "pip install 'eqa-nodes[house]'")
    return Finding("house", "ok", "renders on the CPU; scenes house:0 to house:1999")


def _scans() -> Finding:
    said = os.environ.get(SCENES_VARIABLE, "")
    if not said:
        return Finding("scans", "ok", f"no folder of scanned scenes ({SCENES_VARIABLE})")
    try:
        there = list(os.scandir(said)) if Path(said).is_dir() else []
    except OSError as error:
        return Finding("scans", "error", f"{SCENES_VARIABLE} is {said}: {error.strerror}", "make the folder readable")
    sets = sorted(shown_name(Path(one)) for one in there if os.path.isdir(one))
    if not sets:
        return Finding("scans", "error", f"{SCENES_VARIABLE} is {said}: " + (
            "it is empty" if Path(said).is_dir() else "no such folder"), "name the folder that holds hm3d, mp3d ...")
    return Finding("scans", "ok", f"{said}: {', '.join(sets)}")


def _habitat() -> Finding:
    if not (python := os.environ.get(HABITAT_VARIABLE)):
        return Finding("habitat", "ok", f"not asked for ({HABITAT_VARIABLE})")
    try:
        check_simulator("habitat:")
    except EqaError as error:
        return Finding("habitat", "error", str(error), "docs/habitat.md")
    return Finding("habitat", "ok", f"habitat_sim of {python}")


def disk(folder: Path, bytes_a_second: float = _RAW_RATE) -> Finding:
    """Judge the free space for recordings at a data rate, bytes/s; 0 = nothing to record was received."""
    free = shutil.disk_usage(folder).free
    hours = free / bytes_a_second / 3600 if bytes_a_second else math.inf
    rate = f"{hours:.1f} hours of {bytes_a_second / 1e6:.1f} MB/s, uncompressed" if bytes_a_second else (
        "nothing came whose recording could fill it")
    found = f"{free / 1e9:.1f} GB free here: {rate}"
    if free / 1e9 > FREE_GB and hours > _HOURS:
        return Finding("disk", "ok", found)
    return Finding("disk", "warning", found, "make room, or record to another disk (--out), compressed (--compress); "
                   "an episode in a simulator takes about 0.1 GB")


def _disk() -> Finding:
    return disk(Path.cwd())


def _temporary() -> Finding:
    with tempfile.NamedTemporaryFile():
        return Finding("temporary", "ok", tempfile.gettempdir())


CHECKS = (_python, _ros, _rmw, _interfaces, _ros_domain, _discovery, _shared_memory, _house, _scans, _habitat, _disk,
          _temporary)
