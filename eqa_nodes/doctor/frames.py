"""Checks the frame tree: map -> odom -> base_link -> camera is complete and fresh, with no loose frames (REP 105)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from eqa_nodes.core.findings import Finding
from eqa_nodes.doctor.facts import HeardStream, RobotFacts, TfLink
from eqa_nodes.recordings.bags.poses import BASES, FIXED

_OLD_S, _STALE_S = 0.3, 2.0  # lag of a transform behind the images: warning, error
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
        yield Finding("loose frames", "warning", f"{'; '.join(loose)}: not joined to {chain[-1]}",
                      "publish the transform that joins them; no harm is done where the graph needs none of them")


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
        base, said = base_frame, f"{said}; {base_frame} hangs from {joined}"
    fixed = next((name for name in ((map_frame,) if map_frame else FIXED) if name in chain), "")
    if len(chain) == 1:
        return Finding("", "error", f"no transform locates {camera!r}: it is not connected to the tree",
                       "publish a static transform from base_link (robot_state_publisher, static_transform_publisher), "
                       "or correct the frame_id in the camera's driver"), chain
    if not fixed:
        above_it = map_frame or "map, odom or world"
        return Finding("", "error", f"{said}: {chain[-1]!r} is not connected, no {above_it} above it", "publish odom > "
                       "base_link (the robot's driver) and map > odom (localisation or SLAM)"), chain
    if not base:
        return Finding("", "warning", f"{said}: no {base_frame or 'base_link'} in it", "name it (--base-frame); "
                       "without one the base is assumed on the ground below the camera"), chain
    if not map_frame and fixed != FIXED[0]:
        return Finding("", "warning", f"{said}: nothing above {fixed!r}", "start localisation or SLAM (map > odom): "
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
    if late is not None and late > _OLD_S:
        once = "it was published once: a link that does not move belongs on /tf_static" if len(stamps) == 1 else (
            "look at the load and the clock of who publishes it; every image waits for it")
        return Finding(name, "error" if late > _STALE_S else "warning", found, once)
    frames = np.diff(np.unique(np.array(images.stamps_ns, np.int64))) / 1e9
    needed = min(_SLOW_HZ, 0.5 / float(np.median(frames))) if len(frames) else 0.0
    if rate < needed:
        return Finding(name, "warning", found, f"publish it at {_SLOW_HZ:g} Hz or more: poses between are guessed")
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
            yield Finding(f"tf of {child}", "error", f"{child!r} is said to hang from {' and from '.join(higher)}",
                          "end one of the publishers: a frame has one parent")


def _both(facts: RobotFacts, chain: Sequence[str]) -> Iterator[Finding]:
    """Find links of the chain that are published as static and as moving: the graph uses the static one."""
    static = {(link.parent, link.child) for link in facts.links if link.static}
    for link in facts.links:
        if link.child in chain and not link.static and (link.parent, link.child) in static:
            yield Finding(f"tf of {link.child}", "error", f"{link.parent} > {link.child} comes on /tf and, as a fixed "
                          "link, on /tf_static: the moving one is not used",
                          "take the fixed joint out of the robot's description, or end the node that publishes it")


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
