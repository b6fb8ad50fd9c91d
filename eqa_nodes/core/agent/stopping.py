"""When to stop: how likely an answer is right, given what supports it, and where to draw the line.

The probability is a logistic regression over the support of an answer, fitted on episodes whose truth is known
(`eqa bench calibrate`); without one, the answerer's own confidence counts as it is. The line is a fixed probability, or
follows from the share of wrong answers that the user accepts, by conformal risk control (Angelopoulos et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.language.english import canonical, content_words
from eqa_nodes.core.language.quantities import same_measure
from eqa_nodes.core.language.targets import is_standing
from eqa_nodes.core.storage.codec import decode, loads, read_json
from eqa_nodes.core.types.questions import Answer, ViewAssessment

FEATURES = ("bias", "log odds of the confidence", "log(1 + looks)", "agreement", "distance")
_FAR_M = 6.0
_MOST_WEIGHT = 1e6
_DOUBTFUL = 0.5  # confidence below which an answer is more likely wrong
_SPOT_M = 0.75  # views from so near to each other are one look


class Support(NamedTuple):
    """What speaks for an answer.

    confidence: the answerer's own, 0..1; looks: places from which a view says the same; agreement: share of what views
    say, each as sure as it is, that is the same, 0..1; nearest_m: distance to the thing in the nearest such view.
    """

    confidence: float
    looks: int
    agreement: float
    nearest_m: float

    def features(self) -> tuple[float, ...]:
        """Return what the regression weighs, as FEATURES names it; the distance in shares of 6 m."""
        p = min(0.99, max(0.01, self.confidence))
        return 1.0, math.log(p / (1 - p)), math.log1p(self.looks), self.agreement, min(self.nearest_m, _FAR_M) / _FAR_M


def support_of(answer: Answer, assessments: Sequence[ViewAssessment]) -> Support:
    """Return what the views say for an answer."""
    said, told = canonical(answer.text), answer.message if is_standing(answer.message) else ""
    telling = [a for a in assessments if a.says]
    same = [a for a in telling if canonical(a.says) == said or _is_part(a.says, answer.text) or _is_part(a.says, told)
            or same_measure(a.says, answer.text)]
    spots: list[tuple[float, float]] = []
    for a in same:
        if all(math.dist(a.pose[:2], spot) >= _SPOT_M for spot in spots):
            spots.append((a.pose.x, a.pose.y))
    total = sum(a.enough for a in telling)
    near = [math.dist(a.pose[:2], a.target) for a in same if a.target is not None]
    return Support(answer.confidence, len(spots), sum(a.enough for a in same) / total if total else 0.0,
                   min(near, default=_FAR_M))


def _is_part(says: str, text: str) -> bool:
    """Say whether an answer about several things ("yes: the lamp in ... is on; the lamp in ... is off") holds all that
    a view says of some of them."""
    told, seen = _told(text), _told(says)
    return bool(seen) and all(any(words <= of_group for of_group in told) for words in seen)


def _told(text: str) -> list[frozenset[str]]:
    """Return the words, without numbers, of each statement of an answer about several things; none of a plain one."""
    if ";" not in text and ": " not in text:
        return []
    return [frozenset(word for word in content_words(part) if not word.isdecimal())
            for part in text.rpartition(": ")[2].split(";")]


class WeighedAnswer(NamedTuple):
    """An answer that was considered, with what supports it (its confidence: the answerer's own)."""

    text: str
    support: Support
    sure: float


@dataclass(frozen=True)
class Calibration:
    """A fitted probability, and the risk of every line; see bench/metrics/calibrate.py for how it is made.

    weights: of Support.features. lines, wrong: at a line of lines[i] (ascending) wrong[i] of `episodes` questions were
    answered wrongly at that line or at a stricter one. source: what it was fitted on, in words. Raises ConfigError for
    numbers that do not belong together.
    """

    weights: tuple[float, ...]
    lines: tuple[float, ...] = ()
    wrong: tuple[int, ...] = ()
    episodes: int = 0
    source: str = ""

    def __post_init__(self) -> None:
        if len(self.weights) != len(FEATURES):
            raise ConfigError(f"a calibration has {len(FEATURES)} weights ({', '.join(FEATURES)}), got "
                              f"{len(self.weights)}: fit it again")
        if len(self.lines) != len(self.wrong) or list(self.lines) != sorted(self.lines) or (
                list(self.wrong) != sorted(self.wrong, reverse=True)):
            raise ConfigError("a calibration has as many lines, ascending, as counts of wrong answers, descending: "
                              "fit it again")
        if not (all(abs(w) <= _MOST_WEIGHT for w in self.weights) and all(0.0 <= line <= 1.0 for line in self.lines)
                and all(0 <= wrong <= self.episodes for wrong in self.wrong) and self.episodes >= 0):
            raise ConfigError(f"a calibration has weights up to {_MOST_WEIGHT:g}, lines from 0 to 1, and no more wrong "
                              f"answers than its {self.episodes} episodes: fit it again")

    def probability(self, support: Support) -> float:
        """Return the chance that the answer is right, 0..1."""
        z = sum(w * f for w, f in zip(self.weights, support.features(), strict=True))
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z))))

    def line_for(self, risk: float) -> float:
        """Return the probability from which an answer may be given, so that at most `risk` of the questions are
        answered wrongly, on average over questions like those of the calibration.

        The smallest line with (wrong + 1) / (episodes + 1) <= risk. Raises ConfigError where no line is strict enough.
        """
        for line, wrong in zip(self.lines, self.wrong, strict=True):
            if (wrong + 1) / (self.episodes + 1) <= risk:
                return line
        least = (min(self.wrong, default=self.episodes) + 1) / (self.episodes + 1)
        raise ConfigError(f"risk {risk:g} cannot be promised from {self.episodes} calibration questions: accept at "
                          f"least {math.ceil(least * 1000) / 1000:g}, or calibrate on more of them")


class Stop(NamedTuple):
    """A line and how to find on which side an answer lies. calibration None: the answerer's own confidence counts."""

    line: float
    calibration: Calibration | None = None
    abstain: bool = False  # below the line there is no answer

    def sure(self, answer: Answer, assessments: Sequence[ViewAssessment]) -> float:
        """Return how likely an answer is right, 0..1; 0 for an abstention."""
        if answer.abstained or self.calibration is None:
            return 0.0 if answer.abstained else answer.confidence
        return self.calibration.probability(support_of(answer, assessments))

    def agreeing(self, answer: Answer, assessments: Sequence[ViewAssessment]) -> float:
        """Return how likely an answer is right that a model has given from several places, 0..1.

        p = 1 - (1 - c) ^ (1 + (looks - 1) * agreement / 2): c is the confidence, and each further place from which it
        says the same counts for half a look of its own, for its mistakes are alike. What it rather doubts stays as
        doubtful. A calibration says it better.
        """
        if answer.abstained or self.calibration is not None or answer.confidence < _DOUBTFUL:
            return answer.confidence
        support = support_of(answer, assessments)
        further = max(0, support.looks - 1) * support.agreement / 2
        return 1.0 - (1.0 - answer.confidence) ** (1.0 + further)


def load_calibration(name: str) -> Calibration:
    """Return a calibration by name (of those in the package) or path. Raises ConfigError."""
    inside = resources.files("eqa_nodes.calibrations")
    try:
        return decode(Calibration, read_json(Path(name)) if name.endswith(".json") else
                      loads(inside.joinpath(f"{name}.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, StorageError) as error:
        known = sorted(f.name[:-5] for f in inside.iterdir() if f.name.endswith(".json"))
        raise ConfigError(f"no calibration {name!r} ({error}): name a .json file that `eqa bench calibrate` wrote, or "
                          f"one of {', '.join(known)}") from error


def make_stop(enough: float, calibration: str, risk: float) -> Stop:
    """Return the rule: a fixed line `enough`, or, with risk > 0, the line of that risk and abstention below it.

    Raises ConfigError for a risk without a calibration.
    """
    fitted = load_calibration(calibration) if calibration else None
    if not risk:
        return Stop(enough, fitted)
    if fitted is None:
        raise ConfigError(f"risk {risk:g} needs a calibration of this answerer: set agent.calibration")
    return Stop(fitted.line_for(risk), fitted, abstain=True)
