"""The questions and faults of the drill: drawn only from the seed and the number of the episode."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.wire.graph import nodes_of

# How often each kind occurs in 25 episodes.
DECK = {"kill": 6, "pause": 3, "disk full": 2, "lost": 2, "lost call": 3, "duplicated": 2, "late": 1, "late tf": 2,
        "clock": 1, "model": 3}
WORLDS = {"model": "model"}  # kinds that need a special graph; all others use "label"
SECOND = ("kill", "pause", "lost", "duplicated", "late")  # kinds that may be combined with another fault
_SECOND_SHARE = 0.2
_SMALL = ("plant", "bed")  # questions for a model
_LAST_OBSERVATION = 25  # every question needs more observations
OUTAGES = ("away", "hang", "slow", "http 500", "http 429", "rubbish", "half a reply", "cut off")
# Services and actions that a question needs; one request or reply of them is lost.
CALLS = (*(f"{what} {key}" for what in ("request", "reply") for key in (
    "reset_simulator", "reset_mapper", "reset_memory", "reset_recorder", "recollect", "recall", "choose_goal",
    "rank_regions", "assess_views", "answer_question", "drive_to_pose/result", "ask/result")),
    "request act", "reply act", "request drive_to_pose/goal", "request ask/goal")
CLOCKS_S = (3600.0, -7200.0, 86400.0 * 400)  # offsets of the wall clock of all nodes


class Case(NamedTuple):
    """A question, and the object that a model must have in view to answer it."""

    sample: Sample
    thing: str


def _case(name: str, scene: str, question: str, answer: str, thing: str, start: Pose2 | None = None) -> Case:
    return Case(Sample(name, question, answer, scene=scene, seed=3, start=start), thing)


CASES = {case.sample.id: case for case in (
    _case("plant", "toy:flat", "Is there a plant?", "yes", "plant", Pose2(4.25, 5.25, 0.0)),
    _case("bed", "toy:flat", "Is there a bed?", "yes", "bed"),
    _case("sofas", "toy:flat", "How many sofas are there?", "1", "sofa"),
    _case("rack", "house:206", "In which room is the drying rack?", "the laundry room", "drying rack"),
    _case("board", "house:206", "Is the ironing board in the laundry room red or white?", "red", "ironing board"),
    _case("meal", "house:459", "Is the dining table in the dining room set for a meal?", "yes", "dining table"))}
NEXT = _case("next", "toy:room", "Is there a chair?", "yes", "chair", Pose2(4.25, 2.75, 0.0))  # behind the robot
SAYS = {case.sample.question: case for case in (*CASES.values(), NEXT)}


@dataclass(frozen=True)
class Fault:
    """One fault. victim: a node, a folder, a call, how a model fails; "" = all nodes.

    at: number of the observation after which it occurs; 0 = before the episode begins. For a model: its first call.
    amount: seconds of a pause, a delay or a clock; share of messages; number of calls.
    """

    kind: str
    victim: str = ""
    at: int = 0
    amount: float = 0.0

    @property
    def text(self) -> str:
        """Return the fault in words."""
        return " ".join(filter(None, (self.kind, self.victim, f"x{self.amount:g}" * (self.amount != 0), f"@{self.at}")))


@dataclass(frozen=True)
class DrillPlan:
    """One episode of the drill."""

    number: int
    seed: int
    world: str
    case: str
    faults: tuple[Fault, ...]


def schedule(episodes: int, seed: int, kinds: Sequence[str] = (), cases: Sequence[str] = ()) -> list[DrillPlan]:
    """Return the episodes, grouped by kind of graph. kinds: replace the deck, used in turn; cases: names of questions.

    Raises ConfigError for an unknown kind or question.
    """
    for what, names, known in (("kind of fault", kinds, DECK), ("question", cases, CASES)):
        for name in names:
            if name not in known:
                raise ConfigError(unknown(what, name, known))
    drawn = [(kinds or _shuffled(seed, i // 25))[i % len(kinds or range(25))] for i in range(episodes)]
    drawn.sort(key=lambda kind: ("label", *WORLDS.values()).index(WORLDS.get(kind, "label")))
    return [_plan(number, kind, random.Random(f"{seed}/{number}"), bool(kinds), cases or tuple(CASES))
            for number, kind in enumerate(drawn)]


def _shuffled(seed: int, deck: int) -> list[str]:
    cards = [kind for kind, count in DECK.items() for _ in range(count)]
    random.Random(f"{seed}/deck {deck}").shuffle(cards)
    return cards


def _plan(number: int, kind: str, dice: random.Random, alone: bool, cases: Sequence[str]) -> DrillPlan:
    world = WORLDS.get(kind, "label")
    faults = [_fault(kind, dice)]
    if not alone and dice.random() < _SECOND_SHARE:
        faults.append(_fault(dice.choice(SECOND), dice))
    case = dice.choice([name for name in cases if world == "label" or name in _SMALL] or _SMALL)
    return DrillPlan(number, dice.randrange(1, 2**31), world, case, tuple(faults))


def _fault(kind: str, dice: random.Random) -> Fault:
    at = dice.choice((0, *range(1, _LAST_OBSERVATION), *range(1, _LAST_OBSERVATION)))
    node = dice.choice(nodes_of("sim"))
    many = dice.choice((1, 3, 1000))
    return {"kill": lambda: Fault(kind, node, at),
            "pause": lambda: Fault(kind, node, at, dice.choice((1.0, 3.0, 20.0))),
            "lost": lambda: Fault(kind, amount=dice.choice((0.005, 0.02, 0.1))),
            "duplicated": lambda: Fault(kind, amount=dice.choice((0.1, 0.5, 1.0))),
            "late": lambda: Fault(kind, amount=dice.choice((0.02, 0.1))),
            "late tf": lambda: Fault(kind, amount=dice.choice((0.2, 0.5))),
            "lost call": lambda: _lost_call(dice.choice(CALLS)),
            "clock": lambda: Fault(kind, at=4, amount=dice.choice(CLOCKS_S)),
            "disk full": lambda: Fault(kind, dice.choice(("bags", "memory")), at),
            "model": lambda: Fault(kind, dice.choice(OUTAGES), dice.randrange(4), many)}[kind]()


def _lost_call(call: str) -> Fault:
    """Return the fault that loses a call; calls that move the robot are lost after a few observations."""
    return Fault("lost call", call, 4 if call.endswith(" act") else 0)
