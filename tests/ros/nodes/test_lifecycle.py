"""Nodes are managed: what each state means, on the wire as a lifecycle manager asks for it."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from pathlib import Path
from typing import Any

import pytest
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.action import ActionServer
from std_msgs.msg import Header

from eqa_nodes.core.errors import ConfigError, ErrorCode, StorageError
from eqa_nodes.nodes.mapper import MapperNode
from eqa_nodes.nodes.memory import MemoryNode
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.node import EqaNode, executor_of
from eqa_nodes.ros.process import node_class
from eqa_nodes.ros.run import signature_in
from eqa_nodes.testing.waiting import until
from eqa_nodes.wire.graph import NODES, SERVICES, TOPICS

WAIT_S = 60.0


def call(node: Any, name: str, kind: Any, **fields: Any) -> Any:
    """Call a service and wait for its response."""
    client = node.create_client(kind, name)
    assert client.wait_for_service(WAIT_S)
    done, future = threading.Event(), client.call_async(kind.Request(**fields))
    future.add_done_callback(lambda _: done.set())
    assert done.wait(WAIT_S), name
    return future.result()


class Manager:
    """Asks for transitions as `ros2 lifecycle set` does."""

    def __init__(self, node: Any, name: str) -> None:
        self._node, self._name = node, name

    def to(self, label: str) -> bool:
        request = ChangeState.Request()
        request.transition.label = label
        return bool(call(self._node, f"/{self._name}/change_state", ChangeState, transition=request.transition).success)

    @property
    def state(self) -> str:
        return str(call(self._node, f"/{self._name}/get_state", GetState).current_state.label)


def reset(caller: Any, name: str, episode: str) -> Any:
    port = SERVICES[f"reset_{name}"]
    message = interface("eqa_interfaces/msg/Episode")(episode_id=episode)
    return call(caller, f"/{port.name}", interface(port.type), episode=message)


@pytest.mark.parametrize("name", sorted(NODES))
def test_every_node_goes_through_its_states_and_back(name: str, ros: Any, tmp_path: Path) -> None:
    overrides = {"memory": {"folder": str(tmp_path)}, "recorder": {"folder": str(tmp_path)},
                 "perception": {"detector__name": "labels"}}.get(name, {})
    if name == "reconstructor":
        pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")
    node = ros.add(node_class(name), node__autostart=False, **overrides)
    manager = Manager(ros.plain("manager"), name)
    assert manager.state == "unconfigured" and not offered(node)
    for _ in range(2):  # a node that was cleaned up can be configured once more
        assert manager.to("configure") and manager.state == "inactive" and not node.active
        assert offered(node) == {SERVICES[key].name for key in node.spec.serves if key in SERVICES}
        assert manager.to("activate") and manager.state == "active" and node.active
        assert manager.to("deactivate") and manager.state == "inactive" and not node.active
        assert manager.to("cleanup") and manager.state == "unconfigured" and not offered(node)
    assert manager.to("shutdown") and manager.state == "finalized"


def offered(node: EqaNode) -> set[str]:
    """Return which services of the graph a node offers."""
    named = {f"/{port.name}": port.name for port in SERVICES.values()}
    return {named[service.service_name] for service in node.services if service.service_name in named}


def test_inactive_it_refuses_by_name_and_active_again_it_answers(ros: Any, tmp_path: Path) -> None:
    ros.add(MemoryNode, folder=str(tmp_path))
    plain = ros.plain("manager")
    manager = Manager(plain, "memory")
    assert reset(plain, "memory", "one").error_code == ErrorCode.NONE
    assert manager.to("deactivate")
    refused = reset(plain, "memory", "two")
    assert refused.error_code == ErrorCode.NODE_LOST and "ros2 lifecycle set /memory activate" in refused.error_message
    assert manager.to("activate")
    assert reset(plain, "memory", "two").error_code == ErrorCode.NONE
    assert {path.name for path in tmp_path.glob("*.sqlite")} == {"one.sqlite", "two.sqlite"}


def test_it_says_that_it_started_only_when_it_is_active(ros: Any) -> None:
    heard: list[str] = []
    plain = ros.plain("listener")
    plain.create_subscription(Header, TOPICS["started"].name, lambda m: heard.append(signature_in(m.frame_id)),
                              qos(TOPICS["started"].qos))
    manager = Manager(plain, "mapper")
    ros.add(MapperNode, node__autostart=False)
    assert manager.to("configure") and heard == []
    assert manager.to("activate")
    until(lambda: heard == ["mapper"])


def test_an_episode_that_it_hears_of_before_it_is_active_is_no_fault(ros: Any) -> None:
    topic, plain = TOPICS["episode"], ros.plain("bridge")
    episode = interface(topic.type)(episode_id="e")
    plain.create_publisher(interface(topic.type), topic.name, qos(topic.qos)).publish(episode)  # it is latched
    node, manager = ros.add(MapperNode, node__autostart=False), Manager(plain, "mapper")
    assert manager.to("configure")
    until(lambda: node.episode is not None and node.episode.episode_id == "e")
    assert manager.to("activate") and manager.state == "active"


def test_what_cannot_be_configured_stays_unconfigured_and_says_why(ros: Any, tmp_path: Path) -> None:
    class Broken(MapperNode):
        def configure(self) -> None:
            super().configure()
            if not (tmp_path / "there").exists():
                raise StorageError(f"{tmp_path}/there is missing: make it")

    with pytest.raises(StorageError, match="make it"):
        ros.add(Broken)
    ros.close_node("mapper")
    node = Broken(context=ros.context, parameter_overrides=[])
    ros.spin(executor_of(node))
    manager = Manager(ros.plain("manager"), "mapper")
    assert not manager.to("configure") and manager.state == "unconfigured" and not offered(node)
    (tmp_path / "there").touch()
    assert manager.to("configure") and manager.to("activate")
    node.destroy_node()


def test_a_clean_up_that_comes_while_the_executor_begins_to_wait_ends_no_node(ros: Any,
                                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    """By then rclpy has chosen what to wait for, and the server of an action is gone."""
    node, real, cleaned = ros.add(node_class("navigator")), ActionServer.__enter__, threading.Event()

    def interrupted(server: Any) -> None:
        if not cleaned.is_set():
            node.trigger_deactivate()
            node.trigger_cleanup()
            cleaned.set()
        real(server)

    monkeypatch.setattr(ActionServer, "__enter__", interrupted)
    manager = Manager(ros.plain("manager"), "navigator")
    until(lambda: manager.state == "unconfigured")
    assert cleaned.is_set() and manager.to("configure") and manager.to("activate")


def test_a_fault_of_the_program_in_a_transition_is_no_silent_one(ros: Any, capfd: Any) -> None:
    class Faulty(MapperNode):
        def activate(self) -> None:
            raise ZeroDivisionError("in activate")

    with pytest.raises(ZeroDivisionError):
        ros.add(Faulty)
    assert "ZeroDivisionError: in activate" in capfd.readouterr().err


def test_a_wrong_parameter_is_no_state(ros: Any) -> None:
    with pytest.raises(ConfigError, match="did you mean map.voxel_m"):
        ros.add(MapperNode, map__voxels=0.1)
