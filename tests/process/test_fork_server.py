"""The fork server starts processes, reports how they end, and is started again when it dies."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from eqa_nodes.ros.fork_server import Forked, ForkServer
from eqa_nodes.testing.waiting import gone

WAIT_S = 30.0
SERVER = """
import os, socket, sys
from eqa_nodes.ros.fork_server import serve

def run(nodes, params):
    print(*nodes, params, sys.stdin.read(), *filter(None, [os.environ.get("A"), os.environ.get("B")]), flush=True)
    return 7

serve(socket.socket(fileno=int(sys.argv[1])), lambda name: None, run)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ForkServer]:
    with closing(ForkServer(os.environ, tmp_path / "server.log", [sys.executable, "-c", SERVER])) as running:
        yield running


def end(process: Forked) -> int:
    assert process.stdin is not None
    process.stdin.close()
    return process.wait(WAIT_S)


def test_processes_run_side_by_side_and_report_their_exit_codes(server: ForkServer) -> None:
    first, second = server.start(["mapper"], Path("a.yaml")), server.start(["memory", "agent"], Path("b.yaml"))
    assert first.stdin is not None and first.stdout is not None and second.stdout is not None
    first.stdin.write("words")
    assert first.poll() is None and first.pid != second.pid
    assert end(first) == 7 and first.stdout.read() == "mapper a.yaml words\n"  # though the second still runs
    assert second.poll() is None
    assert end(second) == 7 and second.stdout.read() == "memory agent b.yaml \n"


def test_a_killed_process_has_the_code_of_its_signal(server: ForkServer) -> None:
    process = server.start(["mapper"], Path())
    process.kill()
    assert process.wait(WAIT_S) == -signal.SIGKILL and gone(process.pid)


def test_a_process_ends_with_a_server_that_dies_and_another_server_is_started(server: ForkServer) -> None:
    process, before = server.start(["mapper"], Path()), server.pid
    os.kill(before, signal.SIGKILL)
    assert process.wait(WAIT_S) == -signal.SIGKILL
    assert end(server.start(["mapper"], Path())) == 7 and server.pid != before


def test_processes_outlive_a_server_that_is_closed_until_their_standard_input_closes(server: ForkServer) -> None:
    process = server.start(["mapper"], Path("a.yaml"))
    server.close()
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    assert process.stdout.read() == "mapper a.yaml \n"


def test_a_process_has_the_variables_that_it_is_started_with(tmp_path: Path) -> None:
    own = {**os.environ, "A": "a", "B": "b"}
    with closing(ForkServer(own, tmp_path / "server.log", [sys.executable, "-c", SERVER])) as server:
        changed = {name: value for name, value in own.items() if name != "A"} | {"B": "c"}
        for environment, printed in ((None, "a b"), (changed, "c"), (own, "a b")):
            process = server.start(["mapper"], Path("p"), environment)
            assert process.stdin is not None and process.stdout is not None
            process.stdin.close()
            assert process.stdout.read() == f"mapper p  {printed}\n"
