"""The worker's process as the simulator uses it: started, called with deadlines, and restarted when it dies."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from eqa_nodes.core.errors import SimulatorError
from sim_bridge.habitat import wire
from sim_bridge.habitat.devices import CPU, environment, python_with_habitat, remedy

SCRIPT = Path(__file__).with_name("worker.py")
FLAT = Path(__file__).with_name("flat")  # as working directory: its settings turn image-based lighting off
HELLO_S, OPEN_S, CALL_S = 180.0, 600.0, 60.0  # deadlines; the first import and large scenes on slow disks take long
RETRIES = 3  # workers that may be lost in one episode
SAME = 1e-6  # metres: a repeated episode ends where it was, or it is reported
_LOG_BYTES = 1 << 24
_TAIL = 8  # lines of the worker's log that an error shows
_NOISE = re.compile(r"\s|Using |Renderer: |OpenGL version: |.*(named `none` not found|format of none|SSD Load Failure)")

Reply = dict[str, Any]
log = logging.getLogger(__name__)


class WorkerLost(SimulatorError):
    """The worker died, hangs, or talks nonsense; it is gone now."""


class HabitatWorker(Protocol):
    """One worker."""

    def call(self, op: str, seconds: float, **fields: Any) -> Reply:
        """Ask. Raises WorkerLost, or SimulatorError for what the worker refuses."""

    def views(self, width: int, height: int) -> wire.SharedImages:
        """Return the images as the last `look` left them; the next one changes them."""

    def close(self) -> None:
        """End it; a second call does nothing."""


class WorkerProcess:
    """One worker process. It ends with this object, and with the process that has this object, however that ends."""

    def __init__(self, gpu: int = CPU, flat: bool = True, command: Sequence[str] = ()) -> None:
        """command: another program than the worker (tests, measurements). Raises SimulatorError, WorkerLost."""
        self._id, self._mark = 0, 0
        command = command or (python_with_habitat(), str(SCRIPT))
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - has no name, and lives as long as the worker
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
        """Return the number of the process."""
        return self._process.pid

    @property
    def renderer(self) -> str:
        """Return what draws, as OpenGL names it; "" before a scene is open."""
        found = re.search(r"^Renderer: (.*)$", self._said(0), re.MULTILINE)
        return found[1] if found else ""

    def call(self, op: str, seconds: float, **fields: Any) -> Reply:
        """Ask. Raises WorkerLost, or SimulatorError for what the worker refuses."""
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
        """Return the images as the last `look` left them; the next one changes them."""
        return self._images.views(width, height)

    def close(self) -> None:
        """End the worker; a second call does nothing. It has nothing to put in order, so it is not asked."""
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
        """Return the worker's log from a byte on."""
        return os.pread(self._log.fileno(), _LOG_BYTES, start).decode(errors="replace") if self._said_bytes() else ""


def _with_log(what: str, said: str) -> str:
    """Return the message with a remedy, where one is known, and the last lines of the worker's log."""
    lines = [line for line in said.splitlines() if line and not _NOISE.match(line)]
    hint, tail = remedy("\n".join([what, *lines])), "\n".join(lines[-_TAIL:])
    return what + (f"; {hint}" if hint else "") + (f"; its log ends with:\n{tail}" if tail else "")


class _Done(NamedTuple):
    """A request that moved the robot, and what came of it."""

    op: str
    fields: dict[str, Any]
    reply: Reply


class WorkerSession:
    """A worker that outlives its process: one that is lost is started again, and the episode repeated in it.

    restarts: workers lost so far. start: opens a worker on a GPU, with flat colours or with lights.
    """

    def __init__(self, start: Callable[[int, bool], HabitatWorker]) -> None:
        self.restarts = 0
        self._start = start
        self._worker: HabitatWorker | None = None
        self._kind: tuple[int, bool] | None = None  # GPU and lights of the worker
        self._request: dict[str, Any] = {}
        self._opened: Reply = {}
        self._journal: list[_Done] = []
        self._lives = RETRIES

    def open(self, flat: bool, **request: Any) -> Reply:
        """Open a scene for a new episode. Raises SimulatorError; after it nothing is open."""
        self._journal, self._lives, self._opened = [], RETRIES, {}
        self._request = request
        kind = (request["scene"]["gpu"], flat)
        if kind != self._kind:
            self.close()
        try:
            try:
                self._opened = self._running(kind).call("open", OPEN_S, **request)
            except WorkerLost as lost:
                self._count(lost)
                self._opened = self._running(kind).call("open", OPEN_S, **request)
        except SimulatorError:
            self.close()
            raise
        return self._opened

    def ask(self, op: str, **fields: Any) -> Reply:
        """Ask something that leaves the robot where it is. Raises SimulatorError."""
        if self._worker is None:
            raise SimulatorError("the Habitat worker is gone: call reset for a new one")
        try:
            return self._worker.call(op, CALL_S, **fields)
        except WorkerLost as lost:
            return self._again(lost, op, fields)

    def do(self, op: str, **fields: Any) -> Reply:
        """Ask something that moves the robot, and keep it for a repetition. Raises SimulatorError."""
        reply = self.ask(op, **fields)
        self._journal.append(_Done(op, fields, reply))
        return reply

    def views(self, width: int, height: int) -> wire.SharedImages:
        """Return the images as the last `look` left them."""
        assert self._worker is not None
        return self._worker.views(width, height)

    def close(self) -> None:
        """End the worker; a second call does nothing."""
        worker, self._worker, self._kind = self._worker, None, None
        if worker is not None:
            worker.close()

    def _running(self, kind: tuple[int, bool]) -> HabitatWorker:
        if self._worker is None:
            self._worker, self._kind = self._start(*kind), kind
        return self._worker

    def _count(self, lost: WorkerLost) -> None:
        """Note a loss; too many in one episode are its end."""
        kind = self._kind
        self.close()
        self._kind, self.restarts, self._lives = kind, self.restarts + 1, self._lives - 1
        if self._lives < 0:
            raise SimulatorError(f"{RETRIES + 1} Habitat workers were lost in this episode: {lost}") from lost
        log.warning("a new Habitat worker repeats the episode (loss %d): %s", self.restarts, lost)

    def _again(self, lost: WorkerLost, op: str, fields: dict[str, Any]) -> Reply:
        """Repeat the episode in a new worker, and ask once more. Raises SimulatorError where that is not the same."""
        assert self._kind is not None
        try:
            kind = self._kind
            self._count(lost)
            worker = self._running(kind)
            _check("open", self._opened, worker.call("open", OPEN_S, **self._request))
            for done in self._journal:
                _check(done.op, done.reply, worker.call(done.op, CALL_S, **done.fields))
            return worker.call(op, CALL_S, **fields)
        except SimulatorError as error:
            self.close()
            raise SimulatorError(f"the Habitat worker was lost, and the episode cannot be repeated: {error}") from lost


def _check(op: str, before: object, after: object) -> None:
    """Raise SimulatorError where a repeated request ended otherwise."""
    if not _alike(before, after):
        raise SimulatorError(f"{op!r} gave {after!r:.300} this time, and {before!r:.300} before")


def _alike(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= SAME
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_alike, a, b))
    return a == b
