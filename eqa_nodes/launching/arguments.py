"""The arguments of the launch files, as data: `python -m eqa_nodes.launching.arguments` prints them as tables."""

from __future__ import annotations

from typing import NamedTuple

from eqa_nodes.config.nodes import ATOMIC, NAV2
from eqa_nodes.config.profiles import PROFILES
from eqa_nodes.core.camera.config import TfConfig
from eqa_nodes.core.components import READERS
from eqa_nodes.core.types.inquiries import DRIVE_MODES
from eqa_nodes.recordings.bags.roles import ROLES
from eqa_nodes.wire.graph import TOPICS
from sim_bridge.robots import ROBOTS

YES_NO = ("false", "true")
RESTART, END = "restart", "end"  # on_exit
PRESENT, BRINGUP, NONE = "present", "bringup", "none"  # nav2
REMAPPED = ("color", "depth", "camera_info", "odom", "tf", "tf_static")  # keys of graph.TOPICS
FRAMES = {name: getattr(TfConfig(), name) for name in ("map_frame", "odom_frame", "base_frame")}

_MEMORY_FILE = "remember in this file over all runs; empty: in a file an episode"
BAG_FRAMES = {"map_frame": "map, odom or world", "base_frame": "base_link, base_footprint or base"}


class Argument(NamedTuple):
    """A launch argument. default: None = required; choices: () = any value."""

    default: str | None
    description: str
    choices: tuple[str, ...] = ()


def _common(agent: str, params: str) -> dict[str, Argument]:
    return {
        "params_file": Argument(f"launch/params/{params}",
                                "ROS parameter file for all nodes; the arguments here win over it"),
        "agent": Argument(agent, "named agent (docs/agents.md); empty: rules over labels, no model"),
        "answerer": Argument("", "who answers; empty: the agent's own"),
        "policy": Argument("", "exploration policy; empty: the agent's own"),
        "model": Argument("", "name of the model; empty: EQA_VLM_MODEL. A key comes from EQA_VLM_API_KEY alone"),
        "model_url": Argument("", "its OpenAI-compatible endpoint; empty: EQA_VLM_BASE_URL"),
        "detector": Argument("", "gives memory labels: perceiver, transformers, onnx, topic (docs/perception.md); "
                                 "empty: none"),
        "reconstruct": Argument("false", "publish the surfaces of the place on the topic reconstruction; needs Open3D",
                                YES_NO),
        "folder": Argument("", "where memory, bags and parameters of this run go; empty: its own, runs/launch/TIME"),
        "namespace": Argument("", "namespace of all nodes"),
        "composed": Argument("false", "all nodes in one process, instead of a process a node", YES_NO),
        "autostart": Argument("true", "nodes activate themselves; false: a lifecycle manager does", YES_NO),
        "on_exit": Argument(RESTART, "when a node dies: start it again, three times at most, or end the run",
                            (RESTART, END)),
        "ready_s": Argument("120.0", "seconds for all nodes to come up, else the run ends"),
    }


def _nav2(own: str, *more: str) -> dict[str, Argument]:
    return {
        "nav2": Argument(PRESENT, "present: it runs already, or you start it; bringup: nav2_bringup's navigation is "
                                  "started when the nodes are ready" + "; none: nothing drives" * bool(more),
                         (PRESENT, BRINGUP, *more)),
        "nav2_params_file": Argument("", f"Nav2's parameters for nav2:=bringup; empty: {own}"),
    }


_RVIZ = {"rviz": Argument("false", "start RViz with launch/rviz/eqa.rviz", YES_NO)}

ARGUMENTS: dict[str, dict[str, Argument]] = {
    "robot": {
        "driver": Argument("", "camera or robot whose topics, frames and camera settings are the defaults of the "
                               "arguments below (docs/robot.md); empty: none", ("", *sorted(PROFILES))),
        **{key: Argument(TOPICS[key].name, f"topic of the robot: {TOPICS[key].type}") for key in REMAPPED},
        **{name: Argument(default, "frame of the robot's transforms") for name, default in FRAMES.items()},
        "use_sim_time": Argument("false", "time comes from /clock", YES_NO),
        **_nav2("nav2_bringup's own", NONE),
        "drive": Argument("", "go: the robot drives at will; confirm: a person is asked before each drive; dry: "
                              "nothing moves, goals are shown; empty: as the parameter file says, else go",
                          ("", *DRIVE_MODES)),
        "ask_back": Argument("false", "ask a person what is meant where a question fits several things that memory "
                             "knows, or none", YES_NO),
        "record": Argument("false", "record a bag an episode", YES_NO),
        "memory_file": Argument("", _MEMORY_FILE),
        "map_name": Argument("", "of the map that the robot is localised in: what it remembers of the same one counts"),
        "enclave": Argument("", "SROS 2: NODE is in the enclave ENCLAVE/NODE (docs/security.md), such as /eqa"),
        **_common("ours", "robot.yaml"), **_RVIZ},
    "sim": {
        "scene": Argument("", "when ready, an episode begins in it, such as house:7; empty: none begins"),
        "seed": Argument("0", "of the episode"),
        "labels": Argument("false", "true: rules read the simulator's labels, as no robot can, and answers are "
                                    "privileged; false: with scene:=house:... the detector perceiver finds the objects",
                           YES_NO),
        "dataset": Argument("", "data set whose own robot drives, for eqa bench run --attach; empty: the default robot",
                            ("", *sorted(READERS))),
        "robot": Argument("", "body, camera and steps: a name of sim_bridge/robots.py; empty: the data set's",
                          ("", *sorted(ROBOTS))),
        "image": Argument("", "camera image, WIDTHxHEIGHT in pixels; empty: the robot's"),
        "start": Argument("", "date and time at which the simulator's clock starts, in local time or with a zone, such "
                              "as 2026-11-12T08:30; empty: 0 s, without a date"),
        "memory_file": Argument("", _MEMORY_FILE),
        "scenes": Argument("", "folder of scanned scenes, as their downloaders leave it; empty: EQA_SCENES"),
        "habitat_python": Argument("", "a Python that has habitat_sim; empty: EQA_HABITAT_PYTHON"),
        "record": Argument("true", "record a bag an episode", YES_NO),
        "navigator": Argument(ATOMIC, "atomic: our own, in lock-step; nav2: Nav2 drives by cmd_vel (docs/nav2.md)",
                              (ATOMIC, NAV2)),
        **_nav2("those for the simulated robot, FOLDER/nav2.yaml"),
        "headless": Argument("true", "false: start RViz with launch/rviz/eqa.rviz", YES_NO),
        **_common("", "sim.yaml")},
    "replay": {
        "source": Argument(None, "recording of any format of docs/histories.md with depth and poses, such as a bag"),
        "rate": Argument("0.0", "times real time, by the recorded stamps; 0 = lock-step: as fast as the nodes take the "
                                "frames in"),
        **{key: Argument("", f"topic of the bag: {' or '.join(ROLES[key])}; empty: found by type, count and name")
           for key in REMAPPED},
        "bag_namespace": Argument("", "namespace of the robot, where the bag has several; empty: found"),
        **{name: Argument("", f"frame of the bag's transforms; empty: {usual}") for name, usual in BAG_FRAMES.items()},
        "record": Argument("false", "record what is shown and what the graph makes of it", YES_NO),
        **_common("", "sim.yaml"), **_RVIZ},
}
