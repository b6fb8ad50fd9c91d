"""What real nodes open on the wire is what their policy of SROS 2 allows."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.ros.sros2 import policy
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.testing.waiting import holds
from eqa_nodes.wire.graph import CAMERA_TOPICS, TOPICS
from tests.fixtures.policy_rules import Wires, allowed
from tests.ros.system.test_lockstep import parameters

PLANT = Sample("rights", "Where is the plant?", "", scene="toy:flat", seed=3)
OTHERS = ("labels", "label_table", "detected", "detected_table", "tf", "tf_static", "odom", "scan", "points",
          "cmd_vel", "replay_status", "clock", "episode")  # their use is up to settings
BY_NEED = {f"/{TOPICS[key].name.lstrip('/')}" for key in OTHERS if key in TOPICS} | {
    "/perception/reset_episode", "/reconstructor/reset_episode"} | {
    f"/{topic.name}" for topic in CAMERA_TOPICS.values()}


def opened(asker: Any, name: str) -> Wires:
    """Return what a node has opened, as another node sees it."""
    asked = (asker.get_publisher_names_and_types_by_node, asker.get_subscriber_names_and_types_by_node,
             asker.get_service_names_and_types_by_node, asker.get_client_names_and_types_by_node)
    return Wires(*({topic for topic, _ in ask(name, "/")} for ask in asked))


def unused(has: Wires, may: Wires) -> set[str]:
    """Return the rights that a node does not use, but for those that its settings decide on."""
    left = {name for used, given in zip(has, may, strict=True) for name in given - used}
    return {name for name in left if name not in BY_NEED and not name.endswith("get_type_description")}


def test_a_graph_that_answers_uses_its_rights_and_no_other(tmp_path: Path) -> None:
    may = allowed(ElementTree.fromstring(policy()))
    with closing(GraphRunner(tmp_path, parameters(tmp_path), Limits(steps=10))) as runner:
        assert runner.run(PLANT).answer.error == 0
        asker = runner.client.node
        for name in runner.graph.nodes:
            holds(lambda name=name: not unused(opened(asker, name), may[f"/{name}"]))
            assert not unused(opened(asker, name), may[f"/{name}"]), f"rights that {name} does not use"
        nodes = {name for name, space in asker.get_node_names_and_namespaces() if space == "/"}
        assert {*runner.graph.nodes, "eqa_client", "bridge_listener"} <= nodes
        for name in sorted(nodes):
            for used, given in zip(opened(asker, name), may[f"/{name}"], strict=True):
                assert used <= given, f"{name} opens {used - given}, which its policy denies"
