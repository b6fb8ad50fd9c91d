"""`eqa doctor`: what works on this machine, and the remedy where something does not."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from rich.console import Console

from eqa_nodes.core.errors import EqaError

FREE_GB = 2.0
SHM_MB = 256  # the graph's shared memory: one segment a process


class Check(NamedTuple):
    """One line: state is ok | warning | error; remedy says what to do."""

    name: str
    state: str
    found: str
    remedy: str = ""


def doctor(arguments: argparse.Namespace) -> int:
    """Check and print; 1 when something that a run needs is missing."""
    checks = [_guarded(check) for check in CHECKS]
    if arguments.json:
        print(json.dumps([check._asdict() for check in checks], indent=2))
    else:
        _print(checks)
    return 1 if any(check.state == "error" for check in checks) else 0


def _print(checks: list[Check]) -> None:
    console = Console(highlight=False)
    colours = {"ok": "green", "warning": "yellow", "error": "red"}
    for check in checks:
        console.print(f"[{colours[check.state]}]{check.state:8}[/] {check.name:14} {check.found}", soft_wrap=True)
        if check.remedy:
            console.print(f"{'':24}{check.remedy}", style="dim", soft_wrap=True)


def _guarded(check: Callable[[], Check]) -> Check:
    try:
        return check()
    except (EqaError, OSError, ImportError) as error:
        return Check(check.__name__.strip("_"), "error", str(error))


def _python() -> Check:
    return Check("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}, "
                                 f"{os.cpu_count()} cores")


def _ros() -> Check:
    from eqa_nodes.ros.environment import ensure_ros

    ensure_ros()
    import rclpy

    source = os.environ.get("ROS_DISTRO", "wheels (kilted)")
    return Check("ros", "ok", f"rclpy of {source}, {Path(rclpy.__file__).parent}")


def _interfaces() -> Check:
    from eqa_nodes.graph import ACTIONS, SERVICES, TOPICS
    from eqa_nodes.ros.interfaces import interface

    types = sorted({wire.type for table in (TOPICS, SERVICES, ACTIONS) for wire in table.values()})
    for name in types:
        interface(name)
    return Check("interfaces", "ok", f"all {len(types)} types of the graph")


def _domain() -> Check:
    from eqa_nodes.ros.environment import free_domain

    with free_domain() as domain:
        return Check("ros domain", "ok", f"a free one is {domain}")


def _shared_memory() -> Check:
    folder = Path("/dev/shm")
    if not folder.is_dir():
        return Check("shared memory", "warning", "there is no /dev/shm",
                     "images go over UDP: slower; mount a tmpfs there")
    free = shutil.disk_usage(folder).free / 1e6
    state = "ok" if free > SHM_MB else "warning"
    return Check("shared memory", state, f"{free:.0f} MB free", "" if state == "ok" else
                 "remove what dead processes left: ls /dev/shm/fastdds*; in a container: --shm-size=1g")


def _house() -> Check:
    missing = [name for name in ("embreex", "trimesh") if importlib.util.find_spec(name) is None]
    if missing:
        return Check("house", "error", f"{' and '.join(missing)} not installed", "pip install 'eqa-nodes[house]'")
    return Check("house", "ok", "renders on the CPU; scenes house:0 to house:1999")


def _disk() -> Check:
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    state = "ok" if free > FREE_GB else "warning"
    return Check("disk", state, f"{free:.1f} GB free here",
                 "" if state == "ok" else "bags need about 0.1 GB an episode")


def _temporary() -> Check:
    with tempfile.NamedTemporaryFile():
        return Check("temporary", "ok", tempfile.gettempdir())


def _model() -> Check:
    url = os.environ.get("EQA_VLM_BASE_URL") or os.environ.get("OPENAI_BASE_URL")
    if not url:
        return Check("model", "warning", "no endpoint set",
                     "for --answerer vlm: EQA_VLM_BASE_URL, EQA_VLM_MODEL, EQA_VLM_API_KEY; the answerer label needs "
                     "none")
    if importlib.util.find_spec("openai") is None:
        return Check("model", "error", "openai is not installed", "pip install 'eqa-nodes[vlm]'")
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with socket.create_connection((parts.hostname or "", port), 3.0):
            return Check("model", "ok", f"{url} accepts connections")
    except OSError as error:
        return Check("model", "error", f"{url}: {error}", "start the server, or correct EQA_VLM_BASE_URL")


CHECKS = (_python, _ros, _interfaces, _domain, _shared_memory, _house, _disk, _temporary, _model)
