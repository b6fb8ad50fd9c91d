"""When to stop: the probability that an answer is right, given its support, and the threshold for giving it.

The probability is a logistic regression over the support of an answer, fitted on episodes with known truth
(`eqa bench calibrate`); without one, the answerer's own confidence is used. The threshold is a fixed probability, or
follows from the share of wrong answers that the user accepts, by conformal risk control (Angelopoulos et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.agent.reporting import EpisodeContext
from eqa_nodes.core.agent.views import views_of
from eqa_nodes.core.answerers.common import may_decline
from eqa_nodes.core.errors import ConfigError, EqaError, StorageError
from eqa_nodes.core.language.english import canonical, content_words
from eqa_nodes.core.language.quantities import same_measure
from eqa_nodes.core.language.targets import is_standing
from eqa_nodes.core.storage.codec import decode, loads, read_json
from eqa_nodes.core.types.questions import FAR_M, Answer, Recalled, Support, ViewAssessment, WeighedAnswer

FEATURES = ("bias", "log odds of the confidence", "log(1 + looks)", "agreement", "distance")
_MOST_WEIGHT = 1e6
_DOUBTFUL = 0.5  # confidence below which an answer is more likely wrong
_SPOT_M = 0.75  # views closer together than this count as one look


def support_of(answer: Answer, assessments: Sequence[ViewAssessment]) -> Support:
    """Return the support of an answer in the assessed views."""
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
                   min(near, default=FAR_M))


def _is_part(says: str, text: str) -> bool:
    """Return whether an answer about several things ("yes: the lamp in ... is on; the lamp in ... is off") contains all
    that a view says about some of them."""
    told, seen = _told(text), _told(says)
    return bool(seen) and all(any(words <= of_group for of_group in told) for words in seen)


def _told(text: str) -> list[frozenset[str]]:
    """Return the words, without numbers, of each statement in an answer about several things; [] for a plain one."""
    if ";" not in text and ": " not in text:
        return []
    return [frozenset(word for word in content_words(part) if not word.isdecimal())
            for part in text.rpartition(": ")[2].split(";")]


@dataclass(frozen=True)
class Calibration:
    """A fitted probability and the risk of every threshold; fitted in bench/metrics/calibrate.py.

    weights: weights of Support.features. thresholds, wrong: wrong[i] of `episodes` questions were answered wrongly at
    thresholds[i] (ascending) or a stricter one. source: description of the data it was fitted on. Raises ConfigError
    for inconsistent numbers.
    """

    weights: tuple[float, ...]
    thresholds: tuple[float, ...] = ()
    wrong: tuple[int, ...] = ()
    episodes: int = 0
    source: str = ""

    def __post_init__(self) -> None:
        if len(self.weights) != len(FEATURES):
            raise ConfigError(f"a calibration has {len(FEATURES)} weights ({', '.join(FEATURES)}), got "
                              f"{len(self.weights)}: fit it again")
        if len(self.thresholds) != len(self.wrong) or list(self.thresholds) != sorted(self.thresholds) or (
                list(self.wrong) != sorted(self.wrong, reverse=True)):
            raise ConfigError("a calibration has as many thresholds, ascending, as counts of wrong answers, "
                              "descending: fit it again")
        if not (all(abs(w) <= _MOST_WEIGHT for w in self.weights)
                and all(0.0 <= each <= 1.0 for each in self.thresholds)
                and all(0 <= wrong <= self.episodes for wrong in self.wrong) and self.episodes >= 0):
            raise ConfigError(f"a calibration has weights up to {_MOST_WEIGHT:g}, thresholds from 0 to 1, and no "
                              f"more wrong answers than its {self.episodes} episodes: fit it again")

    def probability(self, support: Support) -> float:
        """Return the probability that the answer is right, 0..1."""
        z = sum(w * f for w, f in zip(self.weights, support.features(), strict=True))
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z))))

    def threshold_for(self, risk: float) -> float:
        """Return the lowest probability at which an answer may be given such that at most a share `risk` of the
        questions is answered wrongly, on average over questions like those of the calibration.

        This is the smallest one with (wrong + 1) / (episodes + 1) <= risk. Raises ConfigError if none is strict enough.
        """
        for threshold, wrong in zip(self.thresholds, self.wrong, strict=True):
            if (wrong + 1) / (self.episodes + 1) <= risk:
                return threshold
        least = (min(self.wrong, default=self.episodes) + 1) / (self.episodes + 1)
        raise ConfigError(f"risk {risk:g} cannot be promised from {self.episodes} calibration questions: accept at "
                          f"least {math.ceil(least * 1000) / 1000:g}, or calibrate on more of them")


class Stop(NamedTuple):
    """The stopping rule: a threshold on the probability of an answer. calibration None: the answerer's own confidence.
    """

    threshold: float
    calibration: Calibration | None = None
    abstain: bool = False  # whether to abstain below the threshold

    def sure(self, answer: Answer, assessments: Sequence[ViewAssessment]) -> float:
        """Return the probability that an answer is right, 0..1; 0 for an abstention."""
        if answer.abstained or self.calibration is None:
            return 0.0 if answer.abstained else answer.confidence
        return self.calibration.probability(support_of(answer, assessments))

    def agreeing(self, answer: Answer, assessments: Sequence[ViewAssessment]) -> float:
        """Return the probability that an answer is right that a model has given from several places, 0..1.

        p = 1 - (1 - c) ^ (1 + (looks - 1) * agreement / 2): c is the confidence, and each further place with the same
        answer counts as half an independent look, since the model's mistakes are correlated. A confidence below 0.5
        stays unchanged, and so does any with a calibration, which estimates it better.
        """
        if answer.abstained or self.calibration is not None or answer.confidence < _DOUBTFUL:
            return answer.confidence
        support = support_of(answer, assessments)
        further = max(0, support.looks - 1) * support.agreement / 2
        return 1.0 - (1.0 - answer.confidence) ** (1.0 + further)


def load_calibration(name: str) -> Calibration:
    """Return a calibration by its name in the package or by path. Raises ConfigError."""
    inside = resources.files("eqa_nodes.calibrations")
    try:
        return decode(Calibration, read_json(Path(name)) if name.endswith(".json") else
                      loads(inside.joinpath(f"{name}.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, StorageError) as error:
        known = sorted(f.name[:-5] for f in inside.iterdir() if f.name.endswith(".json"))
        raise ConfigError(f"no calibration {name!r} ({error}): name a .json file that `eqa bench calibrate` wrote, or "
                          f"one of {', '.join(known)}") from error


def make_stop(enough: float, calibration: str, risk: float) -> Stop:
    """Return the rule: a fixed threshold `enough` or, with risk > 0, the threshold of the risk with abstention below.

    Raises ConfigError for a risk without a calibration.
    """
    fitted = load_calibration(calibration) if calibration else None
    if not risk:
        return Stop(enough, fitted)
    if fitted is None:
        raise ConfigError(f"risk {risk:g} needs a calibration of this answerer: set agent.calibration")
    return Stop(fitted.threshold_for(risk), fitted, abstain=True)


class Answers:
    """Requests and weighs the answers to one question, and keeps the last one.

    views: the views of the question, as judged so far; last: latest answer of the answerer, None before the first.
    """

    def __init__(self, context: EpisodeContext, stop: Stop) -> None:
        self._question, ports, _, self._ledger, self._report = context
        self._answerer, self._stop = ports.answerer, stop
        self.views = views_of(context, stop.calibration is not None)
        self._report.confidence = lambda: self.views.best
        self.last: Answer | None = None

    def ask(self, items: Sequence[Recalled]) -> Answer:
        """Return the answer from these views, or the last answer if the limits allow no further call."""
        self._report("answering")
        answer = self._ledger.asked(lambda question: self._answerer.answer(question, items), None, keep=False)
        if answer is None:
            return self.last or Answer(abstained=True, message="the limits leave no call for an answer")
        self.last = self._weighed(answer)
        return self.last

    def weigh(self, answer: Answer) -> Answer:
        """Return an answer that came with advice, with its confidence from its support; keep it unless it abstains."""
        weighed = self._weighed(answer)
        if not weighed.abstained:
            weighed = self.last = replace(weighed, confidence=self._stop.agreeing(weighed, self.views.in_order()))
        return weighed

    def _weighed(self, answer: Answer) -> Answer:
        assessed = self.views.in_order()
        sure = self._stop.sure(answer, assessed)
        if not answer.abstained:
            self._report("answering", weighed=WeighedAnswer(answer.text, support_of(answer, assessed), sure))
        return replace(answer, confidence=sure)

    def enough(self, answer: Answer) -> bool:
        """Return whether an answer ends the search."""
        return not answer.abstained and answer.confidence >= self._stop.threshold

    def best(self) -> Answer:
        """Return the last answer in its final form, or ask for one."""
        return self.final() if self.last is None or self._to_guess(self.last) else self.worth_giving(self.last)

    def final(self, ended: str = "", closing: Answer | None = None) -> Answer:
        """Answer from all that is known. Without views there is no evidence: abstain unless a guess is required.

        ended: why exploration ended, for the message of an abstention; closing: the closing answer, if it was already
        requested.
        """
        items = self.views.items()
        if closing is not None and not self._to_guess(closing):
            answer = self.worth_giving(closing)
        elif not items and not self._question.force_guess:
            answer = Answer(abstained=True, message="nothing was seen that bears on the question")
        else:
            answer = self.worth_giving(self.ask(items))
        return answer.saying(ended) if answer.abstained else answer

    def _to_guess(self, said: Answer) -> bool:
        """Return whether a required guess may be missing from what a model said, so that it must be asked again."""
        return self._question.force_guess and (said.abstained or may_decline(said.text))

    def failed(self, error: EqaError) -> Answer:
        """Return what was found before an error ended the search, with that error."""
        found = self.worth_giving(self.last) if self.last else Answer(abstained=True)
        return replace(found, error=error.code, message=str(error))

    def worth_giving(self, answer: Answer) -> Answer:
        """Return the answer, or "I don't know" if a risk is set and the answer is less certain than it requires."""
        if not self._stop.abstain or self._question.force_guess or self.enough(answer) or answer.abstained:
            return answer
        why = (f"confidence {answer.confidence:.2f} is below the threshold {self._stop.threshold:.2f} of the accepted "
               "risk")
        return replace(answer, text="", abstained=True, message=f"I don't know: {answer.text!r}: {why}")
