"""A ROS domain is free again when its process was killed."""

from __future__ import annotations

import subprocess
import sys

from eqa_nodes.ros.environment import free_domain

HOLD_A_DOMAIN = """
import time
from eqa_nodes.ros import environment
environment.DOMAINS, environment.RESERVATION = range(23, 20, -1), {reservation!r}
with environment.free_domain() as domain:
    print(domain, flush=True)
    time.sleep(60)
"""


def test_a_killed_process_frees_its_domain(three_domains: str) -> None:
    command = [sys.executable, "-c", HOLD_A_DOMAIN.format(reservation=three_domains)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "23\n"
        with free_domain() as other:
            assert other == 22
        child.kill()
    with free_domain() as again:
        assert again == 23
