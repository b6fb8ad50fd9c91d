"""Checks of a question after its evaluation: new, not guessable, not seen too soon, reproducible, unambiguous.

The costly checks run last, and the first failure ends the checks. The offline judge decides whether two answers mean
the same (docs/benchmarks.md): they do if its mark is RIGHT or higher.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.core.language.english import content_words
from eqa_nodes.core.memory.embedding import Embedder
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Question, Recalled
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.generate.journal import Paid
from eqa_nodes.generate.values import APART_M, Benchmark, FilterCheck, QuestionAnswer, ScenePath

RIGHT = 4.0


@dataclass(frozen=True)
class FilterConfig:
    """least: minimum of each evaluator score. An answer counts as reproduced when `needed` of `times` are right.

    sure: confidence from which a different answer elsewhere shows that a question is ambiguous. wording, meaning:
    shared words (Jaccard) and cosine from which two questions of a scene count as the same; 0 = not checked.
    blind: whether to reject questions that are answered right without a view; EXPRESS-Bench has no such filter.
    """

    least: float = 0.5
    times: int = 3
    needed: int = 2
    sure: float = 0.5
    wording: float = 0.75
    meaning: float = 0.97
    blind: bool = True


class Viewpoints(NamedTuple):
    """Where the answer is visible: numbers of the path's views, and poses of others near the path's end."""

    views: tuple[int, ...] = ()
    further: tuple[Pose2, ...] = ()


class FilterResult(NamedTuple):
    """The checks that were made, in order, and the viewpoints that the last of them found."""

    checks: tuple[FilterCheck, ...]
    viewpoints: Viewpoints

    @property
    def failed(self) -> FilterCheck | None:
        """Return the failed check, None if all passed."""
        return next((check for check in self.checks if not check.passed), None)


class Filters:
    """All checks of one benchmark. solver: answers the questions; better not their author. Raises ModelError."""

    def __init__(self, kind: Benchmark, solver: Answerer, config: FilterConfig, embedder: Embedder | None, paid: Paid,
                 seed: int) -> None:
        self._kind, self._solver, self._config = kind, solver, config
        self._embedder, self._paid, self._seed = embedder, paid, seed

    def check(self, key: str, path: ScenePath, pair: QuestionAnswer, others: Sequence[QuestionAnswer]) -> FilterResult:
        """Check a pair. key: prefix of its paid steps in the journal; others: accepted pairs of the scene."""
        checks: list[FilterCheck] = []
        viewpoints = Viewpoints()
        for check in self._all(key, path, pair, others):
            checks.append(check)
            if not check.passed:
                return FilterResult(tuple(checks), viewpoints)
        if self._kind.viewpoints > 1:
            check, viewpoints = self._viewpoints(key, path, pair)
            checks.append(check)
        return FilterResult(tuple(checks), viewpoints)

    def _all(self, key: str, path: ScenePath, pair: QuestionAnswer,
             others: Sequence[QuestionAnswer]) -> Iterator[FilterCheck]:
        """Yield the checks, each made when it is requested."""
        yield self._new(pair, others)
        if self._config.blind:
            yield self._not_guessed(key, path, pair)
        if path.before:
            yield self._not_seen_before(key, path, pair)
        yield self._reproduced(key, path, pair)
        if not self._kind.instructed:
            yield self._unique(key, path, pair)

    def _new(self, pair: QuestionAnswer, others: Sequence[QuestionAnswer]) -> FilterCheck:
        """Compare with earlier accepted questions of the same scene."""
        for other in others:
            if self._config.wording and (share := _shared(pair.question, other.question)) >= self._config.wording:
                return FilterCheck("not new", False, f"shares {share:.0%} of its words with {other.question!r}")
        if others and self._embedder is not None and self._config.meaning:
            own, *known = self._embedder.embed([pair.question, *(other.question for other in others)])
            alike = [float(own @ vector) for vector in known]
            if max(alike) >= self._config.meaning:
                twin = others[alike.index(max(alike))].question
                return FilterCheck("not new", False, f"means the same as {twin!r} (cosine {max(alike):.2f})")
        return FilterCheck("new", True, f"unlike {len(others)} others of this scene")

    def _not_guessed(self, key: str, path: ScenePath, pair: QuestionAnswer) -> FilterCheck:
        """Ask without any view: a question that can be guessed needs no exploration."""
        asked = Question(pair.question, force_guess=True, seed=self._seed, instruction=path.instruction)
        guess = self._paid.once(f"{key}/blind", Answer, lambda: self._solver.answer(asked, ()))
        right = self._right(pair, guess)
        return FilterCheck("guessed" if right else "not guessed", not right,
                           f"without a view the answer was {guess.text!r}")

    def _not_seen_before(self, key: str, path: ScenePath, pair: QuestionAnswer) -> FilterCheck:
        """Ask with the views of the path's first half: what they show, if not for sure, needs no path to its end."""
        answer = self._ask(f"{key}/before", pair, path.before, 0)
        right = self._right(pair, answer)
        return FilterCheck("seen before" if right else "not seen before", not right,
                           f"from the first half of the path the answer was {answer.text!r}")

    def _reproduced(self, key: str, path: ScenePath, pair: QuestionAnswer) -> FilterCheck:
        """Ask with all views of the place: the solver must arrive at the same answer."""
        answers = [self._ask(f"{key}/answer/{i}", pair, path.views, i) for i in range(self._config.times)]
        right = sum(self._right(pair, answer) for answer in answers)
        said = ", ".join(dict.fromkeys(_said(answer) for answer in answers))
        enough = right >= self._config.needed
        note = f"{right} of {len(answers)} times right: {said}"
        return FilterCheck("reproduced" if enough else "not reproduced", enough, note)

    def _viewpoints(self, key: str, path: ScenePath, pair: QuestionAnswer) -> tuple[FilterCheck, Viewpoints]:
        """Ask with each view alone, then from beside those that are sufficient; if none is, all are needed together."""
        alone = tuple(i for i, view in enumerate(path.views)
                      if self._right(pair, self._ask(f"{key}/view/{i}", pair, [view], 0)))
        if not alone:
            return (FilterCheck("viewpoints", True, "only the views together show it"),
                    Viewpoints(tuple(range(len(path.views)))))
        found = [path.views[i].pose for i in alone]
        beside = [(f"{key}/beside/{i}/{k}", view) for i in alone for k, view in enumerate(path.beside[i])]
        for name, view in beside:
            wanted = len(found) < self._kind.viewpoints and all(view.pose.distance(p) >= APART_M for p in found)
            if wanted and self._right(pair, self._ask(name, pair, [view], 0)):
                found.append(view.pose)
        further = tuple(found[len(alone):])
        note = f"{len(alone)} of {len(path.views)} views show it alone" + (
            f", and {len(further)} from beside them" if further else "")
        return FilterCheck("viewpoints", True, note), Viewpoints(alone, further)

    def _unique(self, key: str, path: ScenePath, pair: QuestionAnswer) -> FilterCheck:
        """Ask in other parts of the scene: a confident different answer there means that the question is ambiguous.

        As in EXPRESS-Bench (3.2), views farther from the start than the goal do not count.
        """
        for i, (view, from_start_m) in enumerate(path.elsewhere):
            answer = self._ask(f"{key}/elsewhere/{i}", pair, [view], 0)
            other = not answer.abstained and answer.confidence >= self._config.sure and not self._right(pair, answer)
            if other and from_start_m <= path.way_m:
                return FilterCheck("not unique", False,
                                   f"{from_start_m:.1f} m from the start, nearer than the goal, the "
                                                  f"answer is {answer.text!r}")
        return FilterCheck("unique", True, f"no other answer in {len(path.elsewhere)} views elsewhere")

    def _ask(self, key: str, pair: QuestionAnswer, views: Sequence[Keyframe], again: int) -> Answer:
        items = [Recalled(view, 1.0, "the view the question was made from") for view in views]
        question = Question(pair.question, seed=self._seed + again)
        return self._paid.once(key, Answer, lambda: self._solver.answer(question, items))

    def _right(self, pair: QuestionAnswer, answer: Answer) -> bool:
        return not answer.abstained and says_the_same(pair, answer.text)


def says_the_same(pair: QuestionAnswer, text: str) -> bool:
    """Return whether the offline judge accepts an answer as one of the reference answers."""
    sample = Sample("pair", pair.question, pair.answer, pair.alternatives)
    return (OfflineJudge().judge(sample, text).sigma or 0.0) >= RIGHT


def _said(answer: Answer) -> str:
    return "I don't know" if answer.abstained else repr(answer.text)


def _shared(a: str, b: str) -> float:
    """Return the share of content words that two questions have in common (Jaccard)."""
    first, second = set(content_words(a)), set(content_words(b))
    return len(first & second) / max(len(first | second), 1)
