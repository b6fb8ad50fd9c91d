"""A node's process ends when it is interrupted, whatever its callbacks wait for."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eqa_nodes.ros.environment import free_domain, ros_environment

NODE = '''
import sys, threading
from eqa_nodes.nodes.agent import AgentNode
from eqa_nodes.ros.process import run_node

class Waiting(AgentNode):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.create_timer(0.1, self.wait, callback_group=self.call_group)

    def wait(self):
        print("waiting", flush=True)
        threading.Event().wait(3600)

'''
LAUNCHED = "sys.exit(run_node(Waiting))"
CHILD = "import eqa_nodes.nodes.agent, pathlib; from eqa_nodes.ros.process import run_nodes\n" \
        "eqa_nodes.nodes.agent.AgentNode = Waiting; sys.exit(run_nodes(['agent'], pathlib.Path('params.yaml')))"
EARLY = "import time, eqa_nodes.ros.process as p\n" \
        "p.print = lambda *said, **how: (time.sleep(1.0), print(*said, **how))\n" + CHILD  # interrupted before it waits


@pytest.mark.parametrize(("number", "end"), [
    (signal.SIGINT, LAUNCHED), (signal.SIGTERM, LAUNCHED), (signal.SIGINT, CHILD), (signal.SIGINT, EARLY)])
def test_a_callback_that_waits_for_ever_does_not_keep_its_process(tmp_path: Path, number: signal.Signals,
                                                                  end: str) -> None:
    (tmp_path / "params.yaml").write_text("{}")
    with free_domain() as domain:
        process = subprocess.Popen([sys.executable, "-c", NODE + end], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, cwd=tmp_path, env={**os.environ, **ros_environment(domain, tmp_path)})
        try:
            assert process.stdout is not None
            assert any(line.strip() == "waiting" for line in process.stdout)
            process.send_signal(number)
            assert process.wait(60.0) == 0
        finally:
            process.kill()
            process.wait()
