"""The graph as data: topics, services, actions, and the nodes with what each of them uses.

Nodes create their interfaces from their row, the runners and launch files start the graph, `eqa graph` prints it, and
tests compare all of them with it. Names are relative, so a namespace or a remapping changes them. /tf, /tf_static,
/clock and /diagnostics are ROS's own; `own_world` renames the first three of them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple


class Qos(NamedTuple):
    """Quality of service, with the names that rosbag2 uses."""

    reliability: str = "reliable"  # reliable | best_effort
    durability: str = "volatile"  # volatile | transient_local
    depth: int = 10
    history: str = "keep_last"  # keep_last | keep_all

    @property
    def offer(self) -> OfferedQos:
        """Return the part that decides whether a publisher and a subscription match."""
        return OfferedQos(self.reliability == "reliable", self.durability == "transient_local")


class OfferedQos(NamedTuple):
    """The guarantees that a publisher offers and a subscription may request."""

    reliable: bool = False
    latched: bool = False  # transient local: late subscribers receive its last messages too

    def meets(self, asked: OfferedQos) -> bool:
        """Return whether this offer is compatible with a subscription that requests `asked`."""
        return self.reliable >= asked.reliable and self.latched >= asked.latched

    def __str__(self) -> str:
        return f"{'reliable' if self.reliable else 'best effort'}, {'transient local' if self.latched else 'volatile'}"


# frame: lock-step keeps one image in flight, the rest is slack. event: small messages that must not be lost.
# latched: late nodes receive the last message; state: the last few; static: the last one of each of many publishers.
KINDS = {"frame": Qos(), "event": Qos(depth=100), "clock": Qos(), "latched": Qos(durability="transient_local", depth=1),
         "state": Qos(durability="transient_local", depth=20), "static": Qos(durability="transient_local", depth=100)}


class Topic(NamedTuple):
    """A topic. qos: kind of its quality of service, a key of KINDS."""

    name: str
    type: str
    qos: str


UNSTAMPED = "geometry_msgs/msg/Twist"  # type of cmd_vel if Nav2 is older than Kilted


class Port(NamedTuple):
    """A service or an action."""

    name: str
    type: str


TOPICS: dict[str, Topic] = {
    "color": Topic("camera/color/image_raw", "sensor_msgs/msg/Image", "frame"),
    "depth": Topic("camera/depth/image_raw", "sensor_msgs/msg/Image", "frame"),
    "camera_info": Topic("camera/color/camera_info", "sensor_msgs/msg/CameraInfo", "frame"),
    "labels": Topic("labels/image_raw", "sensor_msgs/msg/Image", "frame"),
    "label_table": Topic("labels/table", "eqa_interfaces/msg/LabelArray", "frame"),
    "detected": Topic("detections/labels", "sensor_msgs/msg/Image", "frame"),
    "detected_table": Topic("detections/table", "eqa_interfaces/msg/LabelArray", "frame"),
    "detections": Topic("detections", "vision_msgs/msg/Detection3DArray", "event"),
    "odom": Topic("odom", "nav_msgs/msg/Odometry", "event"),
    "scan": Topic("scan", "sensor_msgs/msg/LaserScan", "frame"),
    "points": Topic("camera/depth/points", "sensor_msgs/msg/PointCloud2", "frame"),
    "cmd_vel": Topic("cmd_vel", "geometry_msgs/msg/TwistStamped", "event"),  # or UNSTAMPED; Nav2's
    "keep_out_info": Topic("keep_out/filter_info", "nav2_msgs/msg/CostmapFilterInfo", "latched"),
    "keep_out_mask": Topic("keep_out/mask", "nav_msgs/msg/OccupancyGrid", "latched"),
    "stop": Topic("stop", "std_msgs/msg/Bool", "latched"),  # the operator's
    "battery": Topic("battery_state", "sensor_msgs/msg/BatteryState", "event"),
    "localisation": Topic("amcl_pose", "geometry_msgs/msg/PoseWithCovarianceStamped", "latched"),
    "tf": Topic("/tf", "tf2_msgs/msg/TFMessage", "event"),
    "tf_static": Topic("/tf_static", "tf2_msgs/msg/TFMessage", "static"),
    "clock": Topic("/clock", "rosgraph_msgs/msg/Clock", "clock"),
    "acknowledged": Topic("lockstep/acknowledged", "std_msgs/msg/Header", "event"),
    "started": Topic("started", "std_msgs/msg/Header", "state"),
    "episode": Topic("episode", "eqa_interfaces/msg/Episode", "latched"),
    "map": Topic("map", "nav_msgs/msg/OccupancyGrid", "latched"),
    "explored": Topic("explored", "nav_msgs/msg/OccupancyGrid", "latched"),
    "frontiers": Topic("frontiers", "eqa_interfaces/msg/FrontierArray", "latched"),
    "stairs": Topic("stairs", "geometry_msgs/msg/PoseArray", "latched"),
    "reconstruction": Topic("reconstruction", "sensor_msgs/msg/PointCloud2", "latched"),
    "keyframes": Topic("keyframes", "eqa_interfaces/msg/Keyframe", "state"),
    "watch_events": Topic("watch_events", "eqa_interfaces/msg/WatchEvent", "state"),
    "view_assessments": Topic("view_assessments", "eqa_interfaces/msg/ViewAssessment", "event"),
    "markers": Topic("exploration/markers", "visualization_msgs/msg/MarkerArray", "latched"),
    "semantic_map": Topic("exploration/semantic_map", "nav_msgs/msg/OccupancyGrid", "latched"),
    "goal": Topic("exploration/goal", "geometry_msgs/msg/PoseStamped", "event"),  # Nav2 would drive to a goal_pose
    "decision": Topic("decision", "eqa_interfaces/msg/Decision", "event"),
    "model_calls": Topic("model_calls", "eqa_interfaces/msg/ModelCall", "event"),
    "inquiry": Topic("inquiry", "eqa_interfaces/msg/Inquiry", "latched"),
    "question": Topic("question", "std_msgs/msg/String", "event"),
    "answer": Topic("answer", "eqa_interfaces/msg/Answer", "event"),
    "replay_status": Topic("replay/status", "diagnostic_msgs/msg/DiagnosticStatus", "latched"),
    "diagnostics": Topic("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", "event"),
}

SECOND = "second_"
_FRAMES = ("color", "depth", "camera_info")
_ALTERNATIVES: dict[str, Topic] = {
    "color_compressed": Topic("camera/color/image_raw/compressed", "sensor_msgs/msg/CompressedImage", "frame"),
    "depth_compressed": Topic("camera/depth/image_raw/compressedDepth", "sensor_msgs/msg/CompressedImage", "frame"),
    "depth_camera_info": Topic("camera/depth/camera_info", "sensor_msgs/msg/CameraInfo", "frame"),
}
# Topics that nodes with frames subscribe to instead of these, or in addition, if the camera settings say so.
CAMERA_TOPICS: dict[str, Topic] = _ALTERNATIVES | {
    SECOND + key: topic._replace(name=topic.name.replace("camera/", "camera2/", 1))
    for key, topic in ({key: TOPICS[key] for key in _FRAMES} | _ALTERNATIVES).items()}

# Topics of a robot and its operator. Subscriptions adapt to the quality of service that each driver offers.
FOREIGN = frozenset({*_FRAMES, *CAMERA_TOPICS, "odom", "scan", "cmd_vel", "stop", "battery", "localisation", "tf",
                     "tf_static", "map"})
SELDOM = frozenset({"stop", "localisation", "tf_static"})  # perhaps sent only once, by a publisher that is not latched

SERVICES: dict[str, Port] = {
    "act": Port("act", "eqa_interfaces/srv/Act"),
    "reset_simulator": Port("simulator/reset_episode", "eqa_interfaces/srv/ResetEpisode"),
    "reset_mapper": Port("mapper/reset_episode", "eqa_interfaces/srv/ResetEpisode"),
    "reset_memory": Port("memory/reset_episode", "eqa_interfaces/srv/ResetEpisode"),
    "reset_recorder": Port("recorder/reset_episode", "eqa_interfaces/srv/ResetEpisode"),
    "reset_perception": Port("perception/reset_episode", "eqa_interfaces/srv/ResetEpisode"),
    "reset_reconstructor": Port("reconstructor/reset_episode", "eqa_interfaces/srv/ResetEpisode"),
    "reset_episode": Port("reset_episode", "eqa_interfaces/srv/ResetEpisode"),
    "recall": Port("recall", "eqa_interfaces/srv/Recall"),
    "recollect": Port("recollect", "eqa_interfaces/srv/Recollect"),
    "keep_view": Port("keep_view", "std_srvs/srv/Trigger"),
    "forget": Port("forget", "eqa_interfaces/srv/Forget"),
    "choose_goal": Port("choose_goal", "eqa_interfaces/srv/ChooseGoal"),
    "rank_regions": Port("rank_regions", "eqa_interfaces/srv/RankRegions"),
    "assess_views": Port("assess_views", "eqa_interfaces/srv/AssessViews"),
    "advise": Port("advise", "eqa_interfaces/srv/Advise"),
    "answer_question": Port("answer_question", "eqa_interfaces/srv/AnswerQuestion"),
    "reply": Port("reply", "eqa_interfaces/srv/Reply"),
    "get_global_costmap": Port("global_costmap/get_costmap", "nav2_msgs/srv/GetCostmap"),
    "clear_global_costmap": Port("global_costmap/clear_entirely_global_costmap", "nav2_msgs/srv/ClearEntireCostmap"),
    "clear_local_costmap": Port("local_costmap/clear_entirely_local_costmap", "nav2_msgs/srv/ClearEntireCostmap"),
    "bt_navigator_state": Port("bt_navigator/get_state", "lifecycle_msgs/srv/GetState"),
    "planner_state": Port("planner_server/get_state", "lifecycle_msgs/srv/GetState"),
    "controller_state": Port("controller_server/get_state", "lifecycle_msgs/srv/GetState"),
    "behavior_state": Port("behavior_server/get_state", "lifecycle_msgs/srv/GetState"),
    "amcl_state": Port("amcl/get_state", "lifecycle_msgs/srv/GetState"),
}

ACTIONS: dict[str, Port] = {
    "ask": Port("ask", "eqa_interfaces/action/Ask"),
    "drive_to_pose": Port("drive_to_pose", "eqa_interfaces/action/DriveToPose"),
    "look_around": Port("look_around", "eqa_interfaces/action/LookAround"),
    "navigate_to_pose": Port("navigate_to_pose", "nav2_msgs/action/NavigateToPose"),
    "spin": Port("spin", "nav2_msgs/action/Spin"),
}

# Nav2's actions that lead to motion: those that forward goals, and those that move the base.
GOAL_SENDERS = ("follow_waypoints", "navigate_through_poses", "navigate_to_pose")
MOVERS = ("follow_path", "spin", "backup", "drive_on_heading", "assisted_teleop", "dock_robot", "undock_robot")
CANCELING = {f"cancel_{name}": Port(f"{name}/_action/cancel_goal", "action_msgs/srv/CancelGoal")
             for name in (*GOAL_SENDERS, *MOVERS)}
SERVICES |= CANCELING
# Nav2's managed nodes and the services that report their state; those that clear its costmaps; all that we use.
MANAGED = {"bt_navigator": "bt_navigator_state", "planner_server": "planner_state",
           "controller_server": "controller_state", "behavior_server": "behavior_state", "amcl": "amcl_state"}
CLEARING = ("clear_global_costmap", "clear_local_costmap")
NAV2_SERVES = ("navigate_to_pose", "spin", "get_global_costmap", *CLEARING, *MANAGED.values(), *CANCELING)


class NodeSpec(NamedTuple):
    """One node: its class, the topics it publishes and subscribes to, the services it serves and calls.

    apart: subscriptions of a second node, NAME_listener, which runs in its own thread (ros/listener.py); frames: the
    parts of an observation that the node receives; threads: number of executor threads, more than one if a callback
    may wait for another; worlds: the worlds in which the node runs.
    """

    target: str
    publishes: tuple[str, ...] = ()
    subscribes: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    threads: int = 1
    worlds: tuple[str, ...] = ("sim", "robot", "replay")


NODES: dict[str, NodeSpec] = {
    "bridge": NodeSpec(
        "eqa_nodes.nodes.bridge:BridgeNode",
        publishes=("color", "depth", "camera_info", "labels", "label_table", "odom", "tf", "tf_static", "clock",
                   "scan", "points"),
        subscribes=("acknowledged", "episode", "cmd_vel", "tf", "tf_static"), apart=("acknowledged",),
        serves=("act", "reset_simulator"),  # transforms: if others localise the robot
        worlds=("sim",)),
    "replay": NodeSpec(
        "eqa_nodes.nodes.replay:ReplayNode",
        publishes=("color", "depth", "camera_info", "labels", "label_table", "odom", "tf", "clock", "replay_status"),
        subscribes=("acknowledged",), apart=("acknowledged",), serves=("act", "reset_simulator"),
        calls=("reset_episode",), worlds=("replay",)),
    "mapper": NodeSpec(
        "eqa_nodes.nodes.mapper:MapperNode", publishes=("map", "explored", "frontiers", "stairs"),
        frames=("depth", "camera_info"), serves=("reset_mapper",)),
    "memory": NodeSpec(
        "eqa_nodes.nodes.memory:MemoryNode", publishes=("keyframes", "watch_events"),
        frames=("color", "depth", "camera_info"), subscribes=("labels", "label_table", "detected", "detected_table"),
        serves=("reset_memory", "recall", "recollect", "keep_view", "forget")),
    "perception": NodeSpec(
        "eqa_nodes.nodes.perception:PerceptionNode", publishes=("detected", "detected_table", "detections"),
        frames=("color", "depth", "camera_info"), subscribes=("labels", "label_table"), serves=("reset_perception",)),
    "reconstructor": NodeSpec(
        "eqa_nodes.nodes.reconstructor:ReconstructorNode", publishes=("reconstruction",), subscribes=("answer",),
        frames=("color", "depth", "camera_info"), serves=("reset_reconstructor",)),
    "explorer": NodeSpec(
        "eqa_nodes.nodes.explorer:ExplorerNode", publishes=("markers", "semantic_map"),
        subscribes=("map", "explored", "frontiers", "stairs"),
        serves=("choose_goal",)),
    "navigator": NodeSpec(
        "eqa_nodes.nodes.navigator:NavigatorNode", subscribes=("map",), apart=("map",),
        serves=("drive_to_pose", "look_around"),
        calls=("act",), threads=4, worlds=("sim", "replay")),  # replay: reports that it cannot be driven
    "nav2_navigator": NodeSpec(
        "eqa_nodes.nodes.nav2_navigator:Nav2NavigatorNode",
        publishes=("keep_out_info", "keep_out_mask"),
        subscribes=("odom", "tf", "tf_static", "cmd_vel", "stop", "battery", "localisation"),
        apart=("odom", "tf", "tf_static"), serves=("drive_to_pose", "look_around"),
        calls=NAV2_SERVES, threads=6, worlds=("sim", "robot")),
    "answerer": NodeSpec(
        "eqa_nodes.nodes.answerer:AnswererNode", publishes=("view_assessments",),
        serves=("rank_regions", "assess_views", "advise", "answer_question"), threads=2),
    "recorder": NodeSpec(
        "eqa_nodes.nodes.recorder:RecorderNode",
        subscribes=("color", "depth", "camera_info", "odom", "tf", "tf_static", "map", "explored", "frontiers",
                    "stairs", "keyframes", "view_assessments", "markers", "semantic_map", "goal", "decision",
                    "model_calls", "inquiry", "question", "answer",
                    # for masking; a simulator's labels are also recorded if answers are made from them
                    "labels", "label_table", "detected", "detected_table"),
        serves=("reset_recorder",), worlds=("sim", "robot")),
    "agent": NodeSpec(
        "eqa_nodes.nodes.agent:AgentNode",
        publishes=("episode", "goal", "decision", "model_calls", "inquiry", "question", "answer"),
        subscribes=("odom", "tf", "tf_static", "acknowledged"), apart=("odom", "tf", "tf_static", "acknowledged"),
        serves=("ask", "reset_episode", "reply"),  # subscriptions: if no simulator counts
        calls=("act", "reset_simulator", "reset_mapper", "reset_memory", "reset_recorder", "reset_perception",
               "reset_reconstructor", "recall", "recollect", "keep_view", "choose_goal", "rank_regions", "assess_views",
               "advise", "answer_question", "drive_to_pose", "look_around"),
        threads=4),
}
DRIVERS = {"atomic": "navigator", "nav2": "nav2_navigator"}  # the driving node by parameter value; one runs

OBSERVERS = ("mapper", "memory", "recorder")  # acknowledge every observation in lock-step
PERCEPTION = "perception"  # an observer too, if a detector is chosen
RECONSTRUCTOR = "reconstructor"  # an observer too, if it is enabled
OPTIONAL = (PERCEPTION, RECONSTRUCTOR)
# Sources of instance labels: topics of the label image and the label table, by the value of parameter `labels_from`.
LABELS = {"simulator": ("labels", "label_table"), "detector": ("detected", "detected_table")}
# Types of the detections that the perception node receives from another node, on a topic that its settings name.
RECEIVED = ("vision_msgs/msg/Detection2DArray", "vision_msgs/msg/Detection3DArray", "yolo_msgs/msg/DetectionArray",
            "sensor_msgs/msg/Image")
LABEL_INFO = "vision_msgs/msg/LabelInfo"  # names of the classes in label images
# Services that only a simulated or replayed world offers; on a robot they are not called.
SIMULATED = frozenset(key for spec in NODES.values() if "reset_simulator" in spec.serves for key in spec.serves)
TRANSFORMS = ("tf", "tf_static")  # subscribed to by every node that processes frames


def absolute(name: str, namespace: str = "") -> str:
    """Return the absolute name of a name of the graph in a namespace."""
    return name if name.startswith("/") else f"/{namespace.strip('/')}".rstrip("/") + f"/{name}"


def own_world(namespace: str) -> dict[str, str]:
    """Return new names, by key, for the transforms and the clock of a simulation in a namespace.

    Nav2 has its transforms there too. Empty without a namespace.
    """
    return {key: TOPICS[key].name.lstrip("/") for key in (*TRANSFORMS, "clock") if namespace.strip("/")}


def nodes_of(world: str, recording: bool = False, navigator: str = "atomic",
             optional: Collection[str] = ()) -> list[str]:
    """Return the names of the nodes that run in a world: sim | robot | replay.

    recording: whether the recorder runs where it is optional; navigator: what drives a simulated robot, atomic | nav2
    (a real robot is driven by Nav2, a replay is not driven); optional: which nodes of OPTIONAL run.
    """
    left_out = {*OPTIONAL} - {*optional}
    driver = DRIVERS[{"robot": "nav2", "replay": "atomic"}.get(world, navigator)]
    return [name for name, spec in NODES.items() if (world in spec.worlds or (recording and name == "recorder"))
            and name not in left_out and (name not in DRIVERS.values() or name == driver)]
