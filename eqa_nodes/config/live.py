"""Which settings may be changed while a node runs."""

from __future__ import annotations

from dataclasses import fields

from eqa_nodes.core.agent.agent import AgentConfig

# What may be changed while a node runs, and from when on that counts: names of parameters or of groups of them. All
# else wants a restart; so does what nodes must agree on (privacy, observers, who drives, the robot's body).
NOW, EPISODE = "at once", "next episode"
_CALLS, _SHOWS = {"node.call_deadline_s": NOW}, {"taken_deadline_s": NOW, "repeat_s": NOW}
LIVE: dict[str, dict[str, str]] = {
    "mapper": {"map": EPISODE},
    "memory": {f"memory.{name}": NOW for name in ("keyframes", "perception", "places", "objects", "budget_mb")},
    "perception": {"perceiver.tracking": NOW, "perceiver.detection.perception": NOW} | {
        f"perceiver.detection.{name}": NOW for name in (
            "score", "near_m", "far_m", "eps_m", "doubled", "around", "floor_m")},
    "explorer": {"policy": "next question", "params": "next question"},
    "navigator": _CALLS | {"map_deadline_s": NOW, "leg_deadline_s": "next goal"} | {
        f"navigator.{name}": "next goal" for name in ("tolerance_m", "snap_m", "allow_unknown", "patience")},
    "nav2_navigator": {}, "answerer": {},
    "recorder": {"bag": "next bag", "folder": "next bag"},
    "agent": _CALLS | {"map_deadline_s": NOW, "model_deadline_s": NOW, "observe_deadline_s": EPISODE} | {
        f"agent.{field.name}": "next question" for field in fields(AgentConfig)
        if field.name != "leg_deadline_s"},  # in the graph who drives has its own
    "bridge": _SHOWS | {"robot.base": NOW, "real_time_factor": NOW, "physics_hz": EPISODE, "camera_hz": EPISODE,
                        "scan.frame_m": EPISODE} | {
        f"scan.{name}": "next picture" for name in ("low_m", "high_m", "min_range_m", "max_range_m")},
    "replay": _SHOWS | {"rate": "next picture"}}


DRILLS = ("node.test_lose_share", "node.test_duplicate_share", "node.test_late_share", "node.test_late_s",
          "node.test_tf_delay_s", "node.test_seed")  # of every node that began with a seed


def live(node: str, parameter: str) -> str:
    """Say from when on a change of a parameter counts while the node runs; "" = it wants a restart."""
    if parameter in DRILLS:
        return NOW
    return next((when for name, when in LIVE[node].items() if f"{parameter}.".startswith(f"{name}.")), "")
