"""Parameters of the project's own policy."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.ranges import Count, Counted, NotNegative, Positive, Share
from eqa_nodes.core.settings import setting


@dataclass(frozen=True)
class BestConfig:
    """Parameters of our own policy, chosen on train seeds."""

    leg_m: Positive = setting(3.0, "Maximum length of one drive in metres.")
    switch: Positive = setting(1.3, "Factor by which another target must score better to replace the current one.")
    turn_m: NotNegative = setting(0.5, "Cost of a half turn, in metres of path.")
    fixed_m: Positive = setting(1.0, "Fixed cost of each drive, in metres of path.")
    fan_m: Positive = setting(3.0, "Radius in metres of the fan in which unexplored floor is counted.")
    area_m2: Positive = setting(3.0, "Unexplored floor in square metres that is worth as much as a room.")
    unknown: Share = setting(0.35, "Probability (0 to 1) assumed for a room that is not yet recognised.")
    again: Share = setting(0.4, "Share of that probability (0 to 1) that remains when the likely rooms are known.")
    inside: Share = setting(0.8,
        "Probability (0 to 1) that a frontier wider than doorway_m leads on into its own room.")
    doorway: Share = setting(0.35,
        "Probability (0 to 1) that a frontier narrower than doorway_m leads on into its own room.")
    doorway_m: NotNegative = setting(1.2, "Width of a doorway in metres.")
    votes_m: Positive = setting(2.5, "Radius in metres around a frontier in which votes for its room are counted.")
    look: NotNegative = setting(0.5, "Value of a promising spot relative to a frontier.")
    thin: NotNegative = setting(0.6, "Value of an object seen from afar relative to a frontier.")
    seen_m: NotNegative = setting(1.5, "Distance in metres to a view below which a spot counts as already looked at.")
    count: Count = setting(6, "Maximum number of promising spots.")
    remembered: Count = setting(60, "Maximum number of views that the spots are taken from.")
    near_m: Positive = setting(1.6, "Minimum distance in metres from which an object is in full view.")
    far_m: Positive = setting(2.8, "Maximum distance in metres from which an object is in full view.")
    rooms: bool = setting(True, "Search the likely rooms first.")
    looks: bool = setting(True, "Drive to promising spots.")
    confirm: bool = setting(True, "Look again before giving an answer.")
    listed: Counted = setting(8, "Maximum number of options that a model is shown.")
    advised_fixed_m: Positive = setting(2.0, "Fixed cost of each drive in metres of path where a model is asked.")
    advised_leg_m: Positive = setting(8.0, "Maximum length in metres of one drive where a model is asked.")
    round_m: NotNegative = setting(4.0,
        "Minimum distance in metres from earlier ones at which the robot looks round after a drive that a model thinks "
        "promising; 0 = never.")
    gain_m: Positive = setting(12.0,
        "Maximum length of a drive to look again, in metres, per unit of doubt that is left (where a model is asked).")
    straight: bool = setting(False, "Use straight-line distances instead of path lengths, for ablations.")
