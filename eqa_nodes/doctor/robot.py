"""Checks of a live robot or simulator: listens to its topics for some seconds, and looks for its navigation."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from rclpy.action import get_action_names_and_types
from rclpy.node import Node

from eqa_nodes.config.profiles import PROFILES, Profile
from eqa_nodes.core.camera.config import CameraConfig
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.findings import Finding
from eqa_nodes.doctor.detector import DetectorTrial, detector_findings
from eqa_nodes.doctor.facts import ALSO, ReceivedMessages, RobotFacts
from eqa_nodes.doctor.judge import Navigation, judge, judge_navigation
from eqa_nodes.doctor.machine import disk
from eqa_nodes.doctor.transport import Endpoint, TopicEndpoints, judge_images, judge_qos, judge_transport, packed
from eqa_nodes.recordings.bags.check import WHOLE, judged
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.recordings.bags.measure import STAMPED, measure
from eqa_nodes.recordings.bags.poses import KEYS
from eqa_nodes.recordings.bags.reader import Bag
from eqa_nodes.recordings.bags.roles import ROLES
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.subscriptions import offer_of
from eqa_nodes.ros.tap import TRANSFORMS, Tap, TappedTopic, as_stream
from eqa_nodes.wire.graph import ACTIONS, CAMERA_TOPICS, DRIVERS, FOREIGN, SERVICES, TOPICS, absolute

_RAW = "sensor_msgs/msg/Image"
_TF = ("tf", "tf_static")
_OF_ROS = ("/rosout", "/parameter_events")
_SETTLE_S = 1.0  # time from the discovery of a robot's first topics to that of all
_TF_FIRST_S, _TF_LAST_S = 1.5, 1.0  # listening to transforms before (AMCL post-dates them by 1 s) and after images
_STEP_S = 0.2
_MOST = 512 << 20  # maximum bytes kept; listening to a fast camera ends earlier
_LOST = 0.05
_NAMED = 4  # maximum number of topics of the expected type that are listed


class Listening(NamedTuple):
    """remap: role -> topic; wait_s: time for topics to appear; seconds: duration of listening to images.

    camera: camera settings of the graph; detector: what is tried on one image, None = nothing.
    """

    namespace: str = ""
    remap: Mapping[str, str] = MappingProxyType({})
    seconds: float = 5.0
    wait_s: float = 10.0
    options: BagOptions = BagOptions()
    camera: CameraConfig = CameraConfig()
    detector: DetectorTrial | None = None

    def topic(self, role: str) -> str:
        """Return the topic that the graph uses for a role: the remapped one, or its own name in the namespace."""
        return self.remap.get(role) or absolute(self.own(role), self.namespace)

    def own(self, role: str) -> str:
        """Return the graph's own name of a role's topic."""
        return (CAMERA_TOPICS[f"{role}_compressed"] if packed(role, self.camera) else TOPICS[role]).name


@dataclass
class _Received:
    """The received messages. offers: role -> type and QoS; refused: role -> why it cannot be received.

    simulator_said: error message of the simulator if it could not publish an observation.
    """

    messages: ReceivedMessages
    bag: Bag
    offers: dict[str, TappedTopic] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    publishers: dict[str, int] = field(default_factory=dict)
    simulator_said: str = ""


def robot_findings(how: Listening) -> list[Finding]:
    """Listen in this ROS_DOMAIN_ID, and judge. Raises ConfigError for an unknown role."""
    for role in how.remap:
        if role not in ROLES:
            raise ConfigError(unknown("role", role, ROLES))
    with Tap() as tap:
        listener = _found(tap, how)
        _listen(tap, listener, how)
        bag = listener.bag = listener.messages.bag(
            how.namespace, {role: topic for role, topic in listener.bag.topics.items() if role in ROLES})
        navigation = look_at_navigation(tap, how.namespace, "" if bag.count("map") else how.topic("map"))
        ends = _ends(tap.node)
        domain, lost, received = tap.node.context.get_domain_id(), tap.lost.total(), tap.counts.total()
    facts = RobotFacts()
    exact = how.options._replace(tolerance_s=how.camera.tolerance_s,
                                 depth_unit_m=how.camera.depth_unit_m or how.options.depth_unit_m)
    measured = measure(bag, exact, facts.take, ALSO)
    lines = [line for line in (*judged(bag, measured), *judge_images(bag, measured, how.camera)) if line != WHOLE]
    return [*_drivers(how, listener), *(_topic(role, how, listener, domain) for role in (*STAMPED, "odom")), *lines,
            *judge_qos(ends, _foreign(how)), *judge(facts, measured, how.options, live=True, camera=how.camera),
            *judge_navigation(navigation), *(detector_findings(how.detector, bag) if how.detector else ()),
            _lost(lost, received),
            disk(Path.cwd(), listener.messages.size / how.seconds)]


def _ends(node: Node) -> dict[str, TopicEndpoints]:
    """Return the publishers and subscriptions of each topic, without this node and ROS's own topics."""
    def others(infos: Sequence[Any]) -> list[Endpoint]:
        return [Endpoint(absolute(info.node_name, info.node_namespace), offer_of(info.qos_profile))
                for info in infos if info.node_name != node.get_name()]

    return {name: TopicEndpoints(others(node.get_publishers_info_by_topic(name)),
                                 others(node.get_subscriptions_info_by_topic(name)))
            for name, types in node.get_topic_names_and_types() if name not in _OF_ROS and len(types) == 1}


def _foreign(how: Listening) -> set[str]:
    """Return the topics of a robot that the graph subscribes to."""
    names = {key: absolute(topic.name, how.namespace) for key, topic in {**TOPICS, **CAMERA_TOPICS}.items()}
    return {how.remap.get(key, name) for key, name in names.items() if key in FOREIGN}


def _there(how: Listening, types: Mapping[str, str]) -> dict[str, str]:
    """Return the topics that the graph subscribes to and that exist, by role."""
    return {role: how.topic(role) for role in ROLES if types.get(how.topic(role)) in ROLES[role]}


def _found(tap: Tap, how: Listening) -> _Received:
    """Wait until a camera is published, then _SETTLE_S for the rest."""
    end = time.monotonic() + how.wait_s
    while not set(STAMPED) <= (listener := _now(tap, how)).bag.keys and time.monotonic() < end:
        tap.spin(_STEP_S)
    tap.spin(_SETTLE_S)
    listener = _now(tap, how)
    for role in (*STAMPED, *KEYS, *ALSO):
        topic = listener.bag.topics.get(role, "")
        try:
            listener.publishers[role] = tap.node.count_publishers(topic) if topic else 0
            if listener.publishers[role]:
                listener.offers[role] = as_stream(role, tap.offer(topic))
            elif topic in TRANSFORMS:  # published perhaps later
                listener.offers[role] = TappedTopic(ROLES[role][0], TRANSFORMS[topic])
        except ConfigError as error:
            listener.refused[role] = str(error)
    return listener


def _now(tap: Tap, how: Listening) -> _Received:
    messages = ReceivedMessages({name: types[0] for name, types in tap.published().items()})
    return _Received(messages, messages.bag(how.namespace, _there(how, messages.types)))


def _listen(tap: Tap, listener: _Received, how: Listening) -> None:
    """Receive transforms, for some seconds also images, and transforms a little longer."""
    open_ = True
    moving = {listener.bag.topics[role] for role in _TF if role in listener.offers}

    def take(topic: str, data: bytes) -> None:
        if open_ or topic in moving:
            listener.messages.put(topic, time.time_ns(), data)

    tap.subscribe({listener.bag.topics[role]: listener.offers[role] for role in _TF if role in listener.offers}, take)
    tap.spin(_TF_FIRST_S)
    tap.subscribe({listener.bag.topics[role]: offer for role, offer in listener.offers.items() if role not in _TF},
                  take)
    showing, begin = Showing(tap.node, how.namespace), time.monotonic()
    while (spent := time.monotonic() - begin) < how.seconds and listener.messages.size < _MOST:
        if spent > how.seconds / 4 and not listener.messages.counts[listener.bag.topics.get("depth", "")]:
            showing.ask()
        tap.spin(min(_STEP_S, how.seconds - spent))
    open_ = False
    tap.spin(_TF_LAST_S)
    listener.simulator_said = showing.said


def _drivers(how: Listening, listener: _Received) -> list[Finding]:
    """Propose the drivers whose camera topics are published, unless the graph already uses them."""
    def own(driver: Profile) -> set[str]:
        return {driver.topics[role] for role in STAMPED}

    seen = [name for name, driver in PROFILES.items() if own(driver) <= set(listener.messages.types)]
    if not seen or own(PROFILES[seen[0]]) == {how.topic(role) for role in STAMPED}:
        return []
    return [Finding("driver", "warning", f"the topics are those of {' or '.join(seen)}",
                    f"use --driver {seen[0]} here, and driver:={seen[0]} with robot.launch.py (docs/robot.md)")]


def _topic(role: str, how: Listening, listener: _Received, domain: int) -> Finding:
    topic, bad = listener.bag.topics.get(role, ""), "warning" if role == "odom" else "error"
    remedy = f"name it: --remap {role}=/its/topic"
    if role in listener.refused:
        return Finding(role, bad, listener.refused[role], remedy)
    if role in listener.bag.unclear:
        return Finding(role, bad, f"may be {' or '.join(listener.bag.unclear[role])}", remedy)
    if not topic or (role in how.remap and topic != how.remap[role]):
        alike = [topic] if topic else sorted(n for n, kind in listener.messages.types.items() if kind in ROLES[role])
        there = f"; topics of its type: {' and '.join(alike[:_NAMED])}" if alike else ""
        remedy = f"name it: --remap {role}={alike[0]}" if len(alike) == 1 else remedy
        return Finding(role, bad, f"no publisher on {how.topic(role)} in ROS domain {domain}{there}",
                       f"start its driver, check that ROS_DOMAIN_ID is that of the robot, or {remedy}")
    kind, count = listener.messages.types[topic], listener.messages.counts[topic]
    found = f"{topic} ({kind}), {count} messages, {listener.offers[role].qos.offer}"
    if not count:
        said = f" (the simulator says: {listener.simulator_said})" if listener.simulator_said else ""
        return Finding(role, bad, found + said, "check its driver and the network; a simulator in lock-step "
                       "publishes only when it is driven")
    if role in ("color", "depth") and (wrong := judge_transport(role, found, kind == _RAW, how.camera)) is not None:
        return wrong
    return _named(role, topic, found, how, listener)


def _named(role: str, topic: str, found: str, how: Listening, listener: _Received) -> Finding:
    """Judge a topic that delivers: whether the graph uses it, and whether it has a single publisher."""
    if listener.publishers[role] > 1:
        return Finding(role, "warning", f"{found}, {listener.publishers[role]} publishers", "stop all but one of them")
    if topic != how.topic(role):
        return Finding(role, "warning", f"{found}, found by its type: the graph subscribes to {how.topic(role)}",
                       f"remap it (-r {how.own(role)}:={topic}), and use --remap {role}={topic} here")
    return Finding(role, "ok", found)


def _lost(lost: int, received: int) -> Finding:
    bad = lost > _LOST * max(lost + received, 1)
    return Finding("lost on the way", "warning" if bad else "ok", f"{lost} of {lost + received} messages",
                   "check the network and the load of this machine" if bad else "")


_GET_STATE = "lifecycle_msgs/srv/GetState"
_COSTMAPS = ("global_costmap/costmap", "local_costmap/costmap")
_ANSWER_S, _STEP_S = 5.0, 0.1
DRIVEN = {"atomic": ("drive_to_pose", "look_around"), "nav2": ("navigate_to_pose", "spin")}


def look_at_navigation(tap: Tap, namespace: str, map_topic: str) -> Navigation:
    """Return the servers of the actions that the graph calls, and the states of managed nodes.

    If our atomic navigator runs, it drives; else Nav2 has to. map_topic: as in Navigation.
    """
    driven = DRIVEN["atomic" if DRIVERS["atomic"] in tap.node.get_node_names() else "nav2"]
    served = {name: types[0] for name, types in get_action_names_and_types(tap.node) if types}
    names = {key: absolute(ACTIONS[key].name, namespace) for key in driven}
    costmaps = {name: tap.node.count_publishers(name) for name in (absolute(c, namespace) for c in _COSTMAPS)}
    states = _states(tap) if importlib.util.find_spec("lifecycle_msgs") else None
    return Navigation({name: served.get(name, "") for name in names.values()},
                      {names[key]: ACTIONS[key].type for key in driven}, states, costmaps, map_topic)


class Showing:
    """Asks a simulator once to publish its observation again, which moves nothing and is not counted.

    In lock-step a simulator publishes only when it is driven.
    """

    def __init__(self, node: Node, namespace: str) -> None:
        port = SERVICES["act"]
        self._request = interface(port.type).Request(action=interface(port.type).Request.OBSERVE)
        self._client = node.create_client(interface(port.type), absolute(port.name, namespace))
        self._call: Any = None

    def ask(self) -> None:
        """Send the request if there is a simulator and none was sent before."""
        if self._call is None and self._client.service_is_ready():
            self._call = self._client.call_async(self._request)

    @property
    def said(self) -> str:
        """The simulator's error message, "" for none."""
        return str(self._call.result().error_message) if self._call is not None and self._call.done() else ""


def _states(tap: Tap) -> dict[str, str]:
    """Ask every managed node for its state; "" for those that do not answer in time."""
    names = sorted(name for name, types in tap.node.get_service_names_and_types() if _GET_STATE in types)
    kind = interface(_GET_STATE)
    clients = {name.rpartition("/")[0]: tap.node.create_client(kind, name) for name in names}
    calls: dict[str, Any] = {}
    end = time.monotonic() + _ANSWER_S
    while sum(call.done() for call in calls.values()) < len(clients) and time.monotonic() < end:
        calls |= {node: client.call_async(kind.Request()) for node, client in clients.items()
                  if node not in calls and client.service_is_ready()}  # requests sent before that are lost
        tap.spin(_STEP_S)
    return {node: calls[node].result().current_state.label if node in calls and calls[node].done() else ""
            for node in clients}
