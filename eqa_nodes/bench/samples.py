"""Samples of a benchmark, and the hash that shows whether two runs asked the same questions."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from eqa_nodes.core.components import SIMULATORS
from eqa_nodes.core.errors import ConfigError, StorageError, unknown
from eqa_nodes.core.storage.codec import decode, dumps, loads, write_bytes
from eqa_nodes.core.storage.text import storable
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Limits, Question
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.registry import has_simulator, is_scan, simulator_of
from sim_bridge.simulator import EpisodeSetup, Point

_NO_LIMITS = Limits()
ACTIVE, EM = "active", "em"  # tasks: a robot looks for the answer (A-EQA), or it lies in an episode history (EM-EQA)
TASKS = "tasks"  # the third: something is to be done, and predicates say whether it was (EmbodiedEval)
ALLOWED_POSES = "allowed_steps"  # in metadata: how many poses the data set allows, as HM-EQA counts them
EXPECTS = ("text", "position", "time", "duration", "yes-no")  # kinds of answer, in metadata "expects"


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

    @property
    def simulator(self) -> str:
        """Return the prefix of the scene's simulator, "" for a place that is only recorded."""
        return simulator_of(self.scene)

    def episode(self, robot: RobotModel) -> EpisodeSetup:
        """Return where a simulated robot begins."""
        return EpisodeSetup(self.scene, self.id, self.start, self.seed, robot, self.start_height_m or 0.0)

    def as_question(self, limits: Limits = _NO_LIMITS, force_guess: bool = False) -> Question:
        """Return the question as the agent gets it, without the truth."""
        return Question(self.question, self.id, self.choices, True, self.limited(limits), force_guess, self.seed)

    def limited(self, limits: Limits) -> Limits:
        """Return the limits with what the data set allows, where it limits episodes and that is less."""
        allowed = self.metadata.get(ALLOWED_POSES)
        if not isinstance(allowed, int) or 0 < limits.poses <= allowed:
            return limits
        return limits._replace(poses=max(1, allowed))


def check_samples(samples: Sequence[Sample]) -> None:
    """Raise ConfigError for no samples, an empty or repeated id, or a sample that contradicts itself."""
    if not samples:
        raise ConfigError("there are no questions: the data set or the selection is empty")
    seen: set[str] = set()
    for sample in samples:
        if sample.id in seen:
            raise ConfigError(f"question id {sample.id!r} occurs twice in the data set: ids must be unique")
        seen.add(sample.id)
        if fault := _fault(sample):
            raise ConfigError(f"question {sample.id!r}{fault}")


def _fault(sample: Sample) -> str:
    """Return the problem of one sample, "" = none."""
    points = [p for p in (sample.start, sample.target, *sample.viewpoints) if p is not None]
    lengths = {"reference_steps": sample.reference_steps, "reference_metres": sample.reference_metres}
    bad = [f"{name} {v}" for name, v in lengths.items() if v is not None and not (math.isfinite(v) and v >= 0)]
    expects = sample.metadata.get("expects", "text")
    if not sample.id.strip():
        return ": its id is empty"
    if not all(map(storable, (sample.id, sample.question, sample.answer, sample.scene, *sample.choices))):
        return " holds text that is none: a NUL, or half a character"
    if not sample.question.strip():
        return " has no text"
    if sample.choices and sample.answer not in sample.choices:
        return f": the answer {sample.answer!r} is none of {sample.choices}"
    if not (sample.answer.strip() or "predicates" in sample.metadata):
        return " has neither an answer nor predicates: nothing could be scored"
    if not all(math.isfinite(v) for p in points for v in p):
        return f": start, target and viewpoints must be finite, got {points}"
    if any(len(p) not in (2, 3) for p in (*sample.viewpoints, sample.target or (0.0, 0.0))):
        return f": targets and viewpoints are x, y and perhaps a height, got {sample.target}, {sample.viewpoints}"
    if bad:
        return f": a reference length must be finite and >= 0, got {', '.join(bad)}"
    return "" if expects in EXPECTS else f": {unknown('kind of answer', str(expects), EXPECTS)}"


def check_runnable(samples: Iterable[Sample]) -> None:
    """Raise ConfigError when nothing opens a scene."""
    for sample in samples:
        if sample.scene and not has_simulator(sample.scene):
            raise ConfigError(f"question {sample.id!r} lies in the scene {sample.scene!r}, which no simulator opens: "
                              f"there are {', '.join(sorted(SIMULATORS))}")


def opened_by(simulator: str, samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples with their scans opened by another simulator, "habitat" or "mesh"; other scenes stay."""
    return [replace(s, scene=f"{simulator}:{s.scene.partition(':')[2]}") if is_scan(s.scene) else s
            for s in samples]


def about_history(sample: Sample) -> Sample:
    """Return the question as EM-EQA asks it: nothing is driven, so no place or path is part of its truth.

    Raises ConfigError when the data set names no episode history for it.
    """
    history_of(sample)
    return replace(sample, start=None, target=None, viewpoints=(), reference_steps=None, reference_metres=None,
                   needs_exploration=False)


def history_of(sample: Sample) -> str:
    """Return the name of the episode history that a question is about. Raises ConfigError when there is none."""
    name = sample.metadata.get("episode_history")
    if not isinstance(name, str) or not name:
        raise ConfigError(f"question {sample.id!r} is about no episode history: the task {EM!r} needs the data set "
                          "openeqa or house")
    return name


def source_of(sample: Sample) -> str:
    """Return which scans a question is about, such as "hm3d" or "scannet"; "" for rooms that are none."""
    history = sample.metadata.get("episode_history")
    place = history if isinstance(history, str) and "/" in history else sample.scene.rpartition(":")[2]
    folder, slash, _ = place.partition("/")
    return folder.removesuffix("-v0") if slash else ""


def dataset_hash(samples: Iterable[Sample]) -> str:
    """Return the sha256 over the canonical JSON of all samples, in order."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(dumps(sample).encode() + b"\n")
    return digest.hexdigest()


def write_samples(path: Path, samples: Iterable[Sample]) -> None:
    """Write one sample a line, so that scoring and report need nothing but the run directory."""
    write_bytes(path, "".join(dumps(sample) + "\n" for sample in samples).encode())


def read_samples(path: Path) -> list[Sample]:
    """Read what `write_samples` wrote. Raises StorageError naming the file and line."""
    samples = []
    try:
        lines = path.read_bytes().splitlines()  # of text, also U+2028 would end a line
    except OSError as error:
        raise StorageError(f"{path.parent} holds no run: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            samples.append(decode(Sample, loads(line)))
        except (ValueError, StorageError) as error:
            raise StorageError(f"{path}, line {number}: {error}") from error
    return samples
