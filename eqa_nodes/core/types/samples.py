"""Questions with their truth, what an episode gives, and who runs one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.geometry import Point, Pose2
from eqa_nodes.core.types.questions import Answer, Limits, Question
from eqa_nodes.core.types.trace import EpisodeTrace

_NO_LIMITS = Limits()
ACTIVE, EM = "active", "em"  # tasks: a robot looks for the answer (A-EQA), or it lies in an episode history (EM-EQA)
TASKS = "tasks"  # the third: something is to be done, and predicates say whether it was (EmbodiedEval)
ALLOWED_POSES = "allowed_steps"  # in metadata: how many poses the data set allows, as HM-EQA counts them


@dataclass(frozen=True)
class Sample:
    """One question of a dataset with its truth; map frame, metres, radians.

    scene: "SIMULATOR:PLACE" of what can be driven in ("house:3", "habitat:hm3d/00826-BFRyYbPCCPE"); empty: where the
    robot is. start_height_m: of the floor that the start stands on, None where the data set does not say.
    alternatives: other answers that are as right. target: where a person would stand to see the answer (scorer only),
    x, y and where known the height of the floor. viewpoints: the same where the answer shows from several places;
    distances then count to the nearest of them, and target is the first.
    reference_steps / reference_metres: l of the path metrics, None where the dataset has none. choices: the options of
    a multiple-choice question; `answer` is then the right option's text. metadata: what the dataset says beyond this,
    as plain JSON.
    """

    id: str
    question: str
    answer: str
    alternatives: tuple[str, ...] = ()
    category: str = ""
    scene: str = ""
    start: Pose2 | None = None
    target: Point | None = None
    reference_steps: int | None = None
    reference_metres: float | None = None
    choices: tuple[str, ...] = ()
    needs_exploration: bool = True
    seed: int = 0
    metadata: Mapping[str, object] = field(default_factory=dict)
    viewpoints: tuple[Point, ...] = ()
    start_height_m: float | None = None

    def as_question(self, limits: Limits = _NO_LIMITS, force_guess: bool = False) -> Question:
        """Return the question as the agent gets it, without the truth."""
        return Question(self.question, self.id, self.choices, True, self.limited(limits), force_guess, self.seed)

    def limited(self, limits: Limits) -> Limits:
        """Return the limits with what the data set allows, where it limits episodes and that is less."""
        allowed = self.metadata.get(ALLOWED_POSES)
        if not isinstance(allowed, int) or 0 < limits.poses <= allowed:
            return limits
        return limits._replace(poses=max(1, allowed))


def history_of(sample: Sample) -> str:
    """Return the name of the episode history that a question is about. Raises ConfigError when there is none."""
    name = sample.metadata.get("episode_history")
    if not isinstance(name, str) or not name:
        raise ConfigError(f"question {sample.id!r} is about no episode history: the task {EM!r} needs the data set "
                          "openeqa or house")
    return name


@dataclass(frozen=True)
class EpisodeResult:
    """What an episode gave. bag: where it was recorded, None = nowhere. predicates: as in Prediction."""

    sample_id: str
    answer: Answer
    final_pose: Pose2 | None = None
    trace: EpisodeTrace | None = None
    bag: Path | None = None
    predicates: tuple[bool, ...] = ()


class EpisodeRunner(Protocol):
    """Runs episodes in process or through the graph. Raises EqaError."""

    def run(self, sample: Sample) -> EpisodeResult:
        """Carry out one episode."""

    def blind(self, sample: Sample) -> Answer:
        """Answer without having seen anything."""

    def close(self) -> None:
        """Release everything; a second call does nothing."""
