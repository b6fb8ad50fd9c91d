"""Least-privilege policies for SROS 2, generated from the rows of graph.py: `eqa graph --format sros2`.

Each node gets its own enclave with the permissions for its row, for what its base classes add and for what every
rclpy node needs; everything else is denied by default. The format is version 0.2.0 of sros2's policy schema; sros2
derives the hidden topics and services of an action from its `call` and `execute`.
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
NAMESPACE = "/eqa"  # path of the enclaves, not namespace of the nodes
NODE_SERVICES = ("describe_parameters", "get_parameter_types", "get_parameters", "list_parameters",
                 "set_parameters", "set_parameters_atomically",  # parameters
                 "change_state", "get_available_states", "get_available_transitions", "get_state",
                 "get_transition_graph")  # lifecycle
TRANSITION_EVENT = "~/transition_event"
TYPE_DESCRIPTION = "get_type_description"  # offered by every node from Jazzy on

_ASKING = ("ask", "reset_episode", "reset_recorder", "answer_question", "act", "recall", "reply")


class Client(NamedTuple):
    """A command-line program without a row in the graph: its node name, and a row that describes it."""

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
    """The permissions of one node as topic and service names: relative, absolute, or private with ~/."""

    publish: frozenset[str]
    subscribe: frozenset[str]
    reply: frozenset[str]
    request: frozenset[str]
    execute: frozenset[str]
    call: frozenset[str]


def rights_of(name: str, world: str = "") -> NodePermissions:
    """Return the permissions of a node of the graph, or of a client. Raises KeyError for an unknown one.

    world: world in which it runs, "" = any; a node on a robot calls no service of a simulator.
    """
    spec, client = (CLIENTS[name].spec, True) if name in CLIENTS else (NODES[name], False)
    calls = [key for key in spec.calls if client or world != "robot" or key not in SIMULATED]
    says = set(spec.publishes)
    subscribed = {*spec.subscribes, *spec.frames, *(TRANSFORMS if spec.frames else ())} - {*spec.apart}
    if not client:
        says |= {"started", "diagnostics"}
    if {*spec.calls} - {*NAV2_SERVES}:
        subscribed.add("started")  # to notice restarts of the called nodes
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
    """Return the permissions of a node's second node `NAME_listener`, None if it has none."""
    apart = NODES[name].apart
    if not apart:
        return None
    nothing: frozenset[str] = frozenset()
    return NodePermissions(frozenset({"/parameter_events"}), frozenset(TOPICS[key].name for key in (*apart, "clock")),
                           frozenset({f"~/{TYPE_DESCRIPTION}"}), nothing, nothing, nothing)


def policy(namespace: str = "/", remap: Mapping[str, str] = MappingProxyType({}), world: str = "") -> str:
    """Return the policy as XML. namespace: namespace of the nodes; remap: key of the graph -> its name on this robot.

    world: sim | robot | replay = the nodes that run there, "" = all nodes.

    Raises ConfigError for an unknown key, and for a namespace that is not absolute.
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
