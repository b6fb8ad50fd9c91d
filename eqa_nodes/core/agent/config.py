"""Settings of the agent."""

from __future__ import annotations

from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.ranges import Count, Counted, NotNegative, Positive, Share, check_ranges
from eqa_nodes.core.settings import constant, setting

ASKING, NEWEST, FIRST, NEVER = WAYS = ("asking", "newest", "first", "never")  # values of agent.explore


@dataclass(frozen=True)
class AgentConfig:
    """When to stop and how long to wait."""

    explore: str = setting("asking",
        "Search strategy: asking (judge views on the way until one answers) | newest (judge only the view in which a "
        "drive ends, answer from that view alone, and guess without any where the search ends) | first (explore "
        "everything, then answer once from recall_limit views spread evenly over time) | never (answer at once "
        "without exploring).")
    look_round: bool = constant(True, "Turn once on the spot before the first drive.")
    enough: NotNegative = setting(0.7,
        "Probability of being right (0 to 1) at which an answer ends the search; above 1 no answer does.")
    promise: NotNegative = constant(0.5, "Confidence of a single view (0 to 1) from which an answer is requested.")
    calibration: str = setting("",
        "Calibration of that probability: a name or a .json file; \"\" uses the answerer's own confidence.")
    risk: Share = setting(0.0,
        "Accepted share of wrong answers (0 to 1). Above 0 it replaces enough, and less certain answers abstain.")
    recall_limit: Counted = constant(12, "Maximum number of views that an answer is made from.")
    consult: bool = setting(True,
        "Show a model few pictures with the policy's options drawn in, and let it answer and say where to go in one "
        "call. It needs an answerer and a policy that can (vlm, best); without it each view is judged by itself.")
    pictures: Counted = constant(4,
        "Maximum number of pictures that the first such call shows beside the sheet of options. Later calls show one "
        "less, the last call of a search up to twice as many.")
    relevant: Share = constant(0.3, "Relevance (0 to 1) from which a judged view is shown to the answerer.")
    leg_deadline_s: Positive = constant(60.0,
        "Deadline of one drive in seconds of the stamps' clock. In the graph, leg_deadline_s of the navigator applies"
        " instead.")
    max_legs: Counted = constant(200, "Maximum number of drives per question.")
    waits: Count = constant(3,
        "Maximum number of looks round in a row to wait where nothing is left to explore and a person was seen, who may"
        " stand in the way; 0 ends the search at once.")
    max_confirmations: Count = constant(3, "Maximum number of drives to look again before an answer is given.")
    look_s: Positive = constant(0.5,
        "Wall-clock interval in seconds at which new views are judged for waiting questions.")
    max_failed_legs: Counted = constant(5, "Maximum number of drives in a row that do not move the robot.")
    stale_s: NotNegative = setting(4 * 3600.0,
        "Age in seconds from which an observation is looked at again where that is allowed. It must be at least "
        "memory.keyframes.refresh_s, or memory stores nothing new.")
    answer_waiting: bool = setting(False,
        "Judge views also for waiting questions, and answer those without driving (live only: which views a question "
        "gets depends on the wall clock).")
    ask_back: bool = setting(False,
        "Ask a person which room, object or name is meant, where a question fits several that memory knows, or none. "
        "Without a reply within reply_s the question is taken as it was asked.")
    reply_s: Positive = setting(60.0,
        "Time in seconds that a person has to reply where the agent asks: whether it may drive (node.drive), or what "
        "is meant (ask_back). Without a reply it does not drive, and takes the question as it was asked.")
    max_tokens: Count = setting(0, "Maximum number of model tokens per question, read and written; 0 sets no limit.")
    max_money: NotNegative = setting(0.0, "Maximum cost of the model per question, by its prices; 0 sets no limit.")

    def __post_init__(self) -> None:
        check_ranges(self, "agent")
        if self.explore not in WAYS:
            raise ConfigError("agent: " + unknown("way to explore", self.explore, WAYS))
