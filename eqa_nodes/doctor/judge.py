"""Findings about a robot, live or in a bag, beside those of the bag reader: frames, floor, time, map, navigation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.camera.config import CameraConfig
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.findings import Finding
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.doctor.facts import ALSO, Grid, HeardStream, RobotFacts, TfLink
from eqa_nodes.recordings.bags.check import BagReport, check_bag
from eqa_nodes.recordings.bags.floor import judge_measured
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.recordings.bags.measure import Measured
from eqa_nodes.recordings.bags.poses import BASES, FIXED
from eqa_nodes.wire import messages

_WIDE_DEG = (20.0, 130.0)
_OF_ANOTHER = "calibrate the camera: the matrix may be that of another resolution, or of the image before cropping"


def judge_bag(path: Path, options: BagOptions) -> BagReport:
    """Check a bag in one pass. Raises StorageError if it cannot be opened, ConfigError for an unknown role."""
    facts = RobotFacts()
    report = check_bag(path, options, facts.take, ALSO)
    facts.move_by_odometry()
    more = list(judge(facts, report.measured, options, live=False, camera=CameraConfig(upright=True)))
    names = {line.name for line in more}
    return report._replace(findings=(*(line for line in report.findings if line.name not in names), *more))


def judge(facts: RobotFacts, measured: Measured, options: BagOptions, live: bool,
          camera: CameraConfig = CameraConfig()) -> Iterator[Finding]:
    """Judge what `bags.check.judged` does not. camera: camera settings of the graph."""
    yield from judge_frames(facts, options.map_frame, options.base_frame)
    yield from _floor(measured, camera)
    yield from judge_times(facts, live)
    if facts.grid is not None:
        yield judge_map(facts.grid)


def _floor(measured: Measured, camera: CameraConfig) -> Iterator[Finding]:
    for info in list(measured.cameras.values())[:1]:
        with suppress(BadFrame):  # reported in the line "intrinsics"
            yield judge_matrix(messages.intrinsics_of(info))
    yield from judge_measured(measured, camera.upright)


def judge_matrix(k: Intrinsics) -> Finding:
    """Judge whether a camera matrix is plausible for an image of this size."""
    wide = 2 * math.degrees(math.atan(k.width / 2 / k.fx))
    found = f"{k.width}x{k.height}, {wide:.0f} deg wide, centre at {k.cx:.0f}, {k.cy:.0f}"
    if not (0 < k.cx < k.width and 0 < k.cy < k.height):
        return Finding("camera matrix", "error", f"{found}: not in the image", _OF_ANOTHER)
    odd = [said for wrong, said in (
        (not _WIDE_DEG[0] <= wide <= _WIDE_DEG[1], "an unusual angle"),
        (max(k.fx / k.fy, k.fy / k.fx) > 1.25, f"fx {k.fx:.0f} and fy {k.fy:.0f} differ"),
        (abs(k.cx / k.width - 0.5) > 0.2 or abs(k.cy / k.height - 0.5) > 0.2, "far from the middle")) if wrong]
    return Finding("camera matrix", "warning", f"{found}: {', '.join(odd)}", _OF_ANOTHER) if odd else Finding(
        "camera matrix", "ok", found)


def judge_map(grid: Grid) -> Finding:
    """Judge whether a map has cells and some of them are known."""
    found = f"{grid.width}x{grid.height} cells of {grid.resolution_m:g} m, {grid.known:.0%} known"
    if not (grid.width and grid.height and grid.resolution_m > 0):
        return Finding("map", "error", found, "give map_server a map, or start SLAM")
    return Finding("map", "ok" if grid.known else "warning", found, "" if grid.known else
                   "no cell is known yet: drive a little, or load a map")


_OTHER_S = 3600.0  # a larger difference means two unrelated clocks
_OLD_S, _FUTURE_S, _APART_S, _WRONG_S = 0.5, 0.02, 0.1, 2.0
_JUMP_S = 1.0  # disagreement of stamps and arrival from one message to the next
_REPORTED = ("color", "depth")  # roles whose out-of-order stamps are reported with their rate


def judge_times(facts: RobotFacts, live: bool) -> Iterator[Finding]:
    """Judge ages and jumps. live: True = times of arrival are of now; in a bag, old messages only give warnings."""
    parents = facts.parents()
    chain = {frame for camera in facts.cameras.values() for frame in above(camera, parents)}
    streams = {**{role: s for role, s in facts.streams.items() if s.stamps_ns and role != "camera_info"},
               **{f"{link.parent} > {link.child}": s for link, s in facts.links.items()
                  if s.stamps_ns and link.child in chain}}
    if streams:
        ages = {name: float(np.median(s.age_s(facts.clock))) for name, s in streams.items()}
        yield _ages(ages, "/clock" if facts.clock.simulated else "this machine's clock" if live else
                    "the recorder's clock", live, _FUTURE_S + max(facts.clock.step_s, 0.0))
    anew = int((np.diff(np.array(facts.clock.values_ns, np.int64)) < 0).sum())
    if anew:
        yield Finding("clock", "error" if live else "warning", f"/clock went back {anew} times", "a simulation was "
                      "restarted, or /clock has two publishers: stop one, and restart the graph")
    jumps = [said for name, s in streams.items() if (said := _jumps(name, s, facts.clock.simulated))]
    back = any(" back " in said for said in jumps)
    yield Finding("time jumps", "error" if live and back else "warning" if jumps else "ok",
                  "; ".join(jumps) or f"none in {len(streams)} streams", "set clocks before the drivers start, and let "
                  "NTP or PTP slew them (chrony): a map from before a jump is lost" if jumps else "")


def _ages(ages: Mapping[str, float], clock: str, live: bool, slack_s: float) -> Finding:
    shown = ", ".join(f"{name} {_said(age)}" for name, age in ages.items())
    found = f"age on arrival by {clock}: {shown}"
    worst = max(ages.values(), key=abs)
    bad = "error" if live else "warning"
    if abs(worst) > _OTHER_S:
        return Finding("time sync", bad, found, "these are different clocks: with a simulator publish /clock and set "
                       "use_sim_time everywhere; else set the robot's clock (chrony), and stamp images when they are "
                       "taken")
    early = min((age for name, age in ages.items() if not name.startswith(f"{FIXED[0]} >")), default=0.0)
    if early < -slack_s:  # localisation post-dates its transforms by design
        return Finding("time sync", bad if early < -_APART_S - slack_s else "warning", found,
                       "stamps are in the future: synchronise the clocks of the robot and this machine (chrony, PTP)")
    if max(ages.values()) > _WRONG_S:
        return Finding("time sync", bad, found, "messages are too old to drive by: synchronise the clocks, or check "
                       "load and network")
    if max(ages.values()) > _OLD_S:
        return Finding("time sync", "warning", found, "synchronise the clocks, or check load and network")
    images = [age for name, age in ages.items() if name in _REPORTED]
    if images and (apart := max(abs(age - images[0]) for age in images)) > _APART_S:
        return Finding("time sync", "warning", f"{found}: colour and depth {apart:.2f} s apart",
                       "stamp both from one clock, when the image is taken")
    return Finding("time sync", "ok", found)


def _said(age_s: float) -> str:
    return f"{age_s * 1e3:.0f} ms" if abs(age_s) < 10 else f"{age_s:.4g} s"


def _jumps(name: str, stream: HeardStream, simulated: bool) -> str:
    """Describe stamps that went back or advanced by more than the time that passed; with /clock any pace is right."""
    stamps, received = (np.array(values, np.int64) for values in (stream.stamps_ns, stream.received_ns))
    steps, passed = np.diff(stamps) / 1e9, np.diff(received) / 1e9
    back = steps < 0 if name not in _REPORTED else steps < -_JUMP_S
    ahead = (steps - passed > _JUMP_S) & (not simulated)
    said = [f"{int(mask.sum())} x {word} by up to {abs(steps[mask]).max():.2f} s"
            for mask, word in ((back, "back"), (ahead, "ahead")) if mask.any()]
    return f"{name} {', '.join(said)}" if said else ""


_LAG_S, _STALE_S = 0.3, 2.0  # lag of a transform behind the images: warning, error
_SLOW_HZ = 5.0


def judge_frames(facts: RobotFacts, map_frame: str = "", base_frame: str = "") -> Iterator[Finding]:
    """Judge the chain from the map to the camera, its moving links, and unconnected frames."""
    parents = facts.parents()
    chain: list[str] = []
    for role, camera in sorted(facts.cameras.items()):
        found, chain = _chain(camera, parents, map_frame, base_frame)
        yield found._replace(name=f"tf to {role}")
    for link, stream in facts.links.items():
        if link.child in chain and stream.stamps_ns:
            yield _moving(link, stream, _images(facts))
    yield from _twice(parents)
    yield from _both(facts, chain)
    loose = _loose(parents, chain)
    if loose:
        yield Finding("loose frames", "warning", f"{'; '.join(loose)}: not connected to {chain[-1]}",
                      "publish the transform that connects them; ignore this if the graph needs none of them")


def above(frame: str, parents: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the frame and its ancestors, up to the root (or once around a loop)."""
    found = [frame]
    while (higher := parents.get(found[-1])) and higher[0] not in found:
        found.append(higher[0])
    return found


def _chain(camera: str, parents: Mapping[str, Sequence[str]], map_frame: str,
           base_frame: str) -> tuple[Finding, list[str]]:
    chain = above(camera, parents)
    said = " > ".join(reversed(chain))
    if chain[-1] in parents:
        return Finding("", "error", f"{said}: the frames form a loop", "stop one of the publishers of these "
                                                                       "transforms"), chain
    base = next((name for name in ((base_frame,) if base_frame else BASES) if name in chain), "")
    if base_frame and not base and (joined := next((name for name in above(base_frame, parents) if name in chain), "")):
        base, said = base_frame, f"{said}; the parent of {base_frame} is {joined}"
    fixed = next((name for name in ((map_frame,) if map_frame else FIXED) if name in chain), "")
    if len(chain) == 1:
        return Finding("", "error", f"no transform locates {camera!r}: it is not connected to the tree",
                       "publish a static transform from base_link (robot_state_publisher, static_transform_publisher), "
                       "or correct the frame_id in the camera's driver"), chain
    if not fixed:
        above_it = map_frame or "map, odom or world"
        return Finding("", "error", f"{said}: {chain[-1]!r} is not connected to {above_it}", "publish odom > "
                       "base_link (the robot's driver) and map > odom (localisation or SLAM)"), chain
    if not base:
        return Finding("", "warning", f"{said}: {base_frame or 'base_link'} is missing", "name it "
                       "(--base-frame); without it the base is assumed to be on the ground below the camera"), chain
    if not map_frame and fixed != FIXED[0]:
        return Finding("", "warning", f"{said}: {fixed!r} has no parent", "start localisation or SLAM (map > odom): "
                       "without it the map drifts with the odometry"), chain
    return Finding("", "ok", said), chain


def _moving(link: TfLink, stream: HeardStream, images: HeardStream) -> Finding:
    """Judge rate and lateness of a moving link of the chain, against the images that need it."""
    stamps = np.unique(np.array(stream.stamps_ns, np.int64))
    steps = np.diff(stamps) / 1e9
    rate = 1 / float(np.median(steps)) if len(steps) else 0.0
    late = _late_s(stream, images)
    found = (f"{rate:.1f} Hz" if len(steps) else "once") + f", {len(stream.stamps_ns)} messages" + (
        f"; {late * 1e3:.0f} ms behind the images" if late is not None else "")
    name = f"tf {link.parent} > {link.child}"
    if late is not None and late > _LAG_S:
        once = "it was published once: publish a link that does not move on /tf_static" if len(stamps) == 1 else (
            "check the load and the clock of its publisher; every image waits for it")
        return Finding(name, "error" if late > _STALE_S else "warning", found, once)
    frames = np.diff(np.unique(np.array(images.stamps_ns, np.int64))) / 1e9
    needed = min(_SLOW_HZ, 0.5 / float(np.median(frames))) if len(frames) else 0.0
    if rate < needed:
        return Finding(name, "warning", found, f"publish it at {_SLOW_HZ:g} Hz or more: poses are interpolated")
    return Finding(name, "ok", found)


def _late_s(stream: HeardStream, images: HeardStream) -> float | None:
    """Return by how much (s) the newest transform was older than the image on its arrival: the median over images."""
    if not images.stamps_ns:
        return None
    order = np.argsort(np.array(stream.received_ns, np.int64), kind="stable")
    received = np.array(stream.received_ns, np.int64)[order]
    newest = np.maximum.accumulate(np.array(stream.stamps_ns, np.int64)[order])
    at = np.searchsorted(received, np.array(images.received_ns, np.int64), "right") - 1
    late = (np.array(images.stamps_ns, np.int64) - newest[at.clip(0)])[at >= 0] / 1e9
    return float(np.median(late)) if len(late) else None


def _images(facts: RobotFacts) -> HeardStream:
    return facts.streams.get("depth") or facts.streams.get("color") or HeardStream()


def _twice(parents: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    for child, higher in sorted(parents.items()):
        if len(higher) > 1:
            yield Finding(f"tf of {child}", "error", f"{child!r} has several parents: {' and '.join(higher)}",
                          "stop one of the publishers: a frame has one parent")


def _both(facts: RobotFacts, chain: Sequence[str]) -> Iterator[Finding]:
    """Find links of the chain that are published as static and as moving: the graph uses the static one."""
    static = {(link.parent, link.child) for link in facts.links if link.static}
    for link in facts.links:
        if link.child in chain and not link.static and (link.parent, link.child) in static:
            yield Finding(f"tf of {link.child}", "error", f"{link.parent} > {link.child} is on /tf and, as a fixed "
                          "link, on /tf_static: the graph does not use the moving one",
                          "remove the fixed joint from the robot's description, or stop the node that publishes it")


def _loose(parents: Mapping[str, Sequence[str]], chain: Sequence[str]) -> list[str]:
    """Return the roots of other trees, with a few of their frames."""
    if not chain or chain[-1] in parents:  # no camera, or a loop
        return []
    trees: dict[str, list[str]] = {}
    for child in sorted(parents):
        root = above(child, parents)[-1]
        if root != chain[-1]:
            trees.setdefault(root, []).append(child)
    return [f"{root} ({', '.join(children[:3])}{' ...' if len(children) > 3 else ''})"
            for root, children in sorted(trees.items())]


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
                      else "check whether Nav2's costmap node is active; see its log")
    if seen.map_topic:
        yield Finding("map", "warning", f"no message on {seen.map_topic}", "Nav2 plans on a map: start map_server or "
                      "SLAM; the graph's mapper publishes its own map while it runs")


def _action(name: str, type_name: str, wanted: str) -> Finding:
    if not type_name:
        return Finding(name.rpartition("/")[2], "error", f"no server for {name}", "bring up Nav2 (ros2 launch "
                       "nav2_bringup navigation_launch.py), or give its namespace; answers from memory do not need it "
                       "(eqa ask --no-explore)")
    if type_name != wanted:
        return Finding(name.rpartition("/")[2], "error", f"{name} is {type_name}, the graph calls {wanted}",
                       "use the messages of the same ROS distribution on both sides")
    return Finding(name.rpartition("/")[2], "ok", f"{name} ({type_name})")


def _lifecycle(states: dict[str, str] | None) -> Iterator[Finding]:
    if states is None:
        yield Finding("lifecycle", "warning", "lifecycle_msgs is not installed: states of managed nodes are unknown",
                      "pip install ros-lifecycle-msgs, or apt install ros-$ROS_DISTRO-lifecycle-msgs")
        return
    off = {node: state for node, state in states.items() if state != "active"}
    if off:
        said = ", ".join(f"{node} {state or 'does not answer'}" for node, state in sorted(off.items()))
        needed = any(node.rpartition("/")[2] in _NEEDED for node in off)
        yield Finding("lifecycle", "error" if needed else "warning", said, "wait for the lifecycle manager, or see "
                      f"its log; by hand: ros2 lifecycle set {sorted(off)[0]} activate")
    elif states:
        yield Finding("lifecycle", "ok", f"active: {', '.join(sorted(states))}")
