"""Calls to other nodes with a deadline. A call also ends when the other node dies and can no longer answer."""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from rclpy.action.client import ClientGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from std_msgs.msg import Header
from unique_identifier_msgs.msg import UUID

from eqa_nodes.core.clocks import boot_ns
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.ros import convert
from eqa_nodes.ros.actions import ReliableActionClient, service_qos
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.run import born_in, row_of
from eqa_nodes.wire.graph import ACTIONS, NAV2_SERVES, NODES, SERVICES, TOPICS
from eqa_nodes.wire.messages import ns_of

POLL_S = 0.1
DISCOVERY_POLL_S = 0.01
SETTLE_S = 0.25  # a server discovers its client about when the client discovers it; before that its answer is lost
DISCOVERY_S = 10.0  # running nodes discover each other well within this time
# Nodes that serve each key. Only one of bridge and replay, and one of the navigators, runs at a time.
SERVERS = {key: tuple(name for name, spec in NODES.items() if key in spec.serves)
           for key in (*SERVICES, *ACTIONS) if key not in NAV2_SERVES}
AGAIN_S, AGAIN = 5.0, 3  # period and number of repeated requests: a restarted server may miss early ones
END_S = 45.0  # deadline for a cancelled goal to end: an action of a simulator ends first
ONCE = ("act",)  # may not be sent again, since the robot may have moved; a request for its STATUS may


class Sent(NamedTuple):
    """Time at which a request was sent, and the last start of its server known then; ns since the machine's start."""

    born: int
    at_ns: int


class NodeStarts:
    """The last start of each node. A killed node stays visible for seconds, but a restarted one reports at once."""

    def __init__(self, node: Any, group: Any) -> None:
        self._born: dict[str, int] = {}
        self._received_s: dict[str, float] = {}  # when a restart was reported, by our own clock
        self._stamps: dict[str, int] = {}  # stamp of the newest announcement, by the clock of its machine
        topic = TOPICS["started"]
        node.create_subscription(Header, topic.name, self._on_started, qos(topic.qos), callback_group=group)

    def _on_started(self, header: Any) -> None:
        name, stamp, here = row_of(header.frame_id), ns_of(header.stamp), born_in(header.frame_id)
        if here is None and stamp == self._stamps.get(name):
            return  # a repeated announcement: our own clock may have been set since
        self._stamps[name] = stamp
        born = here if here is not None else max(1, boot_ns() - (time.time_ns() - stamp))
        if 0 < self.of(name) < born:
            self._received_s[name] = time.monotonic()
        self._born[name] = max(born, self.of(name))

    def of(self, *names: str) -> int:
        """Return the last start of any of these nodes, ns since this machine was started, 0 if unknown."""
        return max(self._born.get(name, 0) for name in names)

    def again_after(self, sent: Sent, *names: str) -> bool:
        """Return whether one of these nodes was restarted after a request was sent: then its answer is lost.

        The report of a restart may arrive late, when the restarted node already works on the request. Therefore the
        times of start and sending are compared, and not the arrival of the report.
        """
        return 0 < sent.born < self.of(*names) and self.of(*names) > sent.at_ns

    def just_started_again(self, *names: str) -> bool:
        """Return whether a node's restart was reported so recently that it may not be discovered yet."""
        return time.monotonic() - max(self._received_s.get(name, -math.inf) for name in names) < DISCOVERY_S


class NodeRestarted(NodeLost):
    """The node was restarted while a call waited for it."""


class Remotes:
    """Clients of the graph's services and actions for one node."""

    def __init__(self, node: Any) -> None:
        self._node, self._group = node, ReentrantCallbackGroup()
        self.births = NodeStarts(node, self._group)

    def service(self, key: str) -> Service:
        """Return a client of a service of the graph."""
        port = SERVICES[key]
        client = self._node.create_client(interface(port.type), port.name, callback_group=self._group,
                                          qos_profile=service_qos())
        return Service(key, client, self.births)

    def action(self, key: str) -> RemoteAction:
        """Return a client of an action of the graph."""
        port = ACTIONS[key]
        client = ReliableActionClient(self._node, interface(port.type), port.name, self._group)
        return RemoteAction(key, client, self.births)


class _Remote:
    def __init__(self, key: str, births: NodeStarts) -> None:
        self._servers = SERVERS[key]
        self.server = " or ".join(self._servers)
        self._key, self._births = key, births

    def _now(self) -> Sent:
        """Return the record of a request that is sent now."""
        return Sent(self._births.of(*self._servers), boot_ns())

    def _wait(self, future: Any, deadline_s: float, sent: Sent, alive: Callable[[], None] = lambda: None,
              again: Callable[[], Any] = lambda: None, times: float = AGAIN) -> Any:
        """Return a future's result. Raises NodeLost at the deadline, NodeRestarted if the server was restarted.

        alive: called regularly, may raise; again: sends the request again and returns a future, None = not needed;
        times: maximum number of repeated requests. The first answer counts.
        """
        done = threading.Event()
        asked = [future]
        future.add_done_callback(lambda _: done.set())
        end = time.monotonic() + deadline_s
        ask_at = time.monotonic() + AGAIN_S
        while not done.wait(POLL_S):
            alive()
            if self._births.again_after(sent, *self._servers):
                raise NodeRestarted(f"{self.server} died while it worked on {self._key}, and was started again")
            if time.monotonic() > end:
                for one in asked:
                    one.cancel()
                raise NodeLost(f"{self.server} did not answer {self._key} within {deadline_s:g} s: does it run?")
            if len(asked) <= times and time.monotonic() > ask_at:
                ask_at += AGAIN_S
                if (other := again()) is not None:
                    asked.append(other)
                    other.add_done_callback(lambda _: done.set())
        return next(one for one in asked if one.done()).result()


class Service(_Remote):
    """A service with deadlines."""

    def __init__(self, key: str, client: Any, births: NodeStarts) -> None:
        super().__init__(key, births)
        self._client = client
        self.Request = interface(SERVICES[key].type).Request

    def call(self, deadline_s: float, **fields: Any) -> Any:
        """Call and return the response. Raises NodeLost at the deadline, and the error that the response reports."""
        response = self.exchange(deadline_s, **fields)
        convert.raise_remote(response)
        return response

    def exchange(self, deadline_s: float, **fields: Any) -> Any:
        """Call and return the response, even if it reports an error; repeat the call once if the server was restarted.
        """
        try:
            return self._exchange(deadline_s, fields)
        except NodeRestarted:
            if self._key in ONCE:
                raise
            return self._exchange(deadline_s, fields)

    def _exchange(self, deadline_s: float, fields: dict[str, Any]) -> Any:
        if not _becomes(self._client.service_is_ready, min(deadline_s, DISCOVERY_S)):
            raise NodeLost(f"no server for {self._client.srv_name}: does {self.server} run?")
        sent, repeats = self._now(), self._repeats(fields)

        def ask() -> Any:
            return self._client.call_async(self.Request(**fields))

        def again() -> Any:  # a restart may have been reported meanwhile
            return ask() if repeats or self._repeats(fields) else None

        return self._wait(ask(), deadline_s, sent, again=again)

    def _repeats(self, fields: dict[str, Any]) -> bool:
        """Return whether a request may be repeated and may have to be."""
        if self._key in ONCE:
            # Each drive first requests the status. On a busy machine rmw_fastrtps drops an answer to a client that the
            # server has not discovered within 100 ms, so this request, which moves nothing, is repeated.
            return bool(fields.get("action") == self.Request.STATUS)
        return self._births.just_started_again(*self._servers)


class RemoteAction(_Remote):
    """An action: send a goal and wait for its end."""

    def __init__(self, key: str, client: Any, births: NodeStarts) -> None:
        super().__init__(key, births)
        self._client = client
        self.Goal = interface(ACTIONS[key].type).Goal
        self._newest: _Sending | None = None

    def run(self, goal: Any, deadline_s: float, listener: Callable[[Any], None] = lambda feedback: None,
            poll: Callable[[Any], None] = lambda handle: None) -> Any:
        """Send the goal and return (status, result), calling `poll` with its handle regularly. Cancels the goal when it
        raises NodeLost. If several goals run at once, `cancel` applies to the newest.
        """
        if not _becomes(self._client.server_is_ready, DISCOVERY_S):
            raise NodeLost(f"no server for {self._key}: does {self.server} run?")
        sent, sending = self._now(), _Sending(self._client)
        self._newest = sending
        try:
            answer = self._client.send_goal_async(goal, lambda message: listener(message.feedback), sending.identity)
            handle = self._wait(answer, DISCOVERY_S, sent)
            if not handle.accepted:
                raise NodeLost(f"{self.server} rejected the goal of {self._key}: its log and /diagnostics say why")
            sending.accepted = True
            if sending.called_off_s < math.inf:  # cancelled before it was accepted
                sending.cancel()

            def alive() -> None:
                poll(handle)
                if time.monotonic() - sending.called_off_s > END_S:
                    raise NodeLost(f"{self.server} did not end {self._key} within {END_S:g} s after it was cancelled")

            return self._wait(handle.get_result_async(), deadline_s, sent, alive, handle.get_result_async, math.inf)
        except (NodeLost, KeyboardInterrupt):
            sending.cancel()  # it may have been accepted and drive the robot, although no reply arrived
            raise
        finally:
            if self._newest is sending:
                self._newest = None

    def cancel(self) -> None:
        """Cancel the running goal, even one that is not accepted yet; do nothing when none runs."""
        sending = self._newest
        if sending is not None:
            sending.called_off_s = min(sending.called_off_s, time.monotonic())
            if sending.accepted:
                sending.cancel()

    @property
    def running(self) -> bool:
        """Whether a caller waits for the end of a goal."""
        return self._newest is not None

    def close(self) -> None:
        """Destroy the client; otherwise its node stays in the graph after it was destroyed."""
        self._client.destroy()


def _becomes(ready: Callable[[], bool], deadline_s: float) -> bool:
    """Return whether a server is discovered within the deadline, and wait a little where that was only now.

    rclpy's own wait looks four times a second only, and does not wait for the other side.
    """
    end = time.monotonic() + deadline_s
    if ready():
        return True
    while not (there := ready()) and time.monotonic() < end:
        time.sleep(DISCOVERY_POLL_S)
    time.sleep(SETTLE_S if there else 0.0)
    return there


class _Sending:
    """A goal in progress. called_off_s: time of the first cancel request, monotonic clock, s."""

    def __init__(self, client: Any) -> None:
        self._client, self.identity = client, new_id()
        self.accepted, self.called_off_s = False, math.inf

    def cancel(self) -> None:
        """Request its cancellation."""
        cancel_goal(self._client, self.identity)


def new_id() -> Any:
    """Return the id of a new goal."""
    return UUID(uuid=list(uuid.uuid4().bytes))


def cancel_goal(client: Any, goal_id: Any) -> None:
    """Cancel a goal by its id, even without an accepted reply: the reply may be lost while the goal drives the robot.
    """
    answer = client._action_type.Impl.SendGoalService.Response(accepted=True)
    ClientGoalHandle(client, goal_id, answer).cancel_goal_async()
