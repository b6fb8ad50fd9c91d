"""Episodes whose agent is a person. Their answers are saved, scored and reported like any agent's."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from eqa_nodes.console.human.desk import Desk, ImageFile, PersonRequest, Reply
from eqa_nodes.console.human.episodes import PersonEpisode, view_picture
from eqa_nodes.console.pictures import map_picture
from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.answerers.common import match_choice
from eqa_nodes.core.errors import Canceled
from eqa_nodes.core.storage.text import storable
from eqa_nodes.core.types.questions import MAX_EVIDENCE, Answer
from eqa_nodes.core.types.samples import EpisodeResult, Sample

_MAX_ANSWER_CHARS = 500
_FAREWELL_S = 3.0  # for the page to hear that it was the last question


class Said(NamedTuple):
    """What a person answered. marked: numbers of views from 0."""

    text: str
    confidence: float
    abstained: bool
    marked: tuple[int, ...]


class PersonRunner:
    """Puts one question after the other to a person. Implements EpisodeRunner."""

    def __init__(self, desk: Desk, open_episode: Callable[[Sample], PersonEpisode], total: int = 0) -> None:
        """total: questions of the run, for the page."""
        self._desk, self._open_episode, self._total = desk, open_episode, total
        self.done = 0  # questions that have ended, in earlier sessions too; for the page

    def run(self, sample: Sample) -> EpisodeResult:
        """Wait until the person has answered. seconds of the receipt: from the question to the answer."""
        sitting = _Sitting(sample, self._open_episode(sample), self.done, self._total)
        began = time.monotonic()
        self._desk.serve(sitting.do, lambda: sitting.said is not None)
        if sitting.said is None:
            raise Canceled("the page was closed before there was an answer")
        return _result(sitting, sitting.said, time.monotonic() - began)

    def blind(self, sample: Sample) -> Answer:
        """Abstain: whoever answers with their eyes open cannot also guess with them closed."""
        return Answer(abstained=True, message="a person is not asked blind")

    def farewell(self) -> None:
        """Tell the page that it was the last question; waits a little for a page that asks."""
        finished: list[bool] = []

        def over(request: PersonRequest) -> Reply:
            finished.append(True)
            return {"over": True, "done": self.done, "total": self._total}

        self._desk.serve(over, lambda: bool(finished), _FAREWELL_S)

    def close(self) -> None:
        """Nothing to release: the page's server is another's."""


class _Sitting:
    """One question on the page."""

    def __init__(self, sample: Sample, episode: PersonEpisode, done: int, total: int) -> None:
        self.sample, self.episode = sample, episode
        self._done, self._total = done, total
        self.said: Said | None = None

    def do(self, request: PersonRequest) -> Reply:
        """Do what the page asks. Raises RequestRefused."""
        name, *rest = request.path
        if name == "state" and not rest:
            return self._state()
        if name == "view" and len(rest) == 1:
            return view_picture(self.episode, rest[0])
        if name == "map" and len(rest) == 1:
            return ImageFile("image/svg+xml", map_picture(self.episode.trace(())))
        if name not in ("act", "answer") or rest:
            raise RequestRefused(f"there is nothing at {'/'.join(request.path)!r}", 404)
        if request.body.get("id") != self.sample.id:
            raise RequestRefused("this page shows an old question: reload it")
        if name == "act":
            self.episode.act(request)
        else:
            self.said = read_answer(request.body, self.sample, len(self.episode.views))
        return self._state()

    def _state(self) -> Mapping[str, object]:
        return {"id": self.sample.id, "question": self.sample.question, "choices": list(self.sample.choices),
                "kind": self.episode.kind, "views": len(self.episode.views), "done": self._done, "total": self._total,
                "answered": self.said is not None, **self.episode.facts()}


def read_answer(body: Mapping[str, object], sample: Sample, views: int) -> Said:
    """Return what the page sent. Raises RequestRefused for what is no answer."""
    text, abstained, confidence, marked = (body.get(name) for name in ("text", "abstain", "confidence", "marked"))
    if not isinstance(abstained, bool) or not isinstance(text, str) or len(text) > _MAX_ANSWER_CHARS:
        raise RequestRefused(f"an answer is a text of at most {_MAX_ANSWER_CHARS} characters", 400)
    if not storable(text):
        raise RequestRefused("the answer holds a NUL or half of a surrogate pair, which is no character: type it "
                             "again", 400)
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
        raise RequestRefused(f"confidence is a number from 0 to 1, not {confidence!r}", 400)
    if not isinstance(marked, list) or not all(type(i) is int and 0 <= i < views for i in marked):
        raise RequestRefused(f"marked views are numbers from 0 to {views - 1}, not {marked!r:.60}", 400)
    numbers = tuple(dict.fromkeys(marked))
    if abstained:
        return Said("", 0.0, True, numbers)
    text = " ".join(text.split())
    if not text:
        raise RequestRefused("write an answer, or say that you cannot tell", 400)
    if sample.choices:
        option = match_choice(text, sample.choices)
        if option is None:
            raise RequestRefused(f"{text!r} is not one of the options", 400)
        text = sample.choices[option]
    return Said(text, float(confidence), False, numbers)


def _result(sitting: _Sitting, said: Said, seconds: float) -> EpisodeResult:
    """Return an answer with its evidence: the marked views, the last one where none is marked."""
    episode = sitting.episode
    views = [episode.views[i] for i in said.marked] or list(episode.views[-1:])
    evidence = () if said.abstained else episode.evidence(views[:MAX_EVIDENCE])
    answer = Answer(said.text, said.confidence, said.abstained, evidence, replace(episode.cost(), seconds=seconds))
    trace = episode.trace(views)
    trace.answer = answer
    return EpisodeResult(sitting.sample.id, answer, episode.end(), trace)


