"""Selects the device that renders for a Habitat worker, and the environment of its process."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.errors import ConfigError, SimulatorError
from sim_bridge.scans import HABITAT_VARIABLE

PYTHON, GPU, WORKER = HABITAT_VARIABLE, "EQA_HABITAT_GPU", "EQA_WORKER"
CPU = -1  # habitat_sim's number for "any EGL device": Mesa's software renderer where there is no other
_LOOK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('habitat_sim') is None)"
_LOOK_DEADLINE_S = 60.0  # to start a Python, on a disk that is cold
_MESA = Path("/usr/share/glvnd/egl_vendor.d/50_mesa.json")
# Another Python must see neither our packages nor our libraries (the ROS wheels put theirs in front), nor keys.
_OURS = ("PYTHON", "LD_", "_ROS", "ROS_", "AMENT_", "COLCON_", "RMW_", "VIRTUAL_ENV", "__PYVENV", "EQA_VLM", "OPENAI_")


class Device(NamedTuple):
    """gpu: the number of a CUDA device, CPU for none. chosen: a person has said so, so nothing else will do."""

    gpu: int
    chosen: bool


def device_for(worker: int | None = None) -> Device:
    """Return what worker number `worker` (None: EQA_WORKER) of several draws on, by EQA_HABITAT_GPU.

    "auto": the GPUs that are there in turn, else the CPU; "cpu"; or one or several numbers ("0,1"), in turn.
    Raises ConfigError for anything else.
    """
    text = os.environ.get(GPU, "auto").strip().lower() or "auto"
    turn = worker if worker is not None else int(os.environ.get(WORKER, "0"))
    if text == "auto":
        there = gpus()
        return Device(there[turn % len(there)] if there else CPU, False)
    if text == "cpu":
        return Device(CPU, True)
    numbers = text.split(",")
    if not all(n.strip().isdecimal() for n in numbers):
        raise ConfigError(f"{GPU} is {text!r}: expected auto, cpu, or numbers of GPUs such as 0 or 0,1")
    return Device(int(numbers[turn % len(numbers)]), True)


def gpus() -> list[int]:
    """Return the numbers of NVIDIA's GPUs that this process may use. habitat_sim itself must not be asked: a number
    that is not there ends its process."""
    if not Path("/proc/driver/nvidia/version").exists():
        return []
    there = sorted(int(path.name[6:]) for path in Path("/dev").glob("nvidia*") if path.name[6:].isdecimal())
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return there
    named = [int(n) for n in visible.split(",") if n.strip().isdecimal()]
    return [n for n in named if n in there]


def environment(gpu: int, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a worker: ours without what belongs to our own Python.

    Drawing on the CPU shares the processors with the other workers of a run, where there are any.
    """
    clean = {name: value for name, value in base.items() if not name.startswith(_OURS)}
    clean.setdefault("HABITAT_SIM_LOG", "error")
    if gpu == CPU:
        clean["LIBGL_ALWAYS_SOFTWARE"] = "1"
        if _MESA.exists():
            clean.setdefault("__EGL_VENDOR_LIBRARY_FILENAMES", str(_MESA))
        if WORKER in base:
            clean.setdefault("LP_NUM_THREADS", "1")
    return clean


def python_with_habitat() -> str:
    """Return the Python that has habitat_sim: EQA_HABITAT_PYTHON, else our own. Raises SimulatorError."""
    named = os.environ.get(PYTHON, "")
    if named:
        found = shutil.which(os.path.expanduser(named))
        if found is None:
            raise SimulatorError(f"{PYTHON} names {named!r}, which is not a program: give the path of a Python that "
                                 "has habitat_sim (docs/habitat.md)")
        return found
    if importlib.util.find_spec("habitat_sim") is None:
        raise SimulatorError("no Python with habitat_sim is configured: install it in an environment of its own "
                             f"(docs/habitat.md) and name that Python with --habitat-python or {PYTHON}")
    return sys.executable


def check_python() -> None:
    """Raise SimulatorError unless Habitat's Python starts and has habitat_sim; nothing of it is loaded."""
    python = python_with_habitat()
    how = (f"name one that has it: --habitat-python or {PYTHON} (docs/habitat.md), or open scans without Habitat: "
           "--simulator mesh")
    try:
        code = subprocess.run([python, "-c", _LOOK], stdin=subprocess.DEVNULL, capture_output=True,
                              env=environment(CPU), timeout=_LOOK_DEADLINE_S, check=False).returncode
    except subprocess.TimeoutExpired as error:
        raise SimulatorError(f"the Python {python} gave no answer within {_LOOK_DEADLINE_S:g} s: {how}") from error
    except (OSError, ValueError) as error:
        raise SimulatorError(f"the Python {python} cannot be started ({error}): {how}") from error
    if code:
        raise SimulatorError(f"the Python {python} has no habitat_sim: {how}")


def remedy(said: str) -> str:
    """Return what to do about a failure, by what the worker and its log say of it; "" where that is not known."""
    known: Sequence[tuple[tuple[str, ...], str]] = (
        (("No module named 'habitat_sim'",), f"that Python has no habitat_sim: name one that has with --habitat-python "
                                             f"or {PYTHON} (docs/habitat.md)"),
        (("libEGL", "libOpenGL", "libGL", "EGL display", "EGL device", "windowless context", "eglInitialize"),
         f"it cannot draw: install Mesa's EGL (Debian: libegl1 libopengl0 libgl1-mesa-dri), or set {GPU}=cpu where the "
         "GPU's driver has none"),
        (("SIGSEGV at 'open'",), "habitat_sim 0.3.3 ends like this where nothing in a scene is level: does the scene's "
                                 "up axis point up?"),
    )
    return next((text for signs, text in known if any(sign.lower() in said.lower() for sign in signs)), "")
