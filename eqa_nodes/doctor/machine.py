"""Checks of this machine (Python, ROS 2, simulators, disk), and of the model by a small real call."""

from __future__ import annotations

import importlib.util
import math
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from eqa_nodes.core.errors import BudgetSpent, ConfigError, EqaError, ModelError
from eqa_nodes.core.findings import Finding
from eqa_nodes.core.memory.keyframes import jpeg_of_pixels
from eqa_nodes.core.model import WRONG_FORM, Backend, Message
from eqa_nodes.core.storage.text import shown_name
from eqa_nodes.models import open_model
from eqa_nodes.models.cassette import recorded_calls
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.scripted import read_script
from eqa_nodes.perception import perceiver
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
    return Finding("rmw", "ok", f"{used}" + ("" if wanted else " (default)"))


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
    found = f"range {said or 'SUBNET (default)'}" + (f", peers {peers}" if peers else "")
    if said.upper() not in _RANGES:
        return Finding("discovery", "error", found, f"ROS_AUTOMATIC_DISCOVERY_RANGE is one of {', '.join(_RANGES[1:])}")
    if said.upper() == "OFF":
        return Finding("discovery", "warning", found, "no other process is discovered: set it to LOCALHOST or SUBNET")
    if os.environ.get("ROS_LOCALHOST_ONLY", "0") == "1":
        return Finding("discovery", "warning", f"{found}, ROS_LOCALHOST_ONLY=1", "it is deprecated and overrides the "
                       "range: robots in the network are not found; unset it")
    return Finding("discovery", "ok", found)


def _shared_memory() -> Finding:
    from eqa_nodes.ros.environment import left_in_shared_memory

    folder = Path("/dev/shm")
    if not folder.is_dir():
        return Finding("shared memory", "warning", "/dev/shm does not exist",
                       "images use UDP, which is slower: mount a tmpfs there")
    free, left = shutil.disk_usage(folder).free / 1e6, left_in_shared_memory(folder)
    held = sum(path.stat().st_blocks * 512 for path in left if path.exists()) / 1e6
    found = f"{free:.0f} MB free" + (f", {held:.0f} MB in {len(left)} files of dead processes" if left else "")
    if free < SHM_MB:
        return Finding("shared memory", "warning", found, "remove files of dead processes (eqa commands that start a "
                       "graph do): ls /dev/shm/fastdds*; in a container: --shm-size=1g")
    return Finding("shared memory", "ok", found)


def _house() -> Finding:
    missing = [name for name in ("embreex", "trimesh") if importlib.util.find_spec(name) is None]
    if missing:
        return Finding("house", "error", f"{' and '.join(missing)} not installed", "pip install 'eqa-nodes[house]'")
    return Finding("house", "ok", "renders on the CPU; scenes house:0 to house:1999")


def _perceiver() -> Finding:
    perceiver.weights_folder("")
    return Finding("perceiver", "ok", "its weights are complete; for simulated runs in the built-in houses, while a "
                   "robot uses a model or its own detector")


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
            "it is empty" if Path(said).is_dir() else "no such folder"), "name the folder that contains hm3d, mp3d ...")
    return Finding("scans", "ok", f"{said}: {', '.join(sets)}")


def _habitat() -> Finding:
    if not (python := os.environ.get(HABITAT_VARIABLE)):
        return Finding("habitat", "ok", f"not configured ({HABITAT_VARIABLE})")
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
        "no message was received that a recording would store")
    found = f"{free / 1e9:.1f} GB free here: {rate}"
    if free / 1e9 > FREE_GB and hours > _HOURS:
        return Finding("disk", "ok", found)
    return Finding("disk", "warning", found, "free space, or record to another disk (--out) or compressed "
                   "(--compress); an episode in a simulator takes about 0.1 GB")


def _disk() -> Finding:
    return disk(Path.cwd())


def _temporary() -> Finding:
    with tempfile.NamedTemporaryFile():
        return Finding("temporary", "ok", tempfile.gettempdir())


CHECKS = (_python, _ros, _rmw, _interfaces, _ros_domain, _discovery, _shared_memory, _house, _perceiver, _scans,
          _habitat, _disk, _temporary)


_CALLS, _TOKENS, _DEADLINE_S = 4, 16, 60.0
_SIZES = (1, 64)  # pixels; some servers refuse images of one
_ASK = "What colour is this picture? Reply with one word."


def judge_model(config: ModelConfig) -> list[Finding]:
    """Check the configured model, each backend in its own way. Findings never contain the key."""
    try:
        if config.cassette:
            return [_cassette(config)]
        if config.backend == "scripted":
            return [_script(config)]
        if config.backend == "openai" and not _endpoint(config):
            return [Finding("model", "warning", "no endpoint set", "for --answerer vlm: EQA_VLM_BASE_URL, "
                            "EQA_VLM_MODEL, EQA_VLM_API_KEY; the answerer label needs none")]
        return _asked(replace(config, budget_calls=_CALLS, budget_tokens=0, budget_money=0.0, max_retries=0,
                              deadline_s=_DEADLINE_S, timeout_s=_DEADLINE_S))
    except EqaError as error:
        return [Finding("model", "error", str(error), _remedy(error))]


def _endpoint(config: ModelConfig) -> str:
    return config.base_url or os.environ.get("EQA_VLM_BASE_URL") or os.environ.get("OPENAI_BASE_URL") or ""


def _asked(config: ModelConfig) -> list[Finding]:
    backend = open_model(config)
    try:
        return [_pictured(backend), _choosing(backend)]
    finally:
        backend.close()


def _pictured(backend: Backend) -> Finding:
    """Ask about an image of one pixel; if that is rejected, about a larger one."""
    for size in _SIZES:
        began = time.monotonic()
        try:
            reply = backend.generate([_picture(size)], max_tokens=_TOKENS)
        except ModelError as error:
            if size == _SIZES[-1] or not str(error).startswith("rejected"):
                raise
            continue
        found = (f"{backend.model} answers {reply.text.strip()[:40]!r} to a picture of {size}x{size} pixels in "
                 f"{time.monotonic() - began:.1f} s, {reply.tokens_in} tokens in, {reply.tokens_out} out")
        if not reply.text.strip():
            return Finding("model", "warning", found, f"no text within {_TOKENS} tokens: switch thinking off on the "
                           "server")
        return Finding("model", "ok", found)
    raise AssertionError("the last size raises or returns")


def _choosing(backend: Backend) -> Finding:
    """Check whether the model provides its own probabilities."""
    try:
        how = backend.choose([_picture(_SIZES[-1])], ("red", "blue")).how
    except ModelError as error:
        if not isinstance(error, BudgetSpent) and not str(error).startswith(WRONG_FORM):
            return Finding("choices", "error", str(error), _remedy(error))
        how = ""  # it failed repeatedly to state them
    if how in ("logits", "logprobs"):
        return Finding("choices", "ok", f"by {how}")
    return Finding("choices", "warning", "no logprobs: the model is asked to state its probabilities" if how else
                   "no logprobs, and the model does not state probabilities in the agreed form",
                   "confidences are better calibrated with logprobs, which a server such as vLLM returns")


def _picture(size: int) -> Message:
    pixels = np.zeros((size, size, 3), np.uint8)
    pixels[..., 0] = 255
    return Message("user", (_ASK, jpeg_of_pixels(pixels)))


def _cassette(config: ModelConfig) -> Finding:
    """Check a cassette without recording to it: it must be readable, and in other modes than replay also writable."""
    path, calls = Path(config.cassette), recorded_calls(Path(config.cassette))
    said = f"cassette {path}, {calls} calls recorded, mode {config.cassette_mode}"
    if config.cassette_mode == "replay":
        open_model(config).close()  # raises if it is absent or its model is ambiguous
        return Finding("model", "ok", said) if calls else Finding(
            "model", "error", said, "record one with --cassette-mode auto")
    if not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
        raise ConfigError(f"{said}: it cannot be written to")
    return Finding("model", "ok", f"{said}; the model behind it is checked without --cassette")


def _script(config: ModelConfig) -> Finding:
    replies = read_script(Path(config.model)) if config.model else []
    return Finding("model", "ok" if replies else "warning", f"a script of {len(replies)} replies",
                   "" if replies else "name its file: --model FILE")


def _remedy(error: EqaError) -> str:
    if isinstance(error, ModelError):
        return "start the server, or correct EQA_VLM_BASE_URL, EQA_VLM_MODEL and EQA_VLM_API_KEY (docs/models.md)"
    return "see docs/models.md"
