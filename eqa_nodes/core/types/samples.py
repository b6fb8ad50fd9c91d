"""Questions with their truth, the results of episodes, and the protocol of their runners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.geometry import Point, Pose2
from eqa_nodes.core.types.questions import Answer, Limits, Question
from eqa_nodes.core.types.trace import EpisodeTrace

_NO_LIMITS = Limits()
ACTIVE, EM = "active", "em"  # tasks: a robot searches the answer (A-EQA), or an episode history contains it (EM-EQA)
TASKS = "tasks"  # third task: the robot carries out an instruction, and predicates check the result (EmbodiedEval)
ALLOWED_POSES = "allowed_steps"  # key in metadata: number of poses that the data set allows, counted as in HM-EQA

VISITS = "visits"  # key in metadata: the recordings of a history that has several, each [name, local time]
PRESENT = "present"  # key in metadata: where the robot is now, [x, y, z] in metres, or None if that is unknown


class VisitStart(NamedTuple):
    """One of the recordings that make up a history, and the stamp at which it begins, ns."""

    name: str
    begin_ns: int


@dataclass(frozen=True)
class Sample:
    """One question of a dataset with its ground truth; map frame, metres, radians.

    scene: "SIMULATOR:PLACE" to drive in ("house:3", "habitat:hm3d/00826-BFRyYbPCCPE"); empty: where the robot is.
    start_height_m: height of the floor at the start, None if the data set does not give it.
    alternatives: other correct answers. target: position from which a person would see the answer (scorer only): x, y
    and, if known, the height of the floor. viewpoints: all such positions if there are several; distances are then
    measured to the nearest of them, and target is the first.
    reference_steps / reference_metres: l of the path metrics, None if the dataset has none. choices: the options of
    a multiple-choice question; `answer` is then the text of the right option. metadata: further fields of the dataset,
    as plain JSON. instruction: directions to the place that the question is about (ExploraQA), "" = none.
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
    instruction: str = ""

    def as_question(self, limits: Limits = _NO_LIMITS, force_guess: bool = False) -> Question:
        """Return the question for the agent, without the ground truth."""
        return Question(self.question, self.id, self.choices, True, self.limited(limits), force_guess, self.seed,
                        instruction=self.instruction)

    def limited(self, limits: Limits) -> Limits:
        """Return the limits, with the poses that the data set allows if that is less."""
        allowed = self.metadata.get(ALLOWED_POSES)
        if not isinstance(allowed, int) or 0 < limits.poses <= allowed:
            return limits
        return limits._replace(poses=max(1, allowed))


def history_of(sample: Sample) -> str:
    """Return the name of the episode history that a question is about. Raises ConfigError if there is none."""
    name = sample.metadata.get("episode_history")
    if not isinstance(name, str) or not name:
        raise ConfigError(f"question {sample.id!r} is about no episode history: the task {EM!r} needs the data set "
                          "openeqa or house")
    return name


class TaskCounts(NamedTuple):
    """What an agent did in a task: interactions, those that succeeded, and replies that named no option.

    ended_by: the error of such a reply at the last step ("no option match", "option out of range"), "" = none.
    """

    interactions: int = 0
    succeeded: int = 0
    unusable: int = 0
    ended_by: str = ""


def visits_of(sample: Sample) -> tuple[VisitStart, ...]:
    """Return the recordings of the history of a question, oldest first; () if it is a single one. Raises ConfigError.
    """
    try:
        return tuple(VisitStart(str(name), round(datetime.fromisoformat(begin).timestamp()) * 10**9)
                     for name, begin in sample.metadata.get(VISITS, ()))  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise ConfigError(f"question {sample.id!r} has no visits that can be read: {error}") from error


@dataclass(frozen=True)
class EpisodeResult:
    """The result of an episode. bag: path of its recording, None if not recorded.

    predicates, counts, recalled: as in Prediction.
    """

    sample_id: str
    answer: Answer
    final_pose: Pose2 | None = None
    trace: EpisodeTrace | None = None
    bag: Path | None = None
    predicates: tuple[bool, ...] = ()
    counts: TaskCounts | None = None
    recalled: int | None = None


class EpisodeRunner(Protocol):
    """Runs episodes in process or through the ROS graph. Raises EqaError."""

    def run(self, sample: Sample) -> EpisodeResult:
        """Run one episode."""

    def blind(self, sample: Sample) -> Answer:
        """Answer without any view."""

    def close(self) -> None:
        """Release everything; a second call does nothing."""
