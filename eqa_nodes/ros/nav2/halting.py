"""Makes the robot stand, whoever drives it: every server of Nav2 that leads to motion is told to cancel all its goals.

The BT navigator may be dead or hang, and what it told the controller goes on without it.
"""

from __future__ import annotations

import time
from typing import Any

from action_msgs.srv import CancelGoal

from eqa_nodes.core.driving.commander import Halted
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.wire.graph import GOAL_SENDERS, MOVERS, SERVICES

CONTROLLER = "follow_path"  # the action of who follows paths
ASK_S = 0.02  # between two looks at whose answer has come


class Halting:
    """Clients of the cancel services of Nav2's actions for one node."""

    def __init__(self, node: EqaNode) -> None:
        self._senders, self._movers = ({name: self._client(node, name) for name in names}
                                       for names in (GOAL_SENDERS, MOVERS))

    @staticmethod
    def _client(node: EqaNode, name: str) -> Any:
        return node.create_client(CancelGoal, SERVICES[f"cancel_{name}"].name, callback_group=node.call_group)

    def halt(self, wait_s: float) -> Halted:
        """See Commander.halt. Those that send goals on are told first; only those that move the base are waited for."""
        for client in self._senders.values():
            if client.service_is_ready():
                client.call_async(CancelGoal.Request())  # neither id nor stamp: all goals
        asked = {name: client.call_async(CancelGoal.Request()) for name, client in self._movers.items()
                 if client.service_is_ready()}
        end = time.monotonic() + wait_s
        while not all(future.done() for future in asked.values()) and time.monotonic() < end:
            time.sleep(ASK_S)
        silent = [name for name, future in asked.items() if not future.done()]
        for name in silent:
            self._movers[name].remove_pending_request(asked[name])
        return Halted(CONTROLLER in asked and CONTROLLER not in silent, tuple(silent))
