"""Finds incompatible quality of service: subscriptions that request more than a publisher offers receive nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from eqa_nodes.core.findings import Finding
from eqa_nodes.wire.graph import OfferedQos

_STATIC = "/tf_static"


class Endpoint(NamedTuple):
    """A publisher or a subscription of a topic: the name of its node, and what it offers or asks for."""

    node: str
    offer: OfferedQos


class TopicEndpoints(NamedTuple):
    """All publishers and subscriptions of a topic, of one message type."""

    publishers: Sequence[Endpoint]
    subscriptions: Sequence[Endpoint]


def judge_qos(topics: Mapping[str, TopicEndpoints], graph: Collection[str]) -> Iterator[Finding]:
    """Name each subscriber that is incompatible with a publisher. graph: topics that the graph subscribes to."""
    found = [finding for topic, ends in sorted(topics.items()) for finding in _deaf(topic, ends, topic in graph)]
    found += [Finding("qos", "warning", f"{_STATIC}: {one.node} offers {one.offer}: nodes that start later never "
                                        "receive it",
                      "publish static transforms as tf2's StaticTransformBroadcaster does: transient local")
              for one in topics.get(_STATIC, TopicEndpoints((), ())).publishers if not one.offer.latched]
    yield from found or [Finding("qos", "ok", f"on {len(topics)} topics every subscription is compatible with every "
                                              "publisher")]


def _deaf(topic: str, ends: TopicEndpoints, graph: bool) -> Iterator[Finding]:
    asked: dict[str, list[OfferedQos]] = {}
    for end in ends.subscriptions:
        asked.setdefault(end.node, []).append(end.offer)
    for publisher in ends.publishers:
        for node, requests in asked.items():
            if not any(publisher.offer.meets(request) for request in requests):  # one that it has is enough
                yield _named(topic, publisher, node, requests[0], graph)


def _named(topic: str, publisher: Endpoint, node: str, asked: OfferedQos, graph: bool) -> Finding:
    less = [word for word, missing in (("best effort", asked.reliable > publisher.offer.reliable),
                                       ("volatile", asked.latched > publisher.offer.latched)) if missing]
    more = {"best effort": "reliable", "volatile": "transient local"}
    return Finding(
        "qos", "error" if graph else "warning",
        f"{topic}: {node} asks for {asked}, {publisher.node} offers {publisher.offer}: it receives nothing",
        f"let {publisher.node} publish {' and '.join(more[word] for word in less)}, or {node} subscribe "
        f"{' and '.join(less)}")
