"""Subscriptions to foreign topics that adapt to the quality of service offered by present and later publishers.

A subscription that requests more than a publisher offers receives nothing from it. One that requests less misses
resent messages, such as large images, and latched messages. Therefore each offered quality has its own subscription.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from eqa_nodes.core.errors import StaleData
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.spinning import INFORMS, OneThread, spin, taking_back
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import KINDS, OfferedQos, Qos, Topic

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks
PERIOD_S = 1.0  # period of checks for publishers; one that offers less than requested is noticed at once
SETTLE_S = 3.0  # an unneeded subscription ends after this time, when its replacement is connected
SEEN = 512  # number of remembered messages per topic, so that two subscriptions do not deliver one twice
Take = Callable[[Any, Mapping[str, Any]], None]
LEAST = OfferedQos()


def offer_of(profile: Any) -> OfferedQos:
    """Return the quality that a publisher offers, or a subscription requests, from its rclpy profile."""
    return OfferedQos(profile.reliability == ReliabilityPolicy.RELIABLE,
                      profile.durability == DurabilityPolicy.TRANSIENT_LOCAL)


def message_alone(take: Callable[[Any], None]) -> Take:
    """Wrap a callback that takes the message without rclpy's message info."""
    return lambda message, info: take(message)


class AdaptiveSubscriptions:
    """The adaptive subscriptions of one node; all callbacks run in one callback group."""

    def __init__(self, node: Any, group: Any = None) -> None:
        self._node, self._group = node, group
        self._topics: list[_Followed] = []

    def subscribe(self, topic: Topic, take: Take, raw: bool = False, *, expected: Qos | None = None,
                  past: bool = True, seldom: bool = False) -> None:
        """Subscribe. take: called once for each message, with rclpy's message info.

        expected: quality to request until there is a publisher, by default the graph's. past: also request the
        messages that a publisher keeps for late subscribers. seldom: a message may be sent once, by a publisher that
        has just started, so a subscription with the least quality always exists. (For frequent messages, two
        subscriptions would receive everything twice.)
        """
        followed = _Followed(self._node, self._group, topic, take, raw, expected or KINDS[topic.qos], past, seldom)
        followed.look(self.look)
        if not self._topics:
            self._node.create_timer(PERIOD_S, self.look, callback_group=self._group,
                                    clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._topics.append(followed)

    def look(self, *_: object) -> None:
        """Adapt the subscriptions to the qualities that are currently offered."""
        for followed in list(self._topics):
            followed.look(self.look)


class _Followed:
    def __init__(self, node: Any, group: Any, topic: Topic, take: Take, raw: bool, expected: Qos, past: bool,
                 seldom: bool) -> None:
        self._node, self._group, self._topic, self._take, self._raw = node, group, topic, take, raw
        self._depth, self._past = expected.depth, past
        own = OfferedQos(expected.reliability == "reliable", past and expected.durability == "transient_local")
        self._always = {own, LEAST} if seldom else set()
        self._first = {own}
        self._subscribed: dict[OfferedQos, Any] = {}
        self._idle_s: dict[OfferedQos, float] = {}
        self._seen = _Seen()

    def look(self, again: Callable[..., None]) -> None:
        """Begin and end subscriptions. again: called when a publisher appears that offers less than requested."""
        infos = self._node.get_publishers_info_by_topic(self._topic.name)
        offered = {offer_of(info.qos_profile) for info in infos if info.topic_type == self._topic.type}
        offered = {offer._replace(latched=offer.latched and self._past) for offer in offered}
        wanted = self._always | (offered or set(self._subscribed) or self._first)
        for offer in wanted - self._subscribed.keys():
            self._subscribed[offer] = self._subscription(offer, again)
        now = time.monotonic()
        for offer in wanted:
            self._idle_s[offer] = now
        for offer in [o for o in self._subscribed if o not in wanted and now - self._idle_s[o] > SETTLE_S]:
            taking_back(self._node)
            self._node.destroy_subscription(self._subscribed.pop(offer))

    def _subscription(self, offer: OfferedQos, again: Callable[..., None]) -> Any:
        profile = QoSProfile(
            depth=self._depth, history=HistoryPolicy.KEEP_LAST,
            reliability=ReliabilityPolicy.RELIABLE if offer.reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if offer.latched else DurabilityPolicy.VOLATILE)
        once = partial(_once, self._seen, self._take)
        events = SubscriptionEventCallbacks(incompatible_qos=again)
        return self._node.create_subscription(
            interface(self._topic.type), self._topic.name, once if INFORMS else lambda message: once(message, {}),
            profile, raw=self._raw, callback_group=self._group, event_callbacks=events)


class _Seen:
    """The newest messages, identified by publisher and source time stamp."""

    def __init__(self) -> None:
        self._order: deque[object] = deque(maxlen=SEEN)
        self._known: set[object] = set()

    def new(self, info: Mapping[str, Any]) -> bool:
        """Return whether a message is seen for the first time; always true if the middleware gives no source time."""
        sent, publisher = info.get("source_timestamp"), info.get("publisher_gid")
        if not sent:
            return True
        key = sent, bytes(publisher["data"]) if publisher else b"", info.get("publication_sequence_number")
        if key in self._known:
            return False
        if len(self._order) == SEEN:
            self._known.discard(self._order[0])
        self._order.append(key)
        self._known.add(key)
        return True


def _once(seen: _Seen, take: Take, message: Any, info: Mapping[str, Any]) -> None:
    if seen.new(info):
        take(message, info)


class ListenerNode:
    """The node `NAME_listener` in addition to the node NAME. It only subscribes, and its callbacks never overlap.

    rclpy's executors check all entities of a node for each message, and a listener node has few (see
    docs/decisions.md for figures). It also receives messages while callbacks of the first node wait.
    """

    def __init__(self, node: Node) -> None:
        name = f"{node.get_name()}_listener"
        self.node = Node(name, context=node.context, namespace=node.get_namespace(), enable_rosout=False,
                         start_parameter_services=False,
                         cli_args=["--ros-args", "-r", f"__node:={name}"])  # a launch file names all nodes of a process
        self.adaptive = AdaptiveSubscriptions(self.node)
        self._executor = OneThread(context=node.context)
        self._executor.add_node(self.node)
        threading.Thread(target=spin, args=(self._executor,), daemon=True).start()

    def close(self) -> None:
        """End the subscriptions and destroy the node."""
        self._executor.shutdown(timeout_sec=1.0)
        self.node.destroy_node()


class LatestMessages:
    """The newest message of each of several stamped topics."""

    def __init__(self, *keys: str) -> None:
        self._messages: dict[str, Any] = dict.fromkeys(keys)
        self._changed = threading.Condition()

    def put(self, key: str, message: Any) -> None:
        """Store a message as the newest of its topic."""
        with self._changed:
            self._messages[key] = message
            self._changed.notify_all()

    def at(self, stamp_ns: int, deadline_s: float) -> dict[str, Any]:
        """Return all messages once none is older than the stamp. Raises StaleData naming the late topics."""
        with self._changed:
            if self._changed.wait_for(lambda: not self._older(stamp_ns), deadline_s):
                return dict(self._messages)
            late = f"did not come within {deadline_s:g} s" if deadline_s else "has not come yet"
            raise StaleData(f"{', '.join(self._older(stamp_ns))} for the observation at {stamp_ns / 1e9:.3f} s {late}")

    def _older(self, stamp_ns: int) -> list[str]:
        return [k for k, m in self._messages.items() if m is None or messages.ns_of(m.header.stamp) < stamp_ns]
