"""Subscribes to topics of any running robot, with the types and qualities of service that it offers."""

from __future__ import annotations

import difflib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.ros.rates import LossCounter
from eqa_nodes.ros.spinning import OneThread
from eqa_nodes.ros.subscriptions import AdaptiveSubscriptions, offer_of
from eqa_nodes.wire.graph import KINDS, TOPICS, Qos, Topic

TRANSFORMS = {"/tf": KINDS["event"], "/tf_static": KINDS["static"]}  # as ROS publishes them
_TF_TYPE = "tf2_msgs/msg/TFMessage"
_DEPTH = 30  # queue length in the middleware: one second of images at 30 Hz


class TappedTopic(NamedTuple):
    """A topic: its type and the lowest quality of service that its publishers offer.

    past: also request the messages that publishers keep for late subscribers.
    """

    type: str
    qos: Qos
    past: bool = True


def as_stream(role: str, topic: TappedTopic) -> TappedTopic:
    """Return how to subscribe to a role's topic: without past messages for a stream, which may be minutes old.

    A RealSense keeps its last image and sends no images while there is no subscriber.
    """
    return topic._replace(past=KINDS[TOPICS[role].qos].durability == "transient_local")


class Tap:
    """A node that subscribes to chosen topics; a context manager. counts, lost: received and lost messages by topic.

    Losses are counted by gaps in each publisher's sequence numbers, if the middleware provides them (Fast DDS does).
    """

    def __init__(self) -> None:
        self.counts, self.lost = Counter[str](), Counter[str]()
        self._gaps: dict[str, LossCounter] = {}
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = Node("eqa_record", context=self._context, enable_rosout=False, start_parameter_services=False)
        self._executor = OneThread(context=self._context)
        self._executor.add_node(self._node)
        self._adaptive = AdaptiveSubscriptions(self._node)

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(timeout_sec=1.0)
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    @property
    def node(self) -> Node:
        """The subscribing node; only `spin` spins it."""
        return self._node

    def published(self) -> dict[str, list[str]]:
        """Return the topics that have a publisher, with their types."""
        return {name: sorted(types) for name, types in self._node.get_topic_names_and_types()
                if self._node.count_publishers(name)}

    def find(self, names: Sequence[str], wait_s: float) -> dict[str, TappedTopic]:
        """Return the published topics of these names, and the transforms, which may be published later.

        Raises ConfigError if a topic is not published within `wait_s`, has publishers of several types, or a type
        that is not installed on this machine.
        """
        end = time.monotonic() + wait_s
        while missing := [name for name in names if not self._node.get_publishers_info_by_topic(name)]:
            if time.monotonic() > end:
                raise ConfigError(self._absent(missing, wait_s))
            self.spin(0.1)
        offered = [name for name in TRANSFORMS if self._node.get_publishers_info_by_topic(name)]
        return {**{name: TappedTopic(_TF_TYPE, qos) for name, qos in TRANSFORMS.items()},
                **{name: self.offer(name) for name in (*offered, *names)}}

    def subscribe(self, topics: Mapping[str, TappedTopic], take: Callable[[str, bytes], None]) -> None:
        """Subscribe; `take` is called with topic and serialized message in the spinning thread.

        Messages of publishers that start later, or offer another quality of service, are received too.
        """
        for name, (type_name, offered, past) in topics.items():
            expected = offered._replace(depth=max(_DEPTH, offered.depth))
            self._adaptive.subscribe(Topic(name, type_name, ""), partial(self._take, name, take), raw=True, past=past,
                                     expected=expected, seldom=name == "/tf_static")

    def spin(self, seconds: float) -> None:
        """Receive messages for this long, in this thread."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)

    def _take(self, name: str, take: Callable[[str, bytes], None], data: bytes, info: Mapping[str, Any]) -> None:
        self.counts[name] += 1
        self.lost[name] += self._gaps.setdefault(name, LossCounter()).take(info)
        take(name, data)

    def offer(self, name: str) -> TappedTopic:
        """Return type and quality of a published topic. Raises ConfigError as in `find`."""
        infos = self._node.get_publishers_info_by_topic(name)
        types = sorted({info.topic_type for info in infos})
        if len(types) != 1:
            raise ConfigError(f"topic {name} is published as {' and as '.join(types)}: end one of its publishers")
        try:
            interface(types[0])
        except ConfigError as error:
            package = types[0].split("/")[0]
            raise ConfigError(f"topic {name} is of type {types[0]}, which this machine does not know: install or build "
                              f"the package {package}, and source its workspace") from error
        offers = [offer_of(info.qos_profile) for info in infos]
        depth = max(info.qos_profile.depth for info in infos)
        return TappedTopic(types[0], Qos("reliable" if all(offer.reliable for offer in offers) else "best_effort",
                                         "transient_local" if all(offer.latched for offer in offers) else "volatile",
                                         depth))

    def _absent(self, missing: Sequence[str], wait_s: float) -> str:
        there = sorted(self.published())
        lines = []
        for name in missing:
            near = difflib.get_close_matches(name, there, 3, 0.6)
            lines.append(f"topic {name} is not published" + (f" (did you mean {' or '.join(near)}?)" if near else ""))
        return (f"{'; '.join(lines)}: waited {wait_s:g} s; there are {', '.join(there) or 'none'}. Is ROS_DOMAIN_ID "
                "that of the robot?")
