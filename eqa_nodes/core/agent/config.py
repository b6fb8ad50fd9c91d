"""Settings of the agent."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import Count, Counted, NotNegative, Positive, Share, check_ranges

ASKING, FIRST, NEVER = WAYS = ("asking", "first", "never")  # to explore


@dataclass(frozen=True)
class AgentConfig:
    """When to stop and how long to wait."""

    # asking: views are judged on the way, until one answers | first: question-agnostic, until nothing is left or a
    # limit ends it, then one answer from `recall_limit` views even in time | never: one answer, unseen
    explore: str = "asking"
    # chance that it is right, 0..1, from which an answer ends the search; above 1 = none does
    enough: NotNegative = 0.7
    promise: NotNegative = 0.5  # of a view's own confidence, 0..1, from which an answer is asked for
    calibration: str = ""  # of that chance: a name or a .json file; "" = the answerer's own confidence counts
    risk: Share = 0.0  # accepted share of wrong answers; above 0 it replaces `enough`, and less sure answers abstain
    recall_limit: Counted = 12  # views an answer is made from
    relevant: Share = 0.3  # relevance, 0..1, from which an assessed view is shown to the answerer
    # for one drive, seconds in the clock of the stamps; in the graph that of who drives counts (leg_deadline_s of the
    # navigator)
    leg_deadline_s: Positive = 60.0
    max_legs: Counted = 200  # drives: ends an exploration that goes nowhere
    max_confirmations: Count = 3  # drives to look again before an answer is given
    assess_while_driving: bool = False  # judge views on the way, and stop where one promises an answer (live only)
    look_s: Positive = 0.5  # how often to ask for new views meanwhile, seconds, wall clock
    max_failed_legs: Counted = 5  # drives in a row that did not move the robot
    # what was seen longer ago, seconds, is looked at again where that is allowed; at least memory.keyframes.refresh_s,
    # or that look shows memory nothing new
    stale_s: NotNegative = 4 * 3600.0
    # judge what is seen while driving for one question for those that wait, too: what that answers is not driven for.
    # Live only: which views a question gets so depends on the wall clock
    answer_waiting: bool = False
    max_tokens: Count = 0  # that the model reads and writes for one question; 0 = no limit
    max_money: NotNegative = 0.0  # for the model and one question, by its prices; 0 = no limit

    def __post_init__(self) -> None:
        check_ranges(self, "agent")
        if self.explore not in WAYS:
            raise ConfigError("agent: " + unknown("way to explore", self.explore, WAYS))
