"""Settings of goal driving, in a module of their own so that nodes can read them without importing the driver."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.driving.zones import parsed
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.ranges import Count, NotNegative, Positive, Share, check_ranges
from eqa_nodes.core.settings import constant, setting


@dataclass(frozen=True)
class RecoveryConfig:
    """Recovery from a failed goal, in the order of the attempts."""

    retries: Count = setting(1, "Number of times a failed goal is sent again after the costmaps are cleared.")
    viewpoints: Count = setting(2,
        "Number of other places with a view of the goal that are tried next, the nearest to the goal first.")
    back_off_m: Positive = constant(1.5, "Maximum distance of these places from the goal in metres.")
    afar_m: NotNegative = constant(4.0,
        "Maximum distance in metres of one last place with a view of the goal, the nearest to the robot; 0 disables "
        "it.")
    apart_m: Positive = constant(0.5, "Minimum distance in metres between two places that are tried.")

    def __post_init__(self) -> None:
        check_ranges(self, "recovery")
        if not 0 < self.apart_m < self.back_off_m or not (self.afar_m == 0 or self.afar_m >= self.back_off_m):
            raise ConfigError(f"recovery distances must rise: 0 < apart_m {self.apart_m} < back_off_m "
                              f"{self.back_off_m} <= afar_m {self.afar_m} (or afar_m 0)")


@dataclass(frozen=True)
class WaitConfig:
    """Time limits for Nav2 in wall-clock time."""

    active_s: NotNegative = setting(20.0, "Time in seconds to wait for Nav2 to be present and active before a goal.")
    answer_s: Positive = setting(10.0, "Time in seconds to wait for Nav2 to accept or reject a goal.")
    cancel_s: Positive = setting(5.0, "Time in seconds to wait for a canceled goal to end.")
    silent_s: NotNegative = setting(10.0,
        "Time in seconds without feedback from Nav2, which gives it many times a second, after which the robot is "
        "stopped and its goal fails; 0 sets no limit.")
    stop_s: NotNegative = setting(0.5,
        "Time in seconds that the robot needs to stop after a cancel. Drives are canceled this much before a limit on"
        " metres or area.")

    def __post_init__(self) -> None:
        check_ranges(self, "wait")


@dataclass(frozen=True)
class GateConfig:
    """Conditions under which the robot may drive."""

    battery_min: Share = setting(0.0, "Minimum charge of the battery (0 to 1) for driving; 0 disables the check.")
    battery_s: Positive = constant(60.0, "Age in seconds after which a battery message is ignored.")
    std_m: NotNegative = setting(0.0,
        "Maximum standard deviation of the localised position in metres for driving; 0 disables the check.")
    std_rad: NotNegative = setting(0.0,
        "Maximum standard deviation of the localised heading in radians for driving; 0 disables the check.")
    place_s: Positive = constant(5.0,
        "Maximum time in seconds, by the stamps of odometry, without a transform from map to base_link while driving.")
    odom_s: NotNegative = constant(5.0,
        "Maximum time in seconds without an odometry message, after the first one, while driving: of the wall clock, "
        "or of simulated time with use_sim_time; 0 disables the check.")

    def __post_init__(self) -> None:
        check_ranges(self, "gates")


@dataclass(frozen=True)
class KeepOutConfig:
    """Keep-out zones; distances are those of the robot's centre."""

    zones: tuple[str, ...] = setting((),
        'Polygons of the map frame in metres that the robot must not enter, each "name: x y, x y, x y".')
    margin_m: Positive = setting(0.5, "Minimum distance in metres between a goal and a keep-out zone.")
    stop_m: NotNegative = setting(0.25, "Distance in metres to a keep-out zone at which the robot is stopped.")
    touch_s: NotNegative = constant(2.0,
        "Time in seconds that the robot is told to drive forward and does not move, after which Nav2's planner keeps "
        "off what it touches until the drive ends; 0 disables it.")

    def __post_init__(self) -> None:
        check_ranges(self, "keep_out")
        if not 0 <= self.stop_m < self.margin_m:
            raise ConfigError(f"keep_out distances must rise: 0 <= stop_m {self.stop_m} < margin_m {self.margin_m}")
        parsed(self.zones)


@dataclass(frozen=True)
class DrivingConfig:
    """Settings of goal driving."""

    arrived_m: NotNegative = setting(0.8,
        "Maximum distance in metres between the robot and a goal that Nav2 calls reached; farther off, the goal has "
        "failed. It must exceed Nav2's tolerances of planner and goal checker together (0.5 m and 0.25 m by default); "
        "0 disables the check.")
    recovery: RecoveryConfig = RecoveryConfig()
    wait: WaitConfig = constant(WaitConfig())
    gates: GateConfig = GateConfig()
    keep_out: KeepOutConfig = KeepOutConfig()

    def __post_init__(self) -> None:
        check_ranges(self, "driving")
