"""Settings of goal driving. They stand apart so that nodes can read them without importing the driver."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.driving.zones import parsed
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.ranges import Count, NotNegative, Positive, Share, check_ranges


@dataclass(frozen=True)
class RecoveryConfig:
    """What is tried when a goal fails, in this order."""

    retries: Count = 1  # of the goal itself, after the costmaps were cleared
    viewpoints: Count = 2  # then so many places that see the goal, the nearest to it first,
    back_off_m: Positive = 1.5  # at most so far from the goal, metres
    afar_m: NotNegative = 4.0  # then one place that sees it from so far, metres, the nearest to the robot; 0 = none
    apart_m: Positive = 0.5  # between two places that are tried, metres

    def __post_init__(self) -> None:
        check_ranges(self, "recovery")
        if not 0 < self.apart_m < self.back_off_m or not (self.afar_m == 0 or self.afar_m >= self.back_off_m):
            raise ConfigError(f"recovery distances must rise: 0 < apart_m {self.apart_m} < back_off_m "
                              f"{self.back_off_m} <= afar_m {self.afar_m} (or afar_m 0)")


@dataclass(frozen=True)
class WaitConfig:
    """How long Nav2 may take, by the wall clock."""

    active_s: NotNegative = 20.0  # to be there and active before a goal, seconds
    answer_s: Positive = 10.0  # to accept or reject a goal, seconds
    cancel_s: Positive = 5.0  # to end a goal that was canceled, seconds
    silent_s: NotNegative = 30.0  # without feedback on a goal, seconds; 0 = for ever
    service_s: Positive = 5.0  # for a costmap, seconds
    poll_s: Positive = 0.1  # how often limits are looked at while the robot drives, seconds
    # for the robot to stand once its goal is canceled: so early it is stopped before metres or area end, seconds
    stop_s: NotNegative = 0.5

    def __post_init__(self) -> None:
        check_ranges(self, "wait")


@dataclass(frozen=True)
class GateConfig:
    """Under which conditions the robot may drive."""

    battery_min: Share = 0.0  # share of the charge below which it does not drive; 0 = not asked for
    battery_s: Positive = 60.0  # age from which what the battery said does not count, seconds
    std_m: NotNegative = 0.0  # standard deviation of its place that the localisation may give, metres; 0 = any
    std_rad: NotNegative = 0.0  # and of its heading, radians; 0 = any
    place_s: Positive = 5.0  # without a transform from map to base_link, seconds of the wall clock
    odom_s: NotNegative = 5.0  # without a message of odometry, once one has come, seconds of the wall clock; 0 = any

    def __post_init__(self) -> None:
        check_ranges(self, "gates")


@dataclass(frozen=True)
class KeepOutConfig:
    """Where the robot may not go; distances are those of its centre."""

    zones: tuple[str, ...] = ()  # polygons in the map frame, metres, each "name: x y, x y, x y"
    margin_m: Positive = 0.5  # goals keep so far from them, metres
    stop_m: NotNegative = 0.25  # a robot that comes nearer is stopped, metres

    def __post_init__(self) -> None:
        check_ranges(self, "keep_out")
        if not 0 <= self.stop_m < self.margin_m:
            raise ConfigError(f"keep_out distances must rise: 0 <= stop_m {self.stop_m} < margin_m {self.margin_m}")
        parsed(self.zones)


@dataclass(frozen=True)
class DrivingConfig:
    """How to drive by goals."""

    recovery: RecoveryConfig = RecoveryConfig()
    wait: WaitConfig = WaitConfig()
    gates: GateConfig = GateConfig()
    keep_out: KeepOutConfig = KeepOutConfig()
