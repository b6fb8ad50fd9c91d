"""What a model is reminded of: its own words of earlier calls, and where they led."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eqa_nodes.core.language.targets import targets
from eqa_nodes.core.types.advice import Advice, TargetNote
from eqa_nodes.core.types.calls import option_at
from eqa_nodes.core.types.floor import LOOK_ROUND, POINTED, Decision, WeighedOption
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question

_MOST = 8  # notes of earlier calls
_THERE_M = 1.0  # so near to its goal the robot has arrived
_WENT = {"frontier": "unexplored space", "doorway": "a doorway", "floor": "floor not yet visited",
         POINTED: "the place that you pointed at"}
_PICTURES = re.compile(r"\b(?:pictures?|images?)\s+#?\d+(?:\s*(?:,|and|to|-)\s*#?\d+)*", re.IGNORECASE)


class Notebook:
    """Notes of one question. visited: kinds of the rooms in which the model saw the robot stand."""

    def __init__(self, targets: tuple[TargetNote, ...] = ()) -> None:
        self.visited: list[str] = []
        self.targets = targets
        self._notes: list[str] = []
        self._goal: Pose2 | None = None  # of the drive since the last note

    def notes(self) -> tuple[str, ...]:
        """Return the latest notes, oldest first."""
        return tuple(self._notes[-_MOST:])

    def add(self, said: Advice) -> None:
        """Note what the model says."""
        answer = f" Answer so far: {said.answer.text} ({said.answer.confidence:.2f})." if said.answer.text else ""
        missing = f" Missing: {_lasting(said.missing)}." if said.missing else ""
        self._notes.append(f"{_lasting(said.reasons)}{answer}{missing}")
        self.targets = said.targets or self.targets
        if said.room and said.room not in self.visited:
            self.visited.append(said.room)

    def went(self, decision: Decision, advice: Sequence[WeighedOption]) -> None:
        """Note where a decision sends the robot."""
        number = _chosen(decision, advice)
        if not number or not self._notes:
            return
        chosen = advice[number - 1]
        self._goal, room = decision.goal, chosen.room or chosen.option.room
        kind = _WENT.get(chosen.option.kind, chosen.option.kind)
        self._notes[-1] += " The robot then looked round" if kind == LOOK_ROUND else \
            f" The robot was then sent to {kind}{f' ({room} by your guess)' if room else ''}"

    def stands(self, here: Pose2) -> None:
        """Note whether the robot has arrived."""
        if self._goal is None:
            return
        arrived = here.distance(self._goal) <= _THERE_M
        self._notes[-1] += "." if arrived else ", but did not get there."
        self._goal = None


def _chosen(decision: Decision, advice: Sequence[WeighedOption]) -> int:
    """Return the number of the option that a decision is for, 0 for none. A long drive ends before its place."""
    if decision.goal is None:
        return 0
    places = [decision.goal, *(Pose2(c.x, c.y, decision.goal.yaw) for c in decision.candidates[:1])]
    return next((number for place in places if (number := option_at(advice, place))), 0)


def targets_of(question: Question) -> tuple[TargetNote, ...]:
    """Return the things that a question over several places or things is about, as its words tell; () for one."""
    return tuple(TargetNote(f"{target.what} ({target.where})" if target.what and target.where else
                       target.what or target.where) for target in targets(question.text))


def _lasting(words: str) -> str:
    """Return words without the numbers of pictures, which are others in the next call."""
    return _PICTURES.sub("a picture", words)
