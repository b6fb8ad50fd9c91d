"""Least-privilege policies for SROS 2, generated from the rows of graph.py: `eqa graph --format sros2`.

Each node gets an enclave of its own, and in it what its row names, what its base classes add and what a node of rclpy
always needs; everything else is denied by default. The format is version 0.2.0 of sros2's policy schema; hidden
topics and services of an action follow from its `call` and `execute`, as sros2 translates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple
from xml.etree import ElementTree

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.wire.graph import (
    ACTIONS,
    CAMERA_TOPICS,
    NAV2_SERVES,
    NODES,
    OPTIONAL,
    SERVICES,
    SIMULATED,
    TOPICS,
    TRANSFORMS,
    NodeSpec,
    nodes_of,
)

VERSION = "0.2.0"
NAMESPACE = "/eqa"  # of the enclaves, not of the nodes
NODE_SERVICES = ("describe_parameters", "get_parameter_types", "get_parameters", "list_parameters",
                 "set_parameters", "set_parameters_atomically",  # of parameters
                 "change_state", "get_available_states", "get_available_transitions", "get_state",
                 "get_transition_graph")  # of the lifecycle
TRANSITION_EVENT = "~/transition_event"
TYPE_DESCRIPTION = "get_type_description"  # offered by every node from Jazzy on

_ASKING = ("ask", "reset_episode", "reset_recorder", "answer_question", "act", "recall", "reply")


class Client(NamedTuple):
    """A command-line program, which has no row in the graph: its node name, and the row it would have."""

    node: str
    spec: NodeSpec


# By enclave: `eqa ask`, `eqa bench run` and `eqa replay`; `eqa console`; `eqa record`; live histories.
CLIENTS: dict[str, Client] = {
    "eqa_client": Client("eqa_client", NodeSpec("eqa_nodes.ros.client:GraphClient", calls=_ASKING,
                                                subscribes=("replay_status", "diagnostics", "model_calls",
                                                            "inquiry"))),
    "eqa_console": Client("eqa_client", NodeSpec(
        "eqa_nodes.ros.client:GraphClient", frames=("color",), calls=_ASKING, subscribes=(
            "replay_status", "map", "explored", "frontiers", "episode", "question", "answer", "decision",
            "model_calls", "inquiry", "keyframes", "reconstruction"))),
    "eqa_record": Client("eqa_record", NodeSpec("eqa_nodes.ros.tap:Tap", subscribes=("odom",),
                                                frames=("color", "depth", "camera_info"))),
    "eqa_live_history": Client("eqa_live_history", NodeSpec(
        "eqa_nodes.ros.live_history:LiveHistory", subscribes=("labels", "label_table"),
        frames=("color", "depth", "camera_info"))),
}


class NodePermissions(NamedTuple):
    """The permissions of one node, by topic and service names: relative, absolute, and ~/ for private names."""

    publish: frozenset[str]
    subscribe: frozenset[str]
    reply: frozenset[str]
    request: frozenset[str]
    execute: frozenset[str]
    call: frozenset[str]


def rights_of(name: str, world: str = "") -> NodePermissions:
    """Return the permissions of a node of the graph, or of a client. Raises KeyError for an unknown one.

    world: where it runs, "" = in any; a node on a robot asks for nothing of a simulator.
    """
    spec, client = (CLIENTS[name].spec, True) if name in CLIENTS else (NODES[name], False)
    calls = [key for key in spec.calls if client or world != "robot" or key not in SIMULATED]
    says = set(spec.publishes)
    subscribed = {*spec.subscribes, *spec.frames, *(TRANSFORMS if spec.frames else ())} - {*spec.apart}
    if not client:
        says |= {"started", "diagnostics"}
    if {*spec.calls} - {*NAV2_SERVES}:
        subscribed.add("started")  # whether who is called was started again
    if f"reset_{name}" in spec.serves:  # observers
        says.add("acknowledged")
        subscribed.add("episode")
    cameras = {topic.name for topic in CAMERA_TOPICS.values()} if "camera_info" in subscribed and not client else set()
    own = {f"~/{service}" for service in (TYPE_DESCRIPTION, *(() if client else NODE_SERVICES))}
    return NodePermissions(
        frozenset({TOPICS[key].name for key in says} | {"/parameter_events"}
                  | (set() if client else {"/rosout", TRANSITION_EVENT})),
        frozenset({TOPICS[key].name for key in subscribed} | {TOPICS["clock"].name} | cameras),
        frozenset({SERVICES[key].name for key in spec.serves if key in SERVICES} | own),
        frozenset(SERVICES[key].name for key in calls if key in SERVICES),
        frozenset(ACTIONS[key].name for key in spec.serves if key in ACTIONS),
        frozenset(ACTIONS[key].name for key in calls if key in ACTIONS))


def listener_of(name: str) -> NodePermissions | None:
    """Return the rights of the second node `NAME_listener` of who has one, else None."""
    apart = NODES[name].apart
    if not apart:
        return None
    nothing: frozenset[str] = frozenset()
    return NodePermissions(frozenset({"/parameter_events"}), frozenset(TOPICS[key].name for key in (*apart, "clock")),
                           frozenset({f"~/{TYPE_DESCRIPTION}"}), nothing, nothing, nothing)


def policy(namespace: str = "/", remap: Mapping[str, str] = MappingProxyType({}), world: str = "") -> str:
    """Return the policy as XML. namespace: of the nodes; remap: key of the graph -> its name on this robot.

    world: sim | robot | replay: of the nodes that run there, "" = of all.

    Raises ConfigError for a key that the graph does not have, and for what is no absolute namespace.
    """
    if not namespace.startswith("/"):
        raise ConfigError(f"namespace {namespace!r} must begin with /, as in /robot1")
    wires = {key: wire.name for table in (TOPICS, CAMERA_TOPICS, SERVICES, ACTIONS) for key, wire in table.items()}
    if strange := sorted(set(remap) - set(wires)):
        raise ConfigError(unknown("name in the graph", strange[0], wires))
    moved = {wires[key]: name for key, name in remap.items()}
    root = ElementTree.Element("policy", version=VERSION)
    enclaves = ElementTree.SubElement(root, "enclaves")
    nodes = nodes_of(world, recording=True, optional=OPTIONAL) if world else NODES
    for name in (*nodes, *CLIENTS):
        enclave = ElementTree.SubElement(enclaves, "enclave", path=f"{NAMESPACE}/{name}")
        profiles = ElementTree.SubElement(enclave, "profiles")
        _profile(profiles, CLIENTS[name].node if name in CLIENTS else name, namespace, rights_of(name, world),
                 moved)
        if name in NODES and (listener := listener_of(name)) is not None:
            _profile(profiles, f"{name}_listener", namespace, listener, moved)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _profile(profiles: ElementTree.Element, node: str, namespace: str, rights: NodePermissions,
             moved: Mapping[str, str]) -> None:
    profile = ElementTree.SubElement(profiles, "profile", ns=namespace, node=node)
    for kind, right in (("topic", "publish"), ("topic", "subscribe"), ("service", "reply"), ("service", "request"),
                        ("action", "execute"), ("action", "call")):
        if names := sorted(moved.get(name, name) for name in getattr(rights, right)):
            group = ElementTree.SubElement(profile, f"{kind}s", {right: "ALLOW"})
            for name in names:
                ElementTree.SubElement(group, kind).text = name
