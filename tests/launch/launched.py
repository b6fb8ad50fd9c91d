"""A launch file in a process of its own, as `ros2 launch` runs it: its output, its nodes' processes, its exit code."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eqa_nodes.ros.environment import free_domain

FILES = Path(__file__).resolve().parents[2] / "launch"
WAIT_S = 120.0
REST_S = 1.0  # launch 3.7: an interrupt is an exception in whichever of its tasks runs
RUN = """
import sys
from launch import LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService(argv=sys.argv[2:])
arguments = [argument.split(":=", 1) for argument in sys.argv[2:]]
service.include_launch_description(IncludeLaunchDescription(PythonLaunchDescriptionSource(sys.argv[1]),
                                                            launch_arguments=arguments))
sys.exit(service.run())
"""
STARTED = re.compile(r"\[(\w+)-\d+\]: process started with pid \[(\d+)\]")


class Launched:
    """A running launch file. environment: for those who want to talk to its nodes."""

    def __init__(self, world: str, folder: Path, domain: int, **arguments: str) -> None:
        self.environment = {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        told = {"folder": str(folder / "run"), **arguments}
        said = [f"{name}:={value}" for name, value in told.items()]
        self._process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(FILES / f"{world}.launch.py"), *said],
            env={**os.environ, **self.environment, "ROS_LOG_DIR": str(folder / "logs")},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.lines: list[str] = []
        self._ended = False
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            with self._more:
                self.lines.append(line.rstrip())
                self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()

    @property
    def output(self) -> str:
        """All that was printed until now."""
        return "\n".join(self.lines)

    def says(self, pattern: str, times: int = 1) -> str:
        """Wait until so many lines match and return the last of them."""
        with self._more:
            self._more.wait_for(lambda: len(self._matching(pattern)) >= times or self._ended, WAIT_S)
        found = self._matching(pattern)
        assert len(found) >= times, f"{pattern!r} was not said {times} times within {WAIT_S:g} s:\n{self.output}"
        return found[times - 1]

    def _matching(self, pattern: str) -> list[str]:
        return [line for line in self.lines if re.search(pattern, line)]

    def pids(self, node: str) -> list[int]:
        """Return the process ids under which a node was started, in this order."""
        return [int(match[2]) for line in self.lines if (match := STARTED.search(line)) and match[1] == node]

    def ends(self) -> int:
        """Wait until launch ends by itself and return its exit code."""
        code = self._process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        return code

    def stop(self) -> int:
        """Interrupt launch and all that it started, as Ctrl-C does, and return its exit code.

        Not while it handles what it has just said: a process whose end it forgets then keeps it waiting for ever.
        """
        time.sleep(REST_S)
        os.killpg(self._process.pid, signal.SIGINT)
        return self.ends()

    def close(self) -> None:
        """End what still runs."""
        if self._process.poll() is None:
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self._process.kill()


@contextmanager
def launched(world: str, folder: Path, **arguments: str) -> Iterator[Launched]:
    """Run a launch file in a ROS domain of its own until the block ends."""
    with free_domain() as domain:
        run = Launched(world, folder, domain, **arguments)
        try:
            yield run
        finally:
            run.close()
