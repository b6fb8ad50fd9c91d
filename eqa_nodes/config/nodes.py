"""What every node can be told: one dataclass a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from functools import cache, partial
from typing import Annotated, Any, cast

from eqa_nodes.core.agent.agent import AgentConfig
from eqa_nodes.core.agent.queue import LINE
from eqa_nodes.core.camera.config import CameraConfig, SecondCameraConfig, TfConfig
from eqa_nodes.core.camera.privacy import PrivacyConfig
from eqa_nodes.core.driving.config import DrivingConfig
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.mapping.config import MapperConfig, NavigatorConfig, ScanConfig
from eqa_nodes.core.memory import MemoryConfig
from eqa_nodes.core.perception.tracking import PerceiverConfig
from eqa_nodes.core.ranges import Count, Counted, NotNegative, Positive, Range, Share, check_ranges
from eqa_nodes.core.registry import is_class
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.perception.config import DetectorConfig
from eqa_nodes.recordings.options import RecordingConfig
from eqa_nodes.registry import DEFAULT_ANSWERER, DEFAULT_POLICY, DETECTORS, POLICIES
from eqa_nodes.registry.policies import policy_parameters
from eqa_nodes.ros.graph import LABELS, MANAGED, OBSERVERS

ACTIONS, VELOCITIES = "actions", "velocities"  # what drives a simulated robot
ATOMIC, NAV2 = "atomic", "nav2"  # who sends that: our navigator, or Nav2, to which a node of ours gives the goals
COMMANDERS = ("auto", "simple_commander", "wire")  # how that node speaks to Nav2
NEW, KEEP = "new", "keep"  # the map, when the robot is found elsewhere
ODOMETRY = ("simulator", "topics")  # where the agent's counts and pose come from


@dataclass(frozen=True)
class NodeSettings:
    """What all nodes have in common."""

    autostart: bool = True  # configure and activate by itself; False: wait for a lifecycle manager
    # this and the next two: the same for all nodes
    camera: CameraConfig = CameraConfig()
    second_camera: SecondCameraConfig = SecondCameraConfig()
    tf: TfConfig = TfConfig()
    call_deadline_s: Positive = 60.0  # for a call to another node, seconds
    min_rate_hz: NotNegative = 0.0  # of each camera topic, less is a warning on /diagnostics; 0 = not judged
    # of a camera's messages when they are taken in, seconds; more is an error there; 0 = not judged
    max_age_s: NotNegative = 0.0
    # waits before every callback, seconds: shows that lock-step does not depend on speed
    test_delay_s: NotNegative = 0.0
    # above 0: faults of the wire for drills, of which the next ones tell
    test_seed: Count = 0
    test_lose_share: Share = 0.0  # of the messages of topics that are lost, 0..1
    test_duplicate_share: Share = 0.0  # that come twice, 0..1
    test_late_share: Share = 0.0  # that come late, 0..1
    test_late_s: NotNegative = 0.5  # by how much, seconds
    test_tf_delay_s: NotNegative = 0.0  # by which every transform is late, seconds


@dataclass(frozen=True)
class MapperSettings:
    """Parameters of the mapper node."""

    node: NodeSettings = NodeSettings()
    map: MapperConfig = MapperConfig()
    relocated: str = NEW  # what becomes of the map when localisation jumps: new | keep

    def __post_init__(self) -> None:
        if self.relocated not in (NEW, KEEP):
            raise ConfigError("mapper: " + unknown("relocated", self.relocated, (NEW, KEEP)))


@dataclass(frozen=True)
class MemorySettings:
    """Parameters of the memory node."""

    node: NodeSettings = NodeSettings()
    memory: MemoryConfig = MemoryConfig()
    folder: str = "memory"  # of the files
    file: str = ""  # in that folder, for all episodes, and none empties it; "" = one file an episode
    labels: bool = False  # take in what labels things
    labels_from: str = "simulator"  # where labels come from: simulator (privileged) | detector (the perception node)
    # observations that may wait for their parts: more where a detector is slow and frames are many
    pending: Counted = 30

    def __post_init__(self) -> None:
        _check_source("memory", self.labels_from)


@dataclass(frozen=True)
class PerceptionSettings:
    """Parameters of the perception node."""

    node: NodeSettings = NodeSettings()
    detector: DetectorConfig = DetectorConfig()
    perceiver: PerceiverConfig = PerceiverConfig()
    newest: bool = False  # look at the newest picture only, when the detector is free; False: at every one (lock-step)

    @property
    def labels(self) -> bool:
        """Say whether the detector reads the simulator's labels (privileged)."""
        return bool(self.detector.name) and DETECTORS.traits(self.detector.name).labels


@dataclass(frozen=True)
class ExplorerSettings:
    """Parameters of the explorer node."""

    node: NodeSettings = NodeSettings()
    # random | frontier | goal | fine | snapshot | topo | best, a name that an installed package registers, or
    # package.module:Class
    policy: str = DEFAULT_POLICY
    params: Any = field(default_factory=policy_parameters)  # of each policy, by its name
    radius_m: Positive = 0.18  # radius of the robot, metres: no goal lies where it does not fit

    def __post_init__(self) -> None:
        check_ranges(self, "explorer")
        try:
            POLICIES.check(self.policy)
        except ConfigError as error:
            raise ConfigError(f"explorer: {error}") from error

    @classmethod
    def for_values(cls, values: Mapping[str, Any]) -> type[ExplorerSettings]:
        """Return the settings that hold also the parameters of a policy that is named as "module:Class"."""
        policy = values.get("policy", "")
        return _with_policy(policy) if policy not in POLICIES and is_class(policy) else cls


@cache
def _with_policy(policy: str) -> type[ExplorerSettings]:
    params = ("params", Any, field(default_factory=partial(policy_parameters, policy)))
    return cast("type[ExplorerSettings]",
                make_dataclass("ExplorerSettings", [params], bases=(ExplorerSettings,), frozen=True))


@dataclass(frozen=True)
class NavigatorSettings:
    """Parameters of the navigator node."""

    node: NodeSettings = NodeSettings()
    navigator: NavigatorConfig = NavigatorConfig()
    leg_deadline_s: Positive = AgentConfig().leg_deadline_s  # for one drive, seconds in the clock of the stamps
    map_deadline_s: Positive = 10.0  # for the map of the newest observation, seconds


@dataclass(frozen=True)
class Nav2NavigatorSettings:
    """Parameters of the nav2_navigator node."""

    node: NodeSettings = NodeSettings()
    driving: DrivingConfig = DrivingConfig()
    leg_deadline_s: Positive = 120.0  # for one drive with all that is tried, seconds of the transforms' stamps
    commander: str = "auto"  # simple_commander: nav2_simple_commander | wire: our own | auto: the first, where it is
    # nodes of Nav2 that must be active before a goal; add amcl where it localises
    managed: tuple[str, ...] = ("bt_navigator", "planner_server", "controller_server", "behavior_server")

    def __post_init__(self) -> None:
        if self.commander not in COMMANDERS:
            raise ConfigError("nav2_navigator: " + unknown("commander", self.commander, COMMANDERS))
        for name in self.managed:
            if name not in MANAGED:
                raise ConfigError("nav2_navigator: " + unknown("managed node", name, MANAGED))

@dataclass(frozen=True)
class AnswererSettings:
    """Parameters of the answerer node."""

    node: NodeSettings = NodeSettings()
    # label (rules over labels, privileged) | vlm (a model) | others of docs/agents.md, a name that an installed package
    # registers, or package.module:Class
    answerer: str = DEFAULT_ANSWERER
    model: ModelConfig = ModelConfig()  # that the answerer asks, where it asks one
    max_images: Count = 0  # pictures that the model is shown in one call; 0 = the answerer's own default
    folder: str = ""  # keeps what a model said of pictures, so that none is paid for twice; "" = while the node runs


@dataclass(frozen=True)
class RecorderSettings:
    """Parameters of the recorder node."""

    node: NodeSettings = NodeSettings()
    folder: str = "bags"  # of the bags, one an episode
    bag: RecordingConfig = RecordingConfig()
    privacy: PrivacyConfig = PrivacyConfig()  # the same as memory.privacy: bags hold memory's keyframes too
    # what says where kinds of things are that are hidden, as memory's: simulator | detector
    labels_from: str = "simulator"
    # whether the simulator's labels are recorded as well, so that the label answerer can answer from the bag
    # (privileged); never with privacy: they show what it hides
    labels: bool = False

    def __post_init__(self) -> None:
        _check_source("recorder", self.labels_from)
        if self.privacy.active and not (self.node.camera.as_it_is and not self.node.second_camera.present):
            raise ConfigError(f"recorder: privacy hides parts of images, which needs raw, aligned ones of one stamp "
                              f"from one camera, and node.camera is {self.node.camera}: republish such images, and "
                              "leave the camera's settings at their defaults")


@dataclass(frozen=True)
class AgentSettings:
    """Parameters of the agent node."""

    node: NodeSettings = NodeSettings()
    agent: AgentConfig = AgentConfig()
    map_deadline_s: Positive = 10.0  # for the map of the newest observation to reach the explorer, seconds
    model_deadline_s: Positive = 300.0  # for one batched call of the answerer, its retries included, seconds
    # for the first observation of an episode, until every observer has it, seconds
    observe_deadline_s: Positive = 60.0
    observers: tuple[str, ...] = OBSERVERS  # who is told that an episode begins
    odometry: str = "simulator"  # simulator: counts and pose from the service act | topics: odom and tf, as on a robot
    queue: Counted = LINE  # questions that may wait
    # False: on a robot, where no simulator begins episodes; then the agent begins one by itself when it starts
    simulator: bool = True
    episode: str = ""  # name of the episode that begins by itself; "" = date and time
    keep_memory: bool = True  # what was remembered before it stays
    map_name: str = ""  # of its place: episodes with the same name share their map frame; "" = of no known place
    begin_deadline_s: Positive = 10.0  # for it to have begun when a question's turn comes, seconds

    def __post_init__(self) -> None:
        if self.odometry not in ODOMETRY:
            raise ConfigError("agent: " + unknown("odometry", self.odometry, ODOMETRY))
        if not self.simulator and self.odometry != "topics":
            raise ConfigError(f"agent: without a simulator its odometry is that of topics, not {self.odometry!r}")
        if not 1 <= self.queue <= 1000:
            raise ConfigError(f"agent: queue is {self.queue}: expected 1 to 1000 questions that may wait, such as 32")


@dataclass(frozen=True)
class LockstepSettings:
    """What shows observations in lock-step."""

    node: NodeSettings = NodeSettings()
    observers: tuple[str, ...] = OBSERVERS  # who must take in an observation before the next one; () = free running
    taken_deadline_s: Positive = 30.0  # for an observation to be taken in by all of them, seconds
    # publish again what was not taken in by then, seconds (a message can be lost while nodes still match)
    repeat_s: Positive = 1.0


@dataclass(frozen=True)
class BridgeSettings(LockstepSettings):
    """Parameters of the bridge node."""

    robot: RobotModel = RobotModel()
    # actions: lock-step, through the service act | velocities: as a robot, by cmd_vel; only then robot.base, scan,
    # stamped, rates and real_time_factor count
    drive: str = ACTIONS
    scan: ScanConfig = ScanConfig()
    stamped: bool = True  # cmd_vel is a TwistStamped (Nav2 from Kilted on), else a Twist (Nav2 up to Jazzy)
    physics_hz: Annotated[float, Range(0.0, 1000.0, above=True)] = 30.0  # of odometry and transforms, in simulated time
    # of images and scans, in simulated time; rounded to a whole number of steps
    camera_hz: Positive = 5.0
    real_time_factor: Positive = 1.0  # simulated seconds a second, at most

    def __post_init__(self) -> None:
        if self.drive not in (ACTIONS, VELOCITIES):
            raise ConfigError("bridge: " + unknown("drive", self.drive, (ACTIONS, VELOCITIES)))
        check_ranges(self, "bridge")
        if not self.camera_hz <= self.physics_hz:
            raise ConfigError(f"bridge: rates must be camera_hz {self.camera_hz} <= physics_hz {self.physics_hz}")


@dataclass(frozen=True)
class ReplaySettings(LockstepSettings):
    """Parameters of the replay node."""

    source: str = ""  # the history to begin with, by itself; "" = wait for reset_episode, whose scene names it
    rate: NotNegative = 0.0  # times real time, by the recorded stamps; 0 = lock-step: as fast as the observers take it
    labels: bool = False  # publish the history's labels (privileged)
    begin_deadline_s: Positive = 90.0  # for the graph to come up before an episode begins by itself, seconds


SETTINGS: dict[str, type] = {
    "mapper": MapperSettings, "memory": MemorySettings, "perception": PerceptionSettings, "explorer": ExplorerSettings,
    "navigator": NavigatorSettings, "nav2_navigator": Nav2NavigatorSettings,
    "answerer": AnswererSettings, "recorder": RecorderSettings,
    "agent": AgentSettings, "bridge": BridgeSettings, "replay": ReplaySettings}


def _check_source(node: str, labels_from: str) -> None:
    if labels_from not in LABELS:
        raise ConfigError(f"{node}: " + unknown("source labels_from", labels_from, LABELS))
