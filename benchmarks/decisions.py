"""Decisions that readers made: the same views and places, asked of a model with today's prompts.

`decided/` holds questions of test houses. For each call of a model the views and places that the robot had, and what a
reader replied who saw the request alone. All of these questions were answered rightly in the end.

A run records its own decisions with
`EQA_DECISIONS=folder eqa bench run ... --answerer benchmarks.decisions:RecordingAnswerer`.
"""

from __future__ import annotations

import gzip
import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from PIL import Image

from benchmarks.timing import Figure
from eqa_nodes.core.answerers.advice import Shown, read_advice, shown
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.answerers.vlm_views import PointScale
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.ledger import tokens_read
from eqa_nodes.core.model import Message
from eqa_nodes.core.storage.codec import decode, dumps, loads
from eqa_nodes.core.types.calls import DecisionReply, DecisionRequest
from eqa_nodes.core.types.questions import Question
from eqa_nodes.core.types.views import Intrinsics, Keyframe
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig, environment_model

FOLDER = Path(__file__).with_name("decided")
SIDE_PX = 512
_KEPT_PX, _QUALITY = 256, 70  # width of the stored pictures
_SAME_M = 1.5  # places closer together than this are one choice


@dataclass(frozen=True)
class Decided:
    """One call. brief: without its views; views, sheet: keyframe ids of these; reply: what was replied, as JSON."""

    brief: DecisionRequest
    views: tuple[int, ...]
    sheet: tuple[int, ...]
    reply: str


@dataclass(frozen=True)
class DecidedQuestion:
    """The calls of one question, and the views that they show."""

    question: str
    views: tuple[Keyframe, ...]
    calls: tuple[Decided, ...]

    def requests(self) -> Iterator[tuple[DecisionRequest, dict[str, Any]]]:
        """Yield each request with the reply to it."""
        by_id = {view.id: view for view in self.views}
        for call in self.calls:
            yield call.brief._replace(views=tuple(by_id[i] for i in call.views),
                                      sheet=tuple(by_id[i] for i in call.sheet)), loads(call.reply)


class RecordingAnswerer(VlmAnswerer):
    """A VlmAnswerer that writes each decision to the folder that EQA_DECISIONS names, one file a question."""

    def advise(self, question: Question, brief: DecisionRequest) -> DecisionReply:
        """Ask, and write down the request with the reply. Raises ConfigError without a folder."""
        folder = os.environ.get("EQA_DECISIONS", "")
        if not folder:
            raise ConfigError("EQA_DECISIONS names no folder for the decisions")
        file, ask = Path(folder) / f"{question.id}.json.gz", self._asker.ask

        def noting(prompt: str, asked: Question, parts: Any, read: Any, *others: Any) -> Any:
            def noted(reply: dict[str, object]) -> object:
                said = read(reply)
                _add(file, question.text, brief, reply)
                return said

            return ask(prompt, asked, parts, noted, *others)

        self._asker.ask = noting  # type: ignore[method-assign]
        try:
            return super().advise(question, brief)
        finally:
            self._asker.ask = ask  # type: ignore[method-assign]


@cache
def load(folder: Path = FOLDER) -> tuple[DecidedQuestion, ...]:
    """Return all recorded questions, in the order of their files."""
    return tuple(_read(file) for file in sorted(folder.glob("*.json.gz")))


def replayed(brief: DecisionRequest, reply: Mapping[str, Any], text: str) -> tuple[Shown, DecisionReply]:
    """Return a recorded request as today's code shows it, and the recorded reply as today's code reads it."""
    given = shown(brief, SIDE_PX)
    return given, read_advice(reply, Question(text), brief, given, PointScale())


def same_choice(said: DecisionReply, other: DecisionReply) -> bool:
    """Return whether two replies decide the same: both give the same answer, or both the same place first."""
    if said.answer.abstained != other.answer.abstained:
        return False
    if not said.answer.abstained:
        return canonical(said.answer.text) == canonical(other.answer.text)
    places = [max(one.options, key=lambda weighed: weighed.weight, default=None) for one in (said, other)]
    if any(place is None or not place.weight for place in places):
        return all(place is None or not place.weight for place in places)
    first, second = ((place.option.x, place.option.y) for place in places if place is not None)
    return math.dist(first, second) <= _SAME_M


def figures() -> list[Figure]:
    """Return the sizes of the requests and, with a model in EQA_VLM_MODEL, how often it decides as the readers did."""
    asked = [(one.question, *pair) for one in load() for pair in one.requests()]
    sent = [replayed(brief, reply, text)[0] for text, brief, reply in asked]
    pictures = [sum(isinstance(part, bytes) for part in given.parts) for given in sent]
    tokens = [tokens_read([Message("user", given.parts)]) for given in sent]
    sizes = [Figure("questions and calls", note=f"{len(load())} and {len(asked)}"),
             Figure("pictures of a call", note=f"{fmean(pictures):.1f}"),
             Figure("input tokens of a call, by estimate and without the prompt", note=f"{fmean(tokens):.0f}")]
    if not environment_model("openai"):
        return [*sizes, Figure("decides as the readers did", note="name a model in EQA_VLM_MODEL")]
    model = VlmAnswerer(open_model(ModelConfig()))
    agreed = [same_choice(replayed(brief, reply, text)[1], model.advise(Question(text), brief))
              for text, brief, reply in asked]
    return [*sizes, Figure(f"{environment_model('openai')} decides as the readers did",
                           note=f"{sum(agreed)} of {len(agreed)} calls")]


def _add(file: Path, text: str, brief: DecisionRequest, reply: Mapping[str, object]) -> None:
    """Write one more decision to the file of its question."""
    before = _read(file) if file.exists() else DecidedQuestion(text, (), ())
    known = {view.id for view in before.views}
    new = {view.id: small(view) for view in (*brief.views, *brief.sheet) if view.id not in known}
    call = Decided(brief._replace(views=(), sheet=()), _ids(brief.views), _ids(brief.sheet), dumps(reply))
    file.parent.mkdir(parents=True, exist_ok=True)
    after = replace(before, views=(*before.views, *new.values()), calls=(*before.calls, call))
    file.write_bytes(gzip.compress(dumps(after).encode(), mtime=0))


def small(view: Keyframe) -> Keyframe:
    """Return a view with a small picture and without what was found in it."""
    assert view.geometry is not None
    k = view.geometry.intrinsics
    scale = _KEPT_PX / k.width
    picture = Image.open(io.BytesIO(view.jpeg)).resize((_KEPT_PX, round(scale * k.height)), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=_QUALITY)
    scaled = Intrinsics(*picture.size, *(scale * one for one in k[2:]))
    return replace(view, jpeg=out.getvalue(), sightings=(), places=(), caption="",
                   geometry=view.geometry._replace(intrinsics=scaled))


def _read(file: Path) -> DecidedQuestion:
    return decode(DecidedQuestion, loads(gzip.decompress(file.read_bytes()).decode()))


def _ids(views: Sequence[Keyframe]) -> tuple[int, ...]:
    return tuple(view.id for view in views)
