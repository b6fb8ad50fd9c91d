"""Forks the processes of a graph from one process that has imported their modules: imports run once, pages are shared.

`ForkServer` is the runner's side. The server itself (`python -m eqa_nodes.ros.fork_server`) only imports modules:
it never starts ROS or a thread, so that its children begin in a clean state.
A request contains the nodes, the variables that differ from the server's, and three file descriptors: standard input
and output of the new process, and a pipe to which the server writes the process id at once and the exit code when
the process has ended. One server can therefore start the processes of several graphs.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from eqa_nodes.core.errors import NodeLost

COMMAND = (sys.executable, "-m", "eqa_nodes.ros.fork_server")  # the descriptor of its socket follows
_REQUEST_BYTES = 1 << 16
_END_S = 10.0  # deadline for a killed server to end
_SET_NAME = 15  # PR_SET_NAME of prctl(2)


class ForkServer:
    """A running server, which is restarted when it has died. start() may be called from several threads."""

    def __init__(self, environment: Mapping[str, str], log: Path, command: Sequence[str] = COMMAND) -> None:
        """environment: variables of the server and all its children. log: file for the server's own output (errors)."""
        self._environment, self._log, self._command = dict(environment), log, list(command)
        self._lock = threading.Lock()
        self._launch()

    @property
    def pid(self) -> int:
        """Return the process id of the server."""
        return self._process.pid

    def start(self, nodes: Sequence[str], params: Path, environment: Mapping[str, str] | None = None) -> Forked:
        """Start a process that runs these nodes. Raises NodeLost when a server and its successor both die.

        environment: all variables of the process; None = those of the server.
        """
        wanted, asked = self._environment if environment is None else environment, self._process
        changes = {name: wanted.get(name) for name in {*wanted, *self._environment}
                   if wanted.get(name) != self._environment.get(name)}
        request = json.dumps([list(nodes), str(params), changes]).encode()
        try:
            return self._start(request)
        except NodeLost:
            asked.wait(_END_S)  # it may have closed its pipes before it ends
            return self._start(request)

    def _start(self, request: bytes) -> Forked:
        (input_theirs, input_ours), (output_ours, output_theirs), (status_ours, status_theirs) = (
            os.pipe() for _ in range(3))
        theirs = [input_theirs, output_theirs, status_theirs]
        with self._lock:
            if self._process.poll() is not None:
                self._control.close()
                self._launch()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it died: `status` shows that
                socket.send_fds(self._control, [request], theirs)
        for descriptor in theirs:
            os.close(descriptor)
        return Forked(open(input_ours, "w"), open(output_ours), open(status_ours), self._log)

    def _launch(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Ctrl-C reaches all processes of a terminal, but only the parent may end its children.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))  # inherited by the children
        try:
            with theirs, self._log.open("ab") as output:
                self._process = subprocess.Popen(
                    [*self._command, str(theirs.fileno())], env=self._environment, pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def close(self) -> None:
        """End the server; running children continue until their standard input closes."""
        self._control.close()
        self._process.wait()


class Forked:
    """A process forked by the server, with the part of subprocess.Popen's interface that the runner uses."""

    def __init__(self, stdin: IO[str], stdout: IO[str], status: IO[str], log: Path) -> None:
        """log: the server's log file. Raises NodeLost if the server dies before it forks."""
        self.stdin: IO[str] | None = stdin
        self.stdout: IO[str] | None = stdout
        self._status, self._lock = status, threading.Lock()
        self.returncode: int | None = None
        try:
            self.pid = int(status.readline())
        except ValueError as error:
            raise NodeLost(f"the fork server of the graph died before it had started a node: see {log}") from error

    def poll(self) -> int | None:
        """Return the exit code, None while the process runs."""
        return self._code(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code. Raises TimeoutExpired."""
        code = self._code(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid} of nodes", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)

    def _code(self, timeout: float | None) -> int | None:
        with self._lock:
            if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
                line = self._status.readline()
                if not line:  # the server has died: the end of this process would go unnoticed
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(self.pid, signal.SIGKILL)
                self.returncode = int(line or -signal.SIGKILL)
            return self.returncode


def serve(control: socket.socket, prepare: Callable[[str], object], run: Callable[[Sequence[str], Path], int]) -> None:
    """Fork a process for each request until the other side closes. prepare: imports a node; run: runs some nodes."""
    status: dict[int, tuple[int, int]] = {}  # process descriptor -> process id, pipe
    while True:
        for descriptor in select.select([control.fileno(), *status], [], [])[0]:
            if descriptor in status:
                pid, pipe = status.pop(descriptor)
                _send_number(pipe, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                os.close(pipe)
                os.close(descriptor)
                continue
            request, passed, _, _ = socket.recv_fds(control, _REQUEST_BYTES, 3)
            if not request:
                return
            nodes, params, changes = json.loads(request)
            for name in nodes:
                with contextlib.suppress(Exception):  # the child imports it again and logs the error
                    prepare(name)
            pid = _fork(control, passed, [pipe for _, pipe in status.values()], nodes,
                        partial(_run, run, nodes, Path(params), changes))
            status[os.pidfd_open(pid)] = pid, passed[2]
            _send_number(passed[2], pid)


def _fork(control: socket.socket, passed: Sequence[int], others: Sequence[int], nodes: Sequence[str],
          run: Callable[[], int]) -> int:
    """Fork and return the process id of the child, which runs and never returns. others: pipes of other children."""
    gc.freeze()  # otherwise the collector would write to every shared page
    pid = os.fork()
    if pid:
        for descriptor in passed[:2]:
            os.close(descriptor)
        return pid
    for standard, descriptor in enumerate((passed[0], passed[1], passed[1])):
        os.dup2(descriptor, standard)
    for descriptor in (control.fileno(), *others, *passed):
        os.close(descriptor)
    ctypes.CDLL(None).prctl(_SET_NAME, "+".join(nodes).encode())  # shown by ps and top
    code = 1
    try:
        code = run()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def _run(run: Callable[[Sequence[str], Path], int], nodes: Sequence[str], params: Path,
         changes: Mapping[str, str | None]) -> int:
    """Run nodes with changed environment variables; None = remove the variable."""
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return run(nodes, params)


def _send_number(pipe: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # the runner has died; the children notice it by their standard input
        os.write(pipe, f"{number}\n".encode())


def main() -> int:
    """Serve the socket whose descriptor the command line names."""
    from eqa_nodes.ros.process import prepare, run_nodes

    with socket.socket(fileno=int(sys.argv[1])) as control:
        serve(control, prepare, run_nodes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
