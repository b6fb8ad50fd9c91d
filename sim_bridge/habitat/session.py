"""The client's side of the worker process: its device and environment, its start, calls with deadlines."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eqa_nodes.core.errors import ConfigError, SimulatorError
from sim_bridge.habitat import wire
from sim_bridge.scans import HABITAT_VARIABLE

PYTHON, GPU, WORKER = HABITAT_VARIABLE, "EQA_HABITAT_GPU", "EQA_WORKER"
CPU = -1  # habitat_sim's number for "any EGL device": Mesa's software renderer if there is no other
_LOOK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('habitat_sim') is None)"
_LOOK_DEADLINE_S = 60.0  # to start a Python interpreter from a cold disk
_MESA = Path("/usr/share/glvnd/egl_vendor.d/50_mesa.json")
# Another Python must see neither our packages nor our libraries (the ROS wheels prepend theirs), nor API keys.
_OURS = ("PYTHON", "LD_", "_ROS", "ROS_", "AMENT_", "COLCON_", "RMW_", "VIRTUAL_ENV", "__PYVENV", "EQA_VLM", "OPENAI_")


class Device(NamedTuple):
    """gpu: index of a CUDA device, or CPU. chosen: whether the user selected it, which forbids a fallback."""

    gpu: int
    chosen: bool


def device_for(worker: int | None = None) -> Device:
    """Return the device on which worker number `worker` (None: EQA_WORKER) renders, by EQA_HABITAT_GPU.

    "auto": the available GPUs in turn, else the CPU; "cpu"; or one or several indices ("0,1"), in turn.
    Raises ConfigError for any other value.
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
    """Return the indices of the NVIDIA GPUs that this process may use. habitat_sim cannot report them: an invalid index
    ends its process."""
    if not Path("/proc/driver/nvidia/version").exists():
        return []
    there = sorted(int(path.name[6:]) for path in Path("/dev").glob("nvidia*") if path.name[6:].isdecimal())
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return there
    named = [int(n) for n in visible.split(",") if n.strip().isdecimal()]
    return [n for n in named if n in there]


def environment(gpu: int, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a worker: ours without the variables of our own Python.

    On the CPU, renderers share the processors with the other workers of a run, if there are any.
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
    """Return the Python interpreter that has habitat_sim: EQA_HABITAT_PYTHON, else our own. Raises SimulatorError."""
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
    """Raise SimulatorError unless Habitat's Python starts and has habitat_sim, which is not imported."""
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
    """Return the remedy for a failure, by the messages of the worker and its log; "" if none is known."""
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


SCRIPT = Path(__file__).with_name("worker.py")
FLAT = Path(__file__).with_name("flat")  # working directory whose settings turn image-based lighting off
HELLO_S, OPEN_S, CALL_S = 180.0, 600.0, 60.0  # deadlines; the first import and large scenes on slow disks take long
_LOG_BYTES = 1 << 24
_TAIL = 8  # lines of the worker's log in an error message
_NOISE = re.compile(r"\s|Using |Renderer: |OpenGL version: |.*(named `none` not found|format of none|SSD Load Failure)")

Reply = dict[str, Any]
log = logging.getLogger(__name__)


class WorkerLost(SimulatorError):
    """The worker died, hung, or sent an invalid reply; it has been ended."""


class WorkerProcess:
    """One worker process. It ends with this object, and with the process that owns this object, even after a crash."""

    def __init__(self, gpu: int = CPU, flat: bool = True, command: Sequence[str] = ()) -> None:
        """command: program to run instead of the worker (tests, measurements). Raises SimulatorError, WorkerLost."""
        self._id, self._mark = 0, 0
        command = command or (python_with_habitat(), str(SCRIPT))
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - unnamed file that lives as long as the worker
        self._images = wire.Images(os.memfd_create("eqa_habitat"))
        ours, theirs = socket.socketpair()
        life, self._life = os.pipe()
        handed = (theirs.fileno(), life, self._images.descriptor)
        self._socket = wire.WorkerSocket(ours)
        try:
            self._process = subprocess.Popen(
                [*command, *map(str, handed)], pass_fds=handed, env=environment(gpu), cwd=FLAT if flat else "/",
                stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT)
        except OSError as error:
            self._release()
            raise SimulatorError(f"cannot start the Habitat worker with {command[0]}: {error}") from error
        finally:
            theirs.close()
            os.close(life)
        self.versions = self._greet(command[0])

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    @property
    def renderer(self) -> str:
        """Return OpenGL's name of the renderer; "" before a scene is open."""
        found = re.search(r"^Renderer: (.*)$", self._said(0), re.MULTILINE)
        return found[1] if found else ""

    def call(self, op: str, seconds: float, **fields: Any) -> Reply:
        """Send a request and return the reply. Raises WorkerLost, or SimulatorError if the worker refuses it."""
        self._id += 1
        self._mark = self._said_bytes()
        try:
            self._socket.send({"id": self._id, "op": op, **fields}, seconds)
            reply = self._socket.receive(seconds)
        except wire.ConnectionClosed:
            raise self._lost(f"ended with {self._end()} at {op!r}") from None
        except wire.WireTimeout:
            raise self._lost(f"did not answer {op!r} in {seconds:g} s and was killed") from None
        except ValueError as error:
            raise self._lost(f"answered {op!r} with what cannot be read ({error})") from error
        if reply.get("id") != self._id or not isinstance(reply.get("ok", {}), dict):
            raise self._lost(f"answered {op!r} with {reply!r:.200}")
        if "error" in reply:
            failed = f"the Habitat worker cannot {op}: {reply['error']}: {reply.get('message', '')}"
            raise SimulatorError(_with_log(failed, self._said(self._mark)))
        return reply.get("ok", {})

    def views(self, width: int, height: int) -> wire.SharedImages:
        """Return views of the images of the last `look`; the next one overwrites them."""
        return self._images.views(width, height)

    def close(self) -> None:
        """Kill the worker, which has nothing to clean up; a second call does nothing."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._release()

    def _release(self) -> None:
        if self._life >= 0:
            self._socket.close()
            os.close(self._life)
            self._images.close()
            self._log.close()
            self._life = -1

    def _greet(self, python: str) -> Mapping[str, Any]:
        try:
            reply = self.call("hello", HELLO_S, protocol=wire.PROTOCOL)
        except SimulatorError as error:
            self.close()
            raise SimulatorError(f"{python} is not a worker for Habitat: {error}") from None
        if reply.get("protocol") != wire.PROTOCOL:
            self.close()
            raise SimulatorError(f"the Habitat worker speaks protocol {reply.get('protocol')!r}, this program "
                                 f"{wire.PROTOCOL}: both files must be of one version of eqa_nodes; reinstall it")
        return reply

    def _end(self) -> str:
        try:
            code = self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            return "its socket closed"
        return signal.Signals(-code).name if code < 0 else f"code {code}"

    def _lost(self, what: str) -> WorkerLost:
        said = self._said(self._mark)
        self.close()
        return WorkerLost(_with_log(f"the Habitat worker {what}", said))

    def _said_bytes(self) -> int:
        return os.fstat(self._log.fileno()).st_size if not self._log.closed else 0

    def _said(self, start: int) -> str:
        """Return the worker's log from a byte offset on."""
        return os.pread(self._log.fileno(), _LOG_BYTES, start).decode(errors="replace") if self._said_bytes() else ""


def _with_log(what: str, said: str) -> str:
    """Return the message with a remedy, if one is known, and the last lines of the worker's log."""
    lines = [line for line in said.splitlines() if line and not _NOISE.match(line)]
    hint, tail = remedy("\n".join([what, *lines])), "\n".join(lines[-_TAIL:])
    return what + (f"; {hint}" if hint else "") + (f"; its log ends with:\n{tail}" if tail else "")


class WorkerSession:
    """A worker for a sequence of scenes. Losing it ends the episode; the next `open` starts another worker.

    start: function (GPU index, flat colours) that starts a worker.
    """

    def __init__(self, start: Callable[[int, bool], WorkerProcess]) -> None:
        self._start = start
        self._worker: WorkerProcess | None = None
        self._kind: tuple[int, bool] | None = None  # GPU index of the worker, and whether it shows flat colours

    def open(self, flat: bool, **request: Any) -> Reply:
        """Open a scene for a new episode, with a new worker if the last one is gone. Raises SimulatorError."""
        kind = (request["scene"]["gpu"], flat)
        if kind != self._kind:
            self.close()
        try:
            try:
                return self._running(kind).call("open", OPEN_S, **request)
            except WorkerLost as lost:
                log.warning("a new Habitat worker opens the scene: %s", lost)
                self.close()
                return self._running(kind).call("open", OPEN_S, **request)
        except SimulatorError:
            self.close()
            raise

    def ask(self, op: str, **fields: Any) -> Reply:
        """Send a request about the open scene. Raises SimulatorError, or WorkerLost if the episode cannot continue."""
        if self._worker is None:
            raise SimulatorError("the Habitat worker is gone: call reset for a new one")
        try:
            return self._worker.call(op, CALL_S, **fields)
        except WorkerLost:
            self.close()
            raise

    def views(self, width: int, height: int) -> wire.SharedImages:
        """Return views of the images of the last `look`."""
        assert self._worker is not None
        return self._worker.views(width, height)

    def close(self) -> None:
        """End the worker; a second call does nothing."""
        worker, self._worker, self._kind = self._worker, None, None
        if worker is not None:
            worker.close()

    def _running(self, kind: tuple[int, bool]) -> WorkerProcess:
        if self._worker is None:
            self._worker, self._kind = self._start(*kind), kind
        return self._worker
