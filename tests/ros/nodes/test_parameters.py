"""Parameters of nodes that run: what their services tell and refuse; whoever uses a live one has its change."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import reduce
from pathlib import Path
from types import SimpleNamespace as Bag
from typing import Any

import pytest
from eqa_interfaces.msg import Episode
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import DescribeParameters, SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter

from eqa_nodes.config.nodes import SETTINGS
from eqa_nodes.config.parameters import parameters_of
from eqa_nodes.core.types.floor import FREE
from eqa_nodes.core.types.questions import Question
from eqa_nodes.nodes.agent import AgentNode
from eqa_nodes.ros.observation import Observations
from eqa_nodes.ros.process import node_class
from eqa_nodes.ros.remote import Service

WAIT_S = 60.0


class Services:
    """The parameter services of a node, as any other node calls them."""

    def __init__(self, ros: Any, name: str) -> None:
        node = ros.plain("operator")
        self._clients = {kind: node.create_client(kind, f"{name}/{verb}") for kind, verb in (
            (DescribeParameters, "describe_parameters"), (SetParameters, "set_parameters"),
            (SetParametersAtomically, "set_parameters_atomically"))}

    def call(self, kind: Any, **fields: Any) -> Any:
        client, done = self._clients[kind], threading.Event()
        assert client.wait_for_service(WAIT_S)
        future = client.call_async(kind.Request(**fields))
        future.add_done_callback(lambda _: done.set())
        assert done.wait(WAIT_S)
        return future.result()

    def set(self, **values: Any) -> list[Any]:
        return list(self.call(SetParameters, parameters=messages_of(values)).results)

    def set_together(self, **values: Any) -> Any:
        return self.call(SetParametersAtomically, parameters=messages_of(values)).result


def messages_of(values: dict[str, Any]) -> list[Any]:
    return [Parameter(name.replace("__", "."), value=value).to_parameter_msg() for name, value in values.items()]


@pytest.fixture
def agent(ros: Any) -> tuple[Any, Services]:
    return ros.add(AgentNode), Services(ros, "agent")


def test_a_live_parameter_is_set_and_a_wrong_one_refused_with_the_reason(agent: tuple[Any, Services]) -> None:
    node, services = agent
    assert services.set(agent__stale_s=400.0)[0].successful
    assert node.config.agent.stale_s == node.get_parameter("agent.stale_s").value == 400.0
    before = node.config
    for values, reason in (({"agent__risk": 1.5}, "out of range"), ({"agent__reply_s": 0.0}, "above 0"),
                           ({"agent__explore": "sideways"}, "asking, first, never"),
                           ({"agent__max_tokens": -1}, "0 or more"), ({"agent__reply_s": math.nan}, "nan"),
                           ({"agent__risk": 0.1}, "set agent.calibration"), ({"agent__stale_s": 1}, "type"),
                           ({"agent__calibration": "nowhere"}, "no calibration 'nowhere'")):
        [result] = services.set(**values)
        assert not result.successful and reason in result.reason, result.reason
    assert node.config is before


def test_what_wants_a_restart_is_read_only(agent: tuple[Any, Services]) -> None:
    node, services = agent
    before = node.config
    [result] = services.set(map_name="home")
    assert not result.successful and "read-only" in result.reason and node.config is before


def test_several_are_set_as_a_whole_or_not_at_all(agent: tuple[Any, Services]) -> None:
    node, services = agent
    risk = 0.3
    assert services.set_together(agent__risk=risk, agent__calibration="label").successful
    assert (node.config.agent.risk, node.config.agent.calibration) == (risk, "label")
    refused = services.set_together(agent__stale_s=7.0, agent__explore="sideways")
    assert not refused.successful and node.config.agent.stale_s == 14400.0
    assert node.get_parameter("agent.stale_s").value == 14400.0


def test_parameters_tell_what_they_are(agent: tuple[Any, Services]) -> None:
    _, services = agent
    names = ["agent.risk", "agent.max_tokens", "agent.reply_s", "map_name"]
    share, whole, open_, fixed = services.call(DescribeParameters, names=names).descriptors
    assert "Accepted share" in share.description and not share.read_only
    assert [(r.from_value, r.to_value) for r in share.floating_point_range] == [(0.0, 1.0)]
    assert share.type == ParameterType.PARAMETER_DOUBLE and "next question" in share.additional_constraints
    assert "0 or more" in whole.additional_constraints
    assert open_.floating_point_range[0].to_value == math.inf and "above 0" in open_.additional_constraints
    assert fixed.read_only and "restart" in fixed.additional_constraints and "same map" not in share.description


# Every live parameter, changed, and looked up in the object that uses it ----------------------------------------------

class Caught(Exception):
    """Carries what a stand-in was given."""


def catch(*args: Any, **fields: Any) -> Any:
    raise Caught(args, fields)


def caught(call: Callable[[], Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return what `catch` was called with."""
    with pytest.raises(Caught) as info:
        call()
    args, fields = info.value.args
    return args, fields


def at(config: Any, path: str) -> Any:
    """Return a value in a tree of settings."""
    return reduce(getattr, path.split("."), config)


Probe = Callable[[Any, str, pytest.MonkeyPatch], Any]  # node, name of the parameter -> the value in use


def mapper(node: Any, name: str, _: pytest.MonkeyPatch) -> Any:
    node.begin(Episode(episode_id="e"), False)
    return at(node.mapper.config, name.removeprefix("map."))


def memory(node: Any, name: str, _: pytest.MonkeyPatch) -> Any:
    store = node.store
    path = name.removeprefix("memory.")
    held = {"keyframes": store._novelty.config, "objects": store._objects.config}
    assert all(at(store._config, part) is config for part, config in held.items())
    return at(store._config, path)


def perception(node: Any, name: str, _: pytest.MonkeyPatch) -> Any:
    perceiver = node.perceiver
    assert perceiver._tracker.config is perceiver._config.tracking
    return at(perceiver._config, name.removeprefix("perceiver."))


def explorer(node: Any, name: str, patch: pytest.MonkeyPatch) -> Any:
    patch.setattr("eqa_nodes.nodes.explorer.make_policy", catch)
    patch.setattr(node.newest, "at", lambda *args, **fields: {})
    request = Bag(new_question=True, robot=Episode())
    (policy, params, robot), _ = caught(lambda: node._choose(request, None))
    assert robot == node.config.robot
    return at(Bag(policy=policy, params=params), name)


def navigator(node: Any, name: str, patch: pytest.MonkeyPatch) -> Any:
    if name.startswith("navigator."):
        patch.setattr("eqa_nodes.core.driving.atomic._AtomicDrive", catch)
        node._last = Bag(pose=Episode().start, stamp=Episode().header.stamp, steps=0, metres=0.0)
        return at(caught(lambda: node._look_around(None, FREE))[0][2], name.removeprefix("navigator."))
    goal = Bag(pose=Bag(pose=Episode().start, header=Bag(frame_id="map")))
    patch.setattr(node.navigator, "go_to", catch)
    patch.setattr(node.navigator, "look_around", catch)
    node._last = Episode().header
    uses: dict[str, Callable[[], Any]] = {
        "leg_deadline_s": lambda: {caught(lambda: node._look_around(None, FREE))[0][0],
                                   caught(lambda: node._go_to(goal, FREE))[0][1]}}
    [value] = uses[name]()
    return value


def recorder(node: Any, name: str, patch: pytest.MonkeyPatch) -> Any:
    patch.setattr("eqa_nodes.nodes.recorder.BagRecording", catch)
    (folder, _, bag, *_), _ = caught(lambda: node.begin(Episode(episode_id="e"), False))
    return at(Bag(folder=str(Path(folder).parent), bag=bag), name)


def agent_(node: Any, name: str, patch: pytest.MonkeyPatch) -> Any:
    if name.startswith("agent."):
        return at(node.queue.agent.config, name.removeprefix("agent."))
    patch.setattr(Service, "call", staticmethod(catch))
    patch.setattr(Service, "exchange", staticmethod(catch))
    assert name == "model_deadline_s"
    return caught(lambda: node.ports.answerer.regions(Question("")))[0][0]


def bridge(node: Any, name: str, patch: pytest.MonkeyPatch) -> Any:
    drive = node._velocities
    if name.startswith("robot.base."):
        return at(drive._base.config, name.removeprefix("robot.base."))
    if name.startswith("senses."):
        patch.setattr("eqa_nodes.nodes.bridge_velocities.Senses", catch)
        patch.setattr("eqa_nodes.nodes.bridge_velocities.taking", lambda simulator: simulator)
        first = Bag(frame=Bag(stamp_ns=1, map_from_base=None, base_from_camera=None))
        return at(caught(lambda: drive.begin(None, first, 0, 0))[0][0], name.removeprefix("senses."))
    if name.startswith("scan."):
        patch.setattr("eqa_nodes.nodes.bridge_velocities.scan_of", catch)
        frame = Bag(depth_m=None, intrinsics=None, base_from_camera=None)
        return at(caught(lambda: drive._scan(Bag(frame=frame)))[0][3], name.removeprefix("scan."))
    steps: list[float] = []
    waits: list[float] = []
    patch.setattr("eqa_nodes.nodes.bridge_velocities.time", Bag(monotonic=lambda: 0.0))
    patch.setattr(drive, "_advance", lambda world, seconds: steps.append(seconds))
    patch.setattr(drive, "_look", catch)
    drive._announced.set()
    caught(lambda: drive._run(Bag(stop=Bag(wait=waits.append, is_set=lambda: False))))
    assert name == "real_time_factor"
    return steps[0] / waits[0]


def replay(node: Any, name: str, patch: pytest.MonkeyPatch) -> Any:
    assert name == "rate"
    frames = [Bag(stamp_ns=s * 1_000_000_000) for s in (1, 2, 3)]
    reel = Bag(frame=frames[0], history=Bag(labels={}), coming=lambda: _changing(node, frames[1:]))
    reel.show = lambda frame: setattr(reel, "frame", frame)
    due: list[float] = []
    patch.setattr("eqa_nodes.nodes.replay.time", Bag(monotonic=lambda: 0.0))
    patch.setattr(node, "_wait", lambda seconds, stop: due.append(seconds))
    patch.setattr(node, "_publish", lambda *args: None)
    patch.setattr(Observations, "await_observers", lambda *args: None)
    patch.setattr(node, "_report_state", lambda state: None)
    node._run(reel, Bag(is_set=lambda: False))
    assert due[0] == due[1] * 2  # twice as fast from the second frame on, counted from the first
    return round(1.0 / due[0], 6)


def _changing(node: Any, frames: list[Any]) -> Iterator[Any]:
    yield frames[0]
    put(node, {"rate": node.config.rate * 2})
    yield frames[1]
    put(node, {"rate": node.config.rate / 2})


PROBES: dict[str, Probe] = {
    "mapper": mapper, "memory": memory, "perception": perception, "explorer": explorer, "navigator": navigator,
    "recorder": recorder, "agent": agent_, "bridge": bridge, "replay": replay}
NEEDS = {"perception": {"detector.name": "labels"}, "bridge": {"drive": "velocities"}}
OTHER: dict[str, Any] = {"policy": "frontier", "agent.explore": "first", "agent.calibration": "label",
                         "agent.risk": 0.3, "bag.compression": "zstd", "bag.color": "png", "bag.depth": "png",
                         "bag.names": "robot", "bag.split_mb": 2.0, "senses.localisation.by": "others",
                         "senses.depth_noise": 0.1}


def other(name: str, default: Any) -> Any:
    """Return an allowed value that is not the default."""
    if name in OTHER:
        return OTHER[name]
    if isinstance(default, bool):
        return not default
    if isinstance(default, tuple):
        return ("cat",)
    if isinstance(default, float):
        return default * 0.9 or 0.25
    return default + 1 if isinstance(default, int) else f"{default}-2"


def put(node: Any, values: dict[str, Any]) -> None:
    result = node.set_parameters_atomically([Parameter(name, value=value) for name, value in values.items()])
    assert result.successful, result.reason


@pytest.mark.parametrize("name", [
    name for name, config in SETTINGS.items() if any(parameter.live for parameter in parameters_of(config))])
def test_whoever_uses_a_live_parameter_has_its_change(ros: Any, name: str, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    overrides = [Parameter(key, value=value) for key, value in NEEDS.get(name, {}).items()]
    node = node_class(name)(context=ros.context, parameter_overrides=overrides)
    try:
        node.bring_up()
        if name == "memory":
            node.begin(Episode(episode_id="e"), False)
        for parameter in parameters_of(SETTINGS[name]):
            if not parameter.live:
                continue
            value = other(parameter.name, parameter.default)
            put(node, {"agent.calibration": "label"} if parameter.name == "agent.risk" else {})
            put(node, {parameter.name: value})
            with monkeypatch.context() as patch:
                used = PROBES[name](node, parameter.name, patch)
            assert not is_dataclass(used)
            assert used == pytest.approx(value), f"{name}: {parameter.name} is live, and {used} is used, not {value}"
            if parameter.name == "agent.risk":
                put(node, {"agent.risk": 0.0})
    finally:
        node.destroy_node()


def test_a_node_that_is_renamed_keeps_its_settings(ros: Any) -> None:
    node = node_class("mapper")(context=ros.context, cli_args=[
        "--ros-args", "-r", "__node:=mapper2", "-p", "map.voxel_m:=0.2", "-p", "robot.radius_m:=0.3"])
    try:
        assert (node.get_name(), node.config.map.voxel_m, node.config.robot.radius_m) == ("mapper2", 0.2, 0.3)
        put(node, {"map.voxel_m": 0.1})
        assert node.config.map.voxel_m == 0.1
    finally:
        node.destroy_node()
