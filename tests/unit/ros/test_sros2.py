"""Policies of SROS 2: in the form of the schema, and each node holds what its row of the graph names, no more."""

from __future__ import annotations

import ast
from xml.etree import ElementTree

import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.ros.sros2 import CLIENTS, NODE_SERVICES, policy
from eqa_nodes.wire.graph import ACTIONS, CAMERA_TOPICS, NAV2_SERVES, NODES, SERVICES, TOPICS, TRANSFORMS
from tests.fixtures.paths import ROOT
from tests.fixtures.policy_rules import GOAL, Wires, allowed, check_schema

EVERY_NODE = Wires({"/rosout", "/parameter_events", "/started", "/diagnostics"}, {"/clock"}, set(), set())


@pytest.fixture(scope="module")
def rights() -> dict[str, Wires]:
    root = ElementTree.fromstring(policy())
    check_schema(root)
    return allowed(root)


def wire(name: str) -> str:
    return name if name.startswith("/") else f"/{name}"


def topics(keys: tuple[str, ...]) -> set[str]:
    return {wire(TOPICS[key].name) for key in keys}


def services(keys: tuple[str, ...]) -> set[str]:
    plain = {wire(SERVICES[key].name) for key in keys if key in SERVICES}
    return plain | {f"{wire(ACTIONS[key].name)}/_action/{part}" for key in keys if key in ACTIONS for part in GOAL}


def told(keys: tuple[str, ...]) -> set[str]:
    return {f"{wire(ACTIONS[key].name)}/_action/{part}" for key in keys if key in ACTIONS
            for part in ("feedback", "status")}


@pytest.mark.parametrize("name", NODES)
def test_a_node_holds_its_row_and_nothing_else(name: str, rights: dict[str, Wires]) -> None:
    spec, has = NODES[name], rights[f"/{name}"]
    cameras = {wire(topic.name) for topic in CAMERA_TOPICS.values() if "camera_info" in spec.subscribes + spec.frames}
    observer = f"reset_{name}" in spec.serves
    assert has.publishers == (topics(spec.publishes) | told(spec.serves) | EVERY_NODE.publishers
                              | {f"/{name}/transition_event"} | topics(("acknowledged",) * observer))
    if spec.apart:
        assert rights[f"/{name}_listener"].subscribers == topics(spec.apart) | EVERY_NODE.subscribers
    hears = {*spec.subscribes, *spec.frames, *TRANSFORMS * bool(spec.frames)} - {*spec.apart}
    assert has.subscribers == (topics(tuple(hears))
                               | told(spec.calls) | EVERY_NODE.subscribers | topics(("episode",) * observer)
                               | cameras | topics(("started",) * bool({*spec.calls} - {*NAV2_SERVES})))
    assert has.servers == services(spec.serves) | {f"/{name}/{own}" for own in (*NODE_SERVICES,
                                                                              "get_type_description")}
    assert has.clients == services(spec.calls)


def test_on_a_robot_nobody_asks_a_simulator_for_anything() -> None:
    root = ElementTree.fromstring(policy(world="robot"))
    check_schema(root)
    robot = allowed(root)
    assert "/bridge" not in robot and "/replay" not in robot and "/navigator" not in robot
    assert robot["/agent"].clients == services(tuple(key for key in NODES["agent"].calls
                                                     if key not in ("act", "reset_simulator")))


def test_nobody_may_set_the_parameters_of_another(rights: dict[str, Wires]) -> None:
    assert not {name for has in rights.values() for name in has.clients if "parameter" in name}


def test_only_who_drives_may_act(rights: dict[str, Wires]) -> None:
    assert {node for node, has in rights.items() if "/act" in has.clients} == {"/navigator", "/agent", "/eqa_client"}
    assert {node for node, has in rights.items() if "/drive_to_pose/_action/send_goal" in has.clients} == {"/agent"}
    nav2 = {node for node, has in rights.items() if "/navigate_to_pose/_action/send_goal" in has.clients}
    assert nav2 == {"/nav2_navigator"}


def test_every_node_has_an_enclave_of_its_own() -> None:
    enclaves = list(ElementTree.fromstring(policy()).iter("enclave"))
    assert [e.attrib["path"] for e in enclaves] == [f"/eqa/{name}" for name in (*NODES, *CLIENTS)]
    for enclave in enclaves:  # and in it nobody but the node and its listener
        name = enclave.attrib["path"].removeprefix("/eqa/")
        own = CLIENTS[name].node if name in CLIENTS else name
        assert {p.attrib["node"] for p in enclave.iter("profile")} <= {own, f"{own}_listener"}


def test_a_namespace_and_names_of_a_robot(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "--format", "sros2", "--namespace", "/robot1", "--remap", "color:=/front/image_raw"]) == 0
    root = ElementTree.fromstring(capsys.readouterr().out)
    check_schema(root)
    memory = allowed(root)["/robot1/memory"]
    assert "/front/image_raw" in memory.subscribers and "/robot1/camera/depth/image_raw" in memory.subscribers
    assert "/robot1/recall" in memory.servers and "/robot1/memory/get_parameters" in memory.servers


@pytest.mark.parametrize("wrong", [{"remap": {"colour": "/x"}}, {"namespace": "robot1"}])
def test_a_wrong_name_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="colour|robot1"):
        policy(**wrong)  # type: ignore[arg-type]


def test_every_node_that_the_code_makes_is_known() -> None:
    made = set()
    for path in [*(ROOT / "eqa_nodes").rglob("*.py"), *(ROOT / "sim_bridge").rglob("*.py")]:
        if ROOT / "eqa_nodes" / "testing" in path.parents:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("Node", "create_node"):
                made |= {word.value for word in node.args[:1] if isinstance(word, ast.Constant)}
    assert made == {client.node for client in CLIENTS.values()}, "give each node a row in sros2.CLIENTS"


def test_a_right_that_is_missing_would_be_seen() -> None:
    root = ElementTree.fromstring(policy().replace("<topic>map</topic>", "<topic>maps</topic>"))
    assert "/map" not in allowed(root)["/mapper"].publishers


@pytest.mark.parametrize("spoil", [
    ("version=\"0.2.0\"", "version=\"0.1.0\""), ("publish=\"ALLOW\"", "publish=\"YES\""),
    ("<enclaves>", "<enclaves x=\"1\">"), (" ns=\"/\"", "")])
def test_the_rules_of_the_schema_refuse(spoil: tuple[str, str]) -> None:
    with pytest.raises(AssertionError):
        check_schema(ElementTree.fromstring(policy().replace(*spoil)))
