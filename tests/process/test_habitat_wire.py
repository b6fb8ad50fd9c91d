"""A Habitat worker ends with its client."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from sim_bridge.habitat import wire

FOLDER = Path(wire.__file__).parent


def test_a_process_ends_with_its_life_line_whatever_it_does() -> None:
    code = (f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import ctypes, wire\n"
            "wire.end_with(int(sys.argv[1])); print('ready', flush=True)\n"
            "ctypes.PyDLL(None).sleep(600)")  # holds Python's lock, as a call into a simulator does
    reading, writing = os.pipe()
    child = subprocess.Popen([sys.executable, "-c", code, str(reading)], pass_fds=[reading], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    assert child.poll() is None
    os.close(writing)
    assert child.wait(60.0) == -signal.SIGIO
    late = subprocess.run([sys.executable, "-c", code, str(reading)], pass_fds=[reading], timeout=60.0)
    assert late.returncode != 0  # it was closed before
    os.close(reading)
    child.stdout.close()
