"""What real nodes open on the wire is what their policy of SROS 2 allows."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.ros.sros2 import policy
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.testing.waiting import holds
from tests.fixtures.courses import parameters
from tests.fixtures.endpoints import opened, unused
from tests.fixtures.policy_rules import allowed

PLANT = Sample("rights", "Where is the plant?", "", scene="toy:flat", seed=3)


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
