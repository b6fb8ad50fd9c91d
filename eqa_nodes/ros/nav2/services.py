"""What is asked of Nav2 besides goals: is it active, its global costmap, forget what was seen, keep out of places."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav2_msgs.msg import CostmapFilterInfo

from eqa_nodes.core.errors import BadFrame, NodeLost
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import CLEARING, MANAGED, SERVICES, TOPICS

ASK_S = 0.02  # between two looks at whose answer has come
KEEP_OUT = 0  # type of a CostmapFilterInfo: keep-out zones and preferred lanes
# Nav2's costs (0..255) as cells: what touches something and what is shut stay apart, as in its own OccupancyGrid.
_CELLS = np.array([*(cost * 98 // 252 for cost in range(253)), 99, 100, -1], np.int8)


class Nav2Services:
    """Clients of Nav2's services for one node, and the form of its goals.

    They have deadlines of their own; those of nav2_simple_commander have none, so both commanders use these.
    """

    def __init__(self, node: EqaNode, managed: tuple[str, ...]) -> None:
        self._map_frame, self._mask = node.config.node.tf.map_frame, node.out("keep_out_mask")
        node.out("keep_out_info").publish(CostmapFilterInfo(
            header=convert.header(0, self._map_frame), filter_mask_topic=TOPICS["keep_out_mask"].name,
            type=KEEP_OUT, base=0.0, multiplier=1.0))
        self._states = {name: self._client(node, MANAGED[name]) for name in managed}
        self._costmap = self._client(node, "get_global_costmap")
        self._clear = {key: self._client(node, key) for key in CLEARING}

    @staticmethod
    def _client(node: EqaNode, key: str) -> Any:
        port = SERVICES[key]
        return node.create_client(interface(port.type), port.name, callback_group=node.call_group)

    def missing(self, wait_s: float) -> str:
        """Return which managed nodes of Nav2 are not there or not active, after waiting so long; "" = none.

        Those that do not answer come first: Nav2's lifecycle manager deactivates all others once one is gone.
        """
        asked = self._ask_all(wait_s)
        done = {name: future for name, future in asked.items() if future is not None and future.done()}
        states = {name: future.result().current_state.label for name, future in done.items()}
        absent = ", ".join(self._states[name].srv_name for name, future in asked.items() if future is None)
        silent = ", ".join(self._states[name].srv_name for name, future in asked.items()
                           if future is not None and name not in states)
        idle = (f"{name} of Nav2 is {state}, not active" for name, state in states.items() if state != "active")
        silent = silent and f"{silent} did not answer within {wait_s:g} s: does Nav2 hang?"
        return "; ".join(filter(None, (absent and f"no server for {absent}: is Nav2 up?", silent, *idle)))

    def _ask_all(self, wait_s: float) -> dict[str, Any]:
        """Ask every managed node for its state at once; None for one that serves none, else its future, done or not."""
        asked: dict[str, Any] = dict.fromkeys(self._states)
        end = time.monotonic() + wait_s
        while True:
            for name, client in self._states.items():
                if asked[name] is None and client.service_is_ready():
                    asked[name] = client.call_async(client.srv_type.Request())
            if all(future and future.done() for future in asked.values()) or time.monotonic() >= end:
                break
            time.sleep(ASK_S)
        for name, future in asked.items():
            if future and not future.done():
                self._states[name].remove_pending_request(future)
        return asked

    def costmap(self, wait_s: float) -> GridMap:
        """See Commander.costmap."""
        costs = _called(self._costmap, wait_s).map
        if costs.header.frame_id.lstrip("/") != self._map_frame:
            raise BadFrame(f"the global costmap is in the frame {costs.header.frame_id!r}, and goals are in "
                           f"{self._map_frame!r}: set global_frame of Nav2's global_costmap")
        shape = (int(costs.metadata.size_y), int(costs.metadata.size_x))
        cells = _CELLS[np.asarray(costs.data, np.uint8).reshape(shape)]
        origin = costs.metadata.origin.position
        return GridMap(messages.stamp_of(costs), round(float(costs.metadata.resolution), 6),
                       (float(origin.x), float(origin.y)), cells, np.zeros(shape, bool))

    def goal(self, pose: Pose2) -> PoseStamped:
        """Return a goal of Nav2; the latest transforms hold."""
        return convert.goal_msg(pose, 0, self._map_frame)

    def keep_out(self, mask: GridMap) -> None:
        """See Commander.keep_out."""
        self._mask.publish(convert.in_frame(convert.grid_msg(mask.cells, mask), self._map_frame))

    def clear_costmaps(self, wait_s: float) -> None:
        """See Commander.clear_costmaps."""
        for client in self._clear.values():
            _called(client, wait_s)


def _called(client: Any, wait_s: float) -> Any:
    """Call with an empty request and return the response. Raises NodeLost at the deadline."""
    end = time.monotonic() + wait_s
    if not client.wait_for_service(timeout_sec=wait_s):
        raise NodeLost(f"no server for {client.srv_name}: is Nav2 up?")
    future, done = client.call_async(client.srv_type.Request()), threading.Event()
    future.add_done_callback(lambda _: done.set())
    if not done.wait(max(0.1, end - time.monotonic())):
        client.remove_pending_request(future)
        raise NodeLost(f"{client.srv_name} did not answer within {wait_s:g} s: does Nav2 hang?")
    return future.result()
