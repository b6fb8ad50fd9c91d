"""The settings of every node, one dataclass per node, and of the whole graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, cast, get_type_hints

from eqa_nodes.config.policies import policy_parameters
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import QUEUE_LIMIT
from eqa_nodes.core.answerers.wordings import OWN, WORDINGS
from eqa_nodes.core.camera.config import CameraConfig, SecondCameraConfig, TfConfig
from eqa_nodes.core.components import DEFAULT_ANSWERER, DEFAULT_POLICY, DETECTORS, POLICIES
from eqa_nodes.core.driving.config import DrivingConfig
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.mapping.config import MapperConfig, NavigatorConfig, ScanConfig, check_body
from eqa_nodes.core.memory import MemoryConfig
from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.core.perception.tracking import PerceiverConfig
from eqa_nodes.core.ranges import Count, Counted, NotNegative, Positive, Range, check_ranges, date_ns
from eqa_nodes.core.reconstruction.config import ReconstructionConfig
from eqa_nodes.core.registry import is_class
from eqa_nodes.core.settings import BAG, EPISODE, GOAL, NOW, PICTURE, QUESTION, constant, group, setting
from eqa_nodes.core.storage.text import file_name
from eqa_nodes.core.types.inquiries import DRIVE_MODES, GO
from eqa_nodes.core.types.robot import RobotModel, SensesConfig
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.recordings.options import ReadingConfig, RecordingConfig
from eqa_nodes.wire.graph import LABELS, MANAGED, OBSERVERS, PERCEPTION, RECEIVED, RECONSTRUCTOR

ACTIONS, VELOCITIES = "actions", "velocities"  # what drives a simulated robot
ATOMIC, NAV2 = "atomic", "nav2"  # the driver: our navigator, or Nav2, which gets its goals from our nav2_navigator
COMMANDERS = ("auto", "simple_commander", "wire")  # how nav2_navigator communicates with Nav2
TOPIC = "topic"  # the detector whose detections are received from another node
NEW, KEEP = "new", "keep"  # the map after a jump of localisation
ODOMETRY = ("simulator", "topics")  # source of the agent's counts and pose


@dataclass(frozen=True)
class NodeSettings:
    """Settings that nodes share; each node declares those that it uses."""

    autostart: bool = setting(True,
        "Configure and activate the node when it starts. If false, it waits for a lifecycle manager.")
    camera: CameraConfig = CameraConfig()
    second_camera: SecondCameraConfig = SecondCameraConfig()
    tf: TfConfig = TfConfig()
    call_deadline_s: Positive = constant(60.0, "Deadline of a call to another node in seconds.")
    drive: str = setting(GO,
        "Whether the robot may be moved: go | confirm (a person is asked before each drive and each look round) | dry "
        "(nothing moves; goals are shown). Agent and navigators read it. A navigator refuses goals that it does not "
        "allow, from any client.")
    min_rate_hz: NotNegative = setting(0.0,
        "Minimum rate of each camera topic in hertz; a lower rate sets WARN on /diagnostics; 0 disables the check.")
    max_age_s: NotNegative = setting(0.0,
        "Maximum age of a camera message in seconds; older messages set ERROR on /diagnostics; 0 disables the check.")

    def __post_init__(self) -> None:
        if self.drive not in DRIVE_MODES:
            raise ConfigError("node: " + unknown("drive", self.drive, DRIVE_MODES))


# Groups of the shared settings that nodes use.
_ANY = ("autostart", "tf.map_frame")
_CALLER = (*_ANY, "call_deadline_s")
_PLACED = (*_ANY, "tf.odom_frame", "tf.base_frame", "tf.time_jump_s", "tf.relocated_m", "tf.relocated_rad")
_SIGHT = ("camera.width", "camera.height", "camera.hfov_deg", "camera.height_m", "camera.tilt_down_deg")
_FRAMES = ("autostart", "camera", "second_camera", "tf", "min_rate_hz", "max_age_s")


@dataclass(frozen=True)
class Settings:
    """Base class of the settings of every node."""

    node: NodeSettings = setting(NodeSettings(), reads=_ANY)


@dataclass(frozen=True)
class MapperSettings(Settings):
    """Parameters of the mapper node."""

    node: NodeSettings = setting(NodeSettings(), reads=_FRAMES)
    robot: RobotModel = setting(RobotModel(), reads=(
        "radius_m", "height_m", *_SIGHT, "climb_m", "stairs"))
    map: MapperConfig = setting(MapperConfig(), live=EPISODE)
    relocated: str = setting(NEW, "What happens to the map when localisation jumps: new (start a new map) | keep.")

    def __post_init__(self) -> None:
        check_body(self.map, self.robot)
        if self.relocated not in (NEW, KEEP):
            raise ConfigError("mapper: " + unknown("relocated", self.relocated, (NEW, KEEP)))


@dataclass(frozen=True)
class KeepsImages(Settings):
    """The common settings of memory and recorder, so that both mask the same."""

    node: NodeSettings = setting(NodeSettings(), reads=_FRAMES)
    memory: MemoryConfig = setting(MemoryConfig(), reads=("privacy",))
    labels_from: str = setting("simulator",
        "Source of the labels, also of those that privacy masks: simulator (privileged) | detector (the perception "
        "node).")

    def __post_init__(self) -> None:
        if self.labels_from not in LABELS:
            raise ConfigError(unknown("source labels_from", self.labels_from, LABELS))


@dataclass(frozen=True)
class MemorySettings(KeepsImages):
    """Parameters of the memory node."""

    memory: MemoryConfig = MemoryConfig()
    folder: str = setting("memory", "Folder of the memory files.")
    file: str = setting("",
        'Name of one file in that folder that all episodes share and keep; "" uses one file per episode.')
    labels: bool = setting(False, "Store labelled objects.")
    text: str = setting("",
        'Detector that reads the text in the views that are stored: ocr (extra ocr), or one of another package; "" '
        "reads none, so that only a simulator's labels contain text.")
    pending: Counted = constant(30,
        "Maximum number of observations that wait for missing parts. Use more with a slow detector and many frames.")

    def path_of(self, episode_id: str) -> Path:
        """Return the memory file of an episode."""
        return Path(self.folder) / (self.file or f"{file_name(episode_id)}.sqlite")

    @property
    def reads_simulator(self) -> bool:
        """Return whether a simulator's labels are read (privileged): the world must have labels."""
        return self.labels and self.labels_from == "simulator"


@dataclass(frozen=True)
class PerceptionSettings(Settings):
    """Parameters of the perception node."""

    node: NodeSettings = setting(NodeSettings(), reads=_FRAMES)
    detector: DetectorConfig = DetectorConfig()
    perceiver: PerceiverConfig = PerceiverConfig()
    newest: bool = setting(False,
        "Process only the newest image whenever the detector is free. If false every image is processed (lock-step).")
    detections_topic: str = setting("", "Topic of another node's detections, for the detector topic.")
    detections_type: str = constant(RECEIVED[0],
        "Type of that topic: vision_msgs/msg/Detection2DArray | vision_msgs/msg/Detection3DArray | "
        "yolo_msgs/msg/DetectionArray | sensor_msgs/msg/Image (label images: a class number for each pixel).")
    detections_table: str = constant("",
        "Topic of a vision_msgs/msg/LabelInfo with the names of the classes in label images; \"\" uses detector.names.")
    detections_tolerance_s: NotNegative = constant(0.02,
        "Maximum difference in seconds between the stamps of detections and their image; detections with the stamp of "
        "an image always belong to it.")

    def __post_init__(self) -> None:
        if self.detections_type not in RECEIVED:
            raise ConfigError("perception: " + unknown("detections_type", self.detections_type, RECEIVED))
        if (self.detector.name == TOPIC) != bool(self.detections_topic):
            raise ConfigError(f"perception: detector.name is {self.detector.name!r} and detections_topic "
                              f"{self.detections_topic!r}: to use another node's detections, set detector.name to "
                              f"{TOPIC!r} and detections_topic to their topic; otherwise leave detections_topic empty")
        check_ranges(self, "perception")

    @property
    def labels(self) -> bool:
        """Return whether the detector reads the simulator's labels (privileged)."""
        return bool(self.detector.name) and DETECTORS.traits(self.detector.name).labels


@dataclass(frozen=True)
class ReconstructorSettings(Settings):
    """Parameters of the reconstructor node."""

    node: NodeSettings = setting(NodeSettings(), reads=("autostart", "camera", "tf"))
    enabled: bool = setting(False, "Run this node, as an observer. It needs Open3D (the extra map3d).")
    reconstruction: ReconstructionConfig = ReconstructionConfig()
    every_s: Positive = setting(5.0,
        "Minimum time between two messages on the topic reconstruction, in seconds of the stamps.")
    max_points: Counted = constant(200_000, "Maximum number of points of a cloud; a larger one is thinned evenly.")


@dataclass(frozen=True)
class ExplorerSettings(Settings):
    """Parameters of the explorer node."""

    robot: RobotModel = setting(RobotModel(), reads=("radius_m", "stairs"))
    policy: str = setting(DEFAULT_POLICY,
        "Exploration policy: random | frontier | goal | fine | snapshot | topo | aqnav | best | express, a name that "
        "an installed package registers, or package.module:Class.", live=QUESTION)
    params: Any = group(policy_parameters, live=QUESTION)  # one group per policy, by its name

    def __post_init__(self) -> None:
        try:
            POLICIES.check(self.policy)
        except ConfigError as error:
            raise ConfigError(f"explorer: {error}") from error

    @classmethod
    def for_values(cls, values: Mapping[str, Any]) -> type[ExplorerSettings]:
        """Return the settings class, extended by the parameters of a policy that is named "module:Class"."""
        policy = values.get("policy", "")
        return _with_policy(policy) if policy not in POLICIES and is_class(policy) else cls


@cache
def _with_policy(policy: str) -> type[ExplorerSettings]:
    params = ("params", Any, group(partial(policy_parameters, policy), live=QUESTION))
    return cast("type[ExplorerSettings]",
                make_dataclass("ExplorerSettings", [params], bases=(ExplorerSettings,), frozen=True))


@dataclass(frozen=True)
class NavigatorSettings(Settings):
    """Parameters of the navigator node."""

    node: NodeSettings = setting(NodeSettings(), reads=(*_CALLER, "drive"))
    robot: RobotModel = setting(RobotModel(), reads=("radius_m", "move_m", "turn_deg", "look_deg", "stairs", *_SIGHT))
    navigator: NavigatorConfig = setting(NavigatorConfig(), live=GOAL)
    leg_deadline_s: Positive = setting(AgentConfig().leg_deadline_s,
        "Deadline of one drive in seconds of the stamps' clock.", live=GOAL)
    map_deadline_s: Positive = constant(10.0, "Time in seconds to wait for the map of the newest observation.")


@dataclass(frozen=True)
class Nav2NavigatorSettings(Settings):
    """Parameters of the nav2_navigator node."""

    node: NodeSettings = setting(NodeSettings(), reads=(*_PLACED, "drive"))
    robot: RobotModel = setting(RobotModel(), reads=("radius_m",))
    driving: DrivingConfig = DrivingConfig()
    stamped: bool = setting(True, "Type of cmd_vel: true = TwistStamped, false = Twist.")
    leg_deadline_s: Positive = setting(120.0,
        "Deadline of one drive, recoveries included, in seconds of the clock of the transforms.")
    commander: str = setting("auto",
        "Client of Nav2: simple_commander (nav2_simple_commander) | wire (built in) | auto (the first where it is "
        "installed).")
    managed: tuple[str, ...] = setting(("bt_navigator", "planner_server", "controller_server", "behavior_server"),
        "Nodes of Nav2 that must be active before a goal is sent. Add amcl where it localises the robot.")

    def __post_init__(self) -> None:
        if self.commander not in COMMANDERS:
            raise ConfigError("nav2_navigator: " + unknown("commander", self.commander, COMMANDERS))
        for name in self.managed:
            if name not in MANAGED:
                raise ConfigError("nav2_navigator: " + unknown("managed node", name, MANAGED))


@dataclass(frozen=True)
class AnswererSettings(Settings):
    """Parameters of the answerer node."""

    answerer: str = setting(DEFAULT_ANSWERER,
        "Name of the answerer: label (rules over labels) | vlm (a model), another one of docs/agents.md, "
        "a name that an installed package registers, or package.module:Class.")
    model: ModelConfig = ModelConfig()  # the model of the answerer, if it uses one
    model_for: tuple[str, ...] = setting((),
        "Models of single roles, each as ROLE=MODEL or ROLE.FIELD=VALUE, such as caption=llava-13b, blind.prompt=FILE, "
        "values.how=choose; docs/models.md lists roles and fields. Other fields of a role are those of model.*.")
    wording: str = constant(OWN,
        'Wording of the prompts: "" (the package\'s own) | openeqa (blind guesses after three examples, and answers '
        "from pictures after thinking step by step, as OpenEQA's agents have them).")
    embedder: str = constant("",
        'CLIP or SigLIP model, by folder or hub name, that ranks objects by the similarity of their picture and the '
        'question, for the answerers socratic-voxel and socratic-graph; "" ranks them by their names.')
    max_images: Count = constant(0,
        "Maximum number of images shown to the model in one call; 0 uses the answerer's own limit.")
    folder: str = setting("",
        'Folder that stores what a model said about images, so that no image is paid for twice; "" stores it only '
        'while the node runs.')
    labels_from: str = setting("simulator",
        "Source of the labels that the views have: simulator (answers by rules are privileged) | detector.")

    def __post_init__(self) -> None:
        if self.labels_from not in LABELS:
            raise ConfigError("answerer: " + unknown("source labels_from", self.labels_from, LABELS))
        if self.wording not in WORDINGS:
            raise ConfigError("answerer: " + unknown("wording", self.wording, WORDINGS))
        if self.model_for:
            from eqa_nodes.models.roles import role_configs  # imports numpy, which help texts must not load

            role_configs(self.model, self.model_for)


@dataclass(frozen=True)
class RecorderSettings(KeepsImages):
    """Parameters of the recorder node; bags contain memory's keyframes too."""

    folder: str = setting("bags", "Folder of the bags, one per episode.", live=BAG)
    bag: RecordingConfig = setting(RecordingConfig(), live=BAG)
    labels: bool = setting(False,
        "Record the simulator's labels too (privileged), so that the label answerer can answer from the bag. It cannot "
        "be combined with privacy, because labels show what privacy hides.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory.privacy.active and not (self.node.camera.as_it_is and not self.node.second_camera.present):
            raise ConfigError(f"recorder: privacy hides parts of images, which needs raw, aligned ones of one stamp "
                              f"from one camera, and node.camera is {self.node.camera}: republish such images, and "
                              "leave the camera's settings at their defaults")


@dataclass(frozen=True)
class AgentSettings(Settings):
    """Parameters of the agent node."""

    node: NodeSettings = setting(NodeSettings(), reads=(*_PLACED, *_CALLER, "drive"))
    agent: AgentConfig = setting(AgentConfig(), live=QUESTION)
    map_deadline_s: Positive = constant(10.0,
        "Time in seconds to wait for the explorer to receive the map of the newest observation.")
    model_deadline_s: Positive = setting(420.0,
        "Deadline of one batched call of the answerer, retries included, in seconds. The default grows with "
        "model.deadline_s of the answerer: two calls and a minute.", live=NOW)
    observe_deadline_s: Positive = constant(60.0,
        "Time in seconds to wait for all observers to receive the first observation of an episode.")
    observers: tuple[str, ...] = constant(OBSERVERS, "Nodes that are reset when an episode begins.")
    odometry: str = constant("simulator",
        "Source of poses and counts: simulator (the service act) | topics (odom and tf, as on a robot).")
    queue: Counted = constant(QUEUE_LIMIT, "Maximum number of questions that wait.")
    simulator: bool = constant(True,
        "A simulator begins the episodes. If false, as on a robot, the agent begins one when it starts.")
    episode: str = setting("", 'Name of the episode that the agent begins; "" uses date and time.')
    keep_memory: bool = setting(True, "Keep what was remembered before when the agent begins an episode.")
    map_name: str = setting("",
        "Name of the map of the agent's own episodes; episodes with the same name share their map frame; \"\" names "
        "none.")
    begin_deadline_s: Positive = constant(10.0,
        "Time in seconds that a question waits for the agent's own episode to begin.")

    def __post_init__(self) -> None:
        if self.odometry not in ODOMETRY:
            raise ConfigError("agent: " + unknown("odometry", self.odometry, ODOMETRY))
        if not self.simulator and self.odometry != "topics":
            raise ConfigError(f"agent: without a simulator its odometry is that of topics, not {self.odometry!r}")
        if not 1 <= self.queue <= 1000:
            raise ConfigError(f"agent: queue is {self.queue}: expected 1 to 1000 questions that may wait, such as 32")


@dataclass(frozen=True)
class LockstepSettings(Settings):
    """Parameters of nodes that publish observations in lock-step."""

    observers: tuple[str, ...] = constant(OBSERVERS,
        "Nodes that must acknowledge an observation before the next one is published; an empty list runs freely.")
    acknowledged_deadline_s: Positive = constant(30.0,
        "Time in seconds to wait for all observers to acknowledge an observation.")
    repeat_s: Positive = constant(1.0,
        "Interval in seconds at which an unacknowledged observation is published again, because messages can be lost "
        "while nodes still discover each other.")


@dataclass(frozen=True)
class BridgeSettings(LockstepSettings):
    """Parameters of the bridge node."""

    robot: RobotModel = RobotModel()
    drive: str = setting(ACTIONS,
        "Control of the simulated robot: actions (lock-step, by the service act) | velocities (as on a robot, by "
        "cmd_vel). The settings robot.base, senses, scan, stamped, the rates and real_time_factor apply only to "
        "velocities.")
    senses: SensesConfig = SensesConfig()
    scan: ScanConfig = ScanConfig()
    stamped: bool = setting(True,
        "Type of cmd_vel: TwistStamped (Nav2 from Kilted on). If false, Twist (Nav2 up to Jazzy).")
    physics_hz: Annotated[float, Range(0.0, 1000.0, above=True)] = constant(30.0,
        "Rate of odometry and transforms in hertz of simulated time.")
    camera_hz: Positive = constant(5.0,
        "Rate of images and scans in hertz of simulated time, rounded to a whole "
        "number of physics steps.")
    real_time_factor: Positive = setting(1.0, "Maximum number of simulated seconds per second.", live=NOW)
    clock_start: str = setting("",
        "Date and time at which the simulator's clock starts, in local time or with a zone, such as 2026-11-12T08:30; "
        '"" starts it at 0 s, without a date.')

    @property
    def clock_start_ns(self) -> int:
        """The stamp at which the simulator's clock starts, ns. Raises ConfigError."""
        return date_ns(self.clock_start, "the start of the simulator's clock") if self.clock_start else 0

    def __post_init__(self) -> None:
        if self.drive not in (ACTIONS, VELOCITIES):
            raise ConfigError("bridge: " + unknown("drive", self.drive, (ACTIONS, VELOCITIES)))
        check_ranges(self, "bridge")
        _ = self.clock_start_ns  # is checked
        if not self.camera_hz <= self.physics_hz:
            raise ConfigError(f"bridge: rates must be camera_hz {self.camera_hz} <= physics_hz {self.physics_hz}")

    def check_senses(self) -> None:
        """Raise ConfigError for sensor errors in lock-step. Not in __post_init__: `drive` may come from an option."""
        if self.drive == ACTIONS and not self.senses.exact:
            raise ConfigError("bridge: senses with errors need drive velocities (navigator:=nav2): lock-step has exact "
                              "poses, and its scores would no longer be comparable")


@dataclass(frozen=True)
class ReplaySettings(LockstepSettings):
    """Parameters of the replay node."""

    node: NodeSettings = setting(NodeSettings(), reads=_CALLER)
    source: str = setting("",
        'Recording that the node plays when it starts; "" waits for reset_episode, whose scene names one.')
    rate: NotNegative = setting(0.0,
        "Playback speed relative to the recorded stamps; 0 plays in lock-step, as fast "
        "as the observers acknowledge.", live=PICTURE)
    labels: bool = constant(False, "Publish the labels of the recording (privileged).")
    bag: ReadingConfig = ReadingConfig()
    begin_deadline_s: Positive = constant(90.0,
        "Time in seconds to wait for the graph to come up before the first episode begins.")


@dataclass(frozen=True)
class GraphSettings:
    """The settings of all nodes, by their names in the graph."""

    mapper: MapperSettings
    memory: MemorySettings
    perception: PerceptionSettings
    reconstructor: ReconstructorSettings
    explorer: ExplorerSettings
    navigator: NavigatorSettings
    nav2_navigator: Nav2NavigatorSettings
    answerer: AnswererSettings
    recorder: RecorderSettings
    agent: AgentSettings
    bridge: BridgeSettings
    replay: ReplaySettings

    @property
    def drives(self) -> str:
        """Return the navigator of the simulated robot: atomic | nav2."""
        return NAV2 if self.bridge.drive == VELOCITIES else ATOMIC

    @property
    def detecting(self) -> bool:
        """Return whether the perception node runs, which requires a detector."""
        return bool(self.perception.detector.name)

    @property
    def optional_observers(self) -> tuple[str, ...]:
        """Return the optional observers that the settings enable."""
        return (PERCEPTION,) * self.detecting + (RECONSTRUCTOR,) * self.reconstructor.enabled


SETTINGS: dict[str, type[Settings]] = get_type_hints(GraphSettings)
