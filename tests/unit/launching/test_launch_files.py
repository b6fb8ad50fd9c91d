"""Launch files where there is no launch: what stand-ins for launch are told.

tests/launch runs them for real, test_launch_plans.py has what they plan.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from eqa_nodes.core.errors import EqaError, NodeLost
from eqa_nodes.launching import EPISODE_FAILED, INTERRUPTED, NOT_READY
from eqa_nodes.launching.arguments import ARGUMENTS
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.ros import environment
from eqa_nodes.ros.run import LAUNCH, RUN
from eqa_nodes.ros.runner import RESTARTS
from eqa_nodes.wire.graph import nodes_of
from tests.fixtures.documented import PAGES
from tests.fixtures.histories import walk
from tests.fixtures.launch_plans import FILES, WORLDS, chosen
from tests.fixtures.paths import ROOT

ACTIONS = "eqa_nodes.launching.actions"


class Recorded(SimpleNamespace):
    """What a launch action was told; `given` are its positional arguments."""

    def __init__(self, *given: Any, **kwargs: Any) -> None:
        super().__init__(given=given, **kwargs)

    def perform(self, context: Any) -> str:
        """Of LaunchConfiguration."""
        return context.said[self.given[0]]


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stand-ins for launch and launch_ros."""
    for name in ("launch", "launch.actions", "launch.substitutions", "launch.launch_description_sources",
                 "launch.logging", "launch_ros", "launch_ros.actions", "ament_index_python",
                 "ament_index_python.packages"):
        module = ModuleType(name)
        module.__getattr__ = lambda attribute: type(attribute, (Recorded,), {})  # type: ignore[method-assign]
        monkeypatch.setitem(sys.modules, name, module)
    index = sys.modules["ament_index_python.packages"]
    index.PackageNotFoundError = KeyError  # type: ignore[attr-defined]
    index.get_package_share_directory = {"nav2_bringup": "/share/nav2_bringup"}.__getitem__  # type: ignore[attr-defined]
    logs = SimpleNamespace(get_log_file_path=lambda name: f"/logs/{name}")
    sys.modules["launch.logging"].launch_config = logs  # type: ignore[attr-defined]
    sys.modules.pop(ACTIONS, None)
    yield
    sys.modules.pop(ACTIONS, None)


def entities(world: str) -> list[Any]:
    """Return what a launch file describes."""
    file = runpy.run_path(str(FILES / f"{world}.launch.py"))
    return file["generate_launch_description"]().given[0]


def begun(world: str, folder: Path, **said: str) -> list[Any]:
    """Return the processes that a launch file starts, without what it says before."""
    entity = entities(world)[-1]
    context = SimpleNamespace(said=chosen(world, folder, **said), is_shutdown=False)
    said_first, *processes = [each for each in entity.function(context, *entity.args)
                              if type(each).__name__ != "SetEnvironmentVariable"]
    assert str(folder) in said_first.msg
    return processes


def dies(process: Any, code: int, ending: bool = False) -> Any:
    """Return what follows when a process ends."""
    return process.on_exit(SimpleNamespace(returncode=code, process_name=f"{process.executable}-1"),
                           SimpleNamespace(is_shutdown=ending))


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("world", WORLDS)
def test_a_launch_file_describes_its_arguments(world: str) -> None:
    declared = {entity.given[0]: entity for entity in entities(world)
                if type(entity).__name__ == "DeclareLaunchArgument"}
    assert declared.keys() == ARGUMENTS[world].keys() and all(entity.description for entity in declared.values())
    assert all(entity.default_value in entity.choices for entity in declared.values() if entity.choices)
    assert Path(declared["params_file"].default_value).is_file()


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("world", WORLDS)
def test_a_distribution_stays_as_it_was_set_up(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def variables() -> list[str]:
        return [one.given[0] for one in entities(world) if type(one).__name__ == "SetEnvironmentVariable"]

    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    assert variables() == [RUN, LAUNCH]
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: object())
    assert variables() == [*environment.IMAGES, *environment.WHEELS, RUN, LAUNCH]


@pytest.mark.usefixtures("stand_ins")
def test_each_node_is_a_process_with_the_same_parameters(tmp_path: Path) -> None:
    *processes, ready = begun("robot", tmp_path, color="/front/image", enclave="/eqa", namespace="r1")
    assert [(p.executable, p.name) for p in processes] == [(n, n) for n in nodes_of("robot") if n != "recorder"]
    for process in processes:
        assert process.parameters == [str(tmp_path / "params.yaml")] and process.namespace == "r1"
        assert process.remappings == [("camera/color/image_raw", "/front/image")]
        assert process.ros_arguments == ["--enclave", f"/eqa/{process.name}"]
    assert ready.executable == "ready" and ready.ros_arguments == ["--enclave", "/eqa/eqa_client"]
    assert ready.arguments[:4] == ["--nodes", ",".join(p.name for p in processes), "--deadline", "120.0"]


@pytest.mark.usefixtures("stand_ins")
def test_where_scans_are_reaches_every_process(tmp_path: Path) -> None:
    entity = entities("sim")[-1]
    context = SimpleNamespace(said=chosen("sim", tmp_path, scenes=str(tmp_path)), is_shutdown=False)
    first = entity.function(context, *entity.args)[0]
    assert type(first).__name__ == "SetEnvironmentVariable" and first.given == ("EQA_SCENES", str(tmp_path))


@pytest.mark.usefixtures("stand_ins")
def test_composed_is_one_process_that_names_no_node(tmp_path: Path) -> None:
    """A name would be that of every node in it."""
    process, ready = begun("sim", tmp_path, composed="true")
    assert process.executable == "graph" and process.arguments == ["--nodes", ",".join(nodes_of("sim"))]
    assert not hasattr(process, "name") and not hasattr(process, "ros_arguments") and ready.executable == "ready"


@pytest.mark.usefixtures("stand_ins")
def test_what_dies_is_started_again_so_often(tmp_path: Path) -> None:
    process = begun("sim", tmp_path)[1]
    assert dies(process, -2, ending=True) is None
    for death in range(1, RESTARTS + 1):
        said, process = dies(process, -9)
        assert f"mapper ended with code -9, and is started again ({death} of {RESTARTS})" in said.msg
        assert process.executable == process.name == "mapper"
    with pytest.raises(NodeLost, match=r"mapper ended with code -9 after 3 restarts; its log is /logs/mapper-1\.log"):
        dies(process, -9)


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize(("said", "code", "complaint"), [
    ({"on_exit": "end"}, -9, "bridge ended with code -9; its log is"), ({}, 2, "code 2, a wrong setting"),
    ({"on_exit": "end", "composed": "true"}, 1, "graph ended with code 1")])
def test_what_ends_the_run_is_named(tmp_path: Path, said: dict[str, str], code: int, complaint: str) -> None:
    with pytest.raises(NodeLost, match=complaint):
        dies(begun("sim", tmp_path, **said)[0], code)


@pytest.mark.usefixtures("stand_ins")
def test_a_replay_is_not_begun_anew(tmp_path: Path) -> None:
    write_bag(walk(2), tmp_path / "bag")
    with pytest.raises(NodeLost, match="replay ended with code 1"):
        dies(begun("replay", tmp_path, source=str(tmp_path / "bag"))[0], 1)


@pytest.mark.usefixtures("stand_ins")
def test_nav2_follows_when_the_nodes_are_ready(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.touch()
    for file, expected in (("", "/share/nav2_bringup/params/nav2_params.yaml"), (str(own), str(own))):
        ready = begun("robot", tmp_path, nav2="bringup", nav2_params_file=file, use_sim_time="true", namespace="r1")[-1]
        assert ready.arguments[-1] == "--up"
        group, waiting = dies(ready, 0)
        (included,) = group.given[0]
        assert included.given[0].given == ("/share/nav2_bringup/launch/navigation_launch.py",)
        assert dict(included.launch_arguments) == {"namespace": "r1", "use_sim_time": "true", "autostart": "true",
                                                   "params_file": expected}
        assert waiting.executable == "ready" and waiting.arguments[-1] == "--robot" and dies(waiting, 0) == []
    (waiting,) = dies(begun("robot", tmp_path)[-1], 0)
    assert waiting.arguments[-1] == "--robot" and waiting.remappings == []


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("world", ["sim", "replay"])
def test_a_namespace_has_its_own_clock_and_transforms(world: str, tmp_path: Path) -> None:
    write_bag(walk(2), tmp_path / "bag")
    said = {"source": str(tmp_path / "bag")} if world == "replay" else {}
    for namespace, moved in (("r1", [("/tf", "tf"), ("/tf_static", "tf_static"), ("/clock", "clock")]), ("", [])):
        processes = begun(world, tmp_path, **said, namespace=namespace)
        assert processes and all(process.remappings == moved for process in processes)


@pytest.mark.usefixtures("stand_ins")
def test_nav2_in_a_namespace_hears_the_clock_of_its_simulation(tmp_path: Path) -> None:
    ready = begun("sim", tmp_path, navigator="nav2", nav2="bringup", scene="toy:flat", namespace="r1")[-1]
    (group,) = dies(ready, 0)
    moved, included = group.given[0]
    assert type(moved).__name__ == "SetRemap" and moved.given == ("/clock", "clock")
    assert included.given[0].given == ("/share/nav2_bringup/launch/navigation_launch.py",)


@pytest.mark.usefixtures("stand_ins")
def test_why_the_graph_is_not_ready_is_told_apart(tmp_path: Path) -> None:
    ready = begun("robot", tmp_path)[-1]
    with pytest.raises(NodeLost, match="not become ready"):
        dies(ready, NOT_READY)
    with pytest.raises(NodeLost, match="was ready, but its episode has not begun"):
        dies(ready, EPISODE_FAILED)
    for code in (INTERRUPTED, -2, -15):  # Ctrl-C, which launch may hear of after it
        assert dies(ready, code) is None


@pytest.mark.usefixtures("stand_ins")
def test_who_activates_nodes_by_hand_has_time(tmp_path: Path) -> None:
    ready = begun("sim", tmp_path, autostart="false")[-1]
    assert ready.arguments[2:4] == ["--deadline", "inf"]


@pytest.mark.usefixtures("stand_ins")
def test_a_missing_package_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISTRO", "kilted")
    with pytest.raises(EqaError, match="rviz2 is not installed: apt-get install ros-kilted-rviz2"):
        begun("robot", tmp_path, rviz="true")
    monkeypatch.setattr(sys.modules[ACTIONS], "get_package_share_directory", {}.__getitem__)
    with pytest.raises(EqaError, match="apt-get install ros-kilted-nav2-bringup"):
        begun("robot", tmp_path, nav2="bringup")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "launch" / "robot.launch.py"], ids=lambda page: page.name)
def test_no_printed_line_launches_a_robot_that_drives_at_will(page: Path) -> None:
    lines = [line for line in page.read_text().splitlines() if "launch eqa_nodes robot.launch.py" in line]
    assert [line for line in lines if "drive:=dry" not in line and "drive:=confirm" not in line
            and "--show-args" not in line] == []
