"""Checks of navigation: Nav2's action servers, the lifecycle of its nodes, its costmaps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eqa_nodes.core.findings import Finding

DRIVER = "bt_navigator"  # Nav2's node whose presence implies costmaps
_NEEDED = (DRIVER, "controller_server", "planner_server", "behavior_server", "map_server", "amcl", "slam_toolbox")


class Navigation(NamedTuple):
    """actions: action that the graph calls -> type of its server, "" = no server; wanted: action -> expected type.

    states: managed node -> the state that it reports, "" = no answer; None = lifecycle_msgs is not installed.
    costmaps: topic -> number of publishers. map_topic: "" if a map was received, else the topic tried.
    """

    actions: dict[str, str]
    wanted: dict[str, str]
    states: dict[str, str] | None
    costmaps: dict[str, int]
    map_topic: str = ""


def judge_navigation(seen: Navigation) -> Iterator[Finding]:
    """Judge the servers that drive the robot, and whether there is a map."""
    for name, type_name in seen.actions.items():
        yield _action(name, type_name, seen.wanted[name])
    yield from _lifecycle(seen.states)
    nav2 = any(node.rpartition("/")[2] == DRIVER for node in seen.states or {})
    for topic, publishers in seen.costmaps.items() if nav2 else ():
        yield Finding("costmap", "ok" if publishers else "error", f"{topic}: {publishers} publishers", "" if publishers
                      else "is Nav2's costmap node active? look at its log")
    if seen.map_topic:
        yield Finding("map", "warning", f"nothing came on {seen.map_topic}", "Nav2 plans on a map: start map_server or "
                      "SLAM; the graph's mapper makes one of its own when it runs")


def _action(name: str, type_name: str, wanted: str) -> Finding:
    if not type_name:
        return Finding(name.rpartition("/")[2], "error", f"no server for {name}", "bring up Nav2 (ros2 launch "
                       "nav2_bringup navigation_launch.py), or say its namespace; answers from memory need none "
                       "(eqa ask --no-explore)")
    if type_name != wanted:
        return Finding(name.rpartition("/")[2], "error", f"{name} is {type_name}, the graph calls {wanted}",
                       "use the messages of one distribution on both sides")
    return Finding(name.rpartition("/")[2], "ok", f"{name} ({type_name})")


def _lifecycle(states: dict[str, str] | None) -> Iterator[Finding]:
    if states is None:
        yield Finding("lifecycle", "warning", "lifecycle_msgs is not installed: states of managed nodes are not known",
                      "pip install ros-lifecycle-msgs, or apt install ros-$ROS_DISTRO-lifecycle-msgs")
        return
    off = {node: state for node, state in states.items() if state != "active"}
    if off:
        said = ", ".join(f"{node} {state or 'does not answer'}" for node, state in sorted(off.items()))
        needed = any(node.rpartition("/")[2] in _NEEDED for node in off)
        yield Finding("lifecycle", "error" if needed else "warning", said, "wait for the lifecycle manager, or look at "
                      f"its log; by hand: ros2 lifecycle set {sorted(off)[0]} activate")
    elif states:
        yield Finding("lifecycle", "ok", f"active: {', '.join(sorted(states))}")
