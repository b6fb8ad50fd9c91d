"""The simulated model as a backend that takes the real prompts and replies in their formats."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase

from PIL import Image

from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.answerers.label.answers import RuleAnswer
from eqa_nodes.core.answerers.label.scene import room_of
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.naming import by_head, kept_in, members
from eqa_nodes.core.language.uses import rooms_of
from eqa_nodes.core.model import Choice, Completion, Message, Schema, images_in
from eqa_nodes.core.traits import BackendTraits
from eqa_nodes.core.types.costs import CallAccount, Usage
from eqa_nodes.core.types.questions import ViewAssessment
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.meter import UsageMeter
from eqa_nodes.models.simulated.decide import decide
from eqa_nodes.models.simulated.reading import (
    SimulatedRequest,
    asked_in,
    cautious,
    found_in,
    in_plain_rooms,
    listed,
    read_request,
    usual_rooms,
)
from eqa_nodes.models.simulated.sight import Sight, SightLimits, read_limits

Reply = dict[str, object]
_MOST_PROOF = 3
_BESIDE_M = 4.0  # maximum distance of the target from the place whose letter is given
_AT_DOOR_M = 1.2  # maximum distance from a door of a place that leads through it
_NOTE_WORDS = 12
_TELLING = 0.5  # share of one kind of room from which a kind of object identifies that room


def regions(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return the usual rooms of the answer, from the prompt's list."""
    weights: dict[str, float] = {}
    for region in usual_rooms(request.question):
        name = listed(region.name)
        if name:
            weights[name] = max(weights.get(name, 0.0), round(region.weight, 2))
    return {"regions": weights}


def assess(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return an entry for each picture, each judged on its own."""
    return {"views": [_assessed(request, n, limits) for n in range(len(request.pictures))]}


def _assessed(request: SimulatedRequest, n: int, limits: SightLimits) -> Reply:
    number, picture = request.pictures[n]
    sight = Sight([picture], limits, request.question.seed)
    view = sight.views[0]
    plain = request.question._replace(text=in_plain_rooms(request.question.text))
    judged = LabelAnswerer().assess(plain, [view])[0]
    found = found_in([view], request.question, limits)
    worth, places = _worth(judged, view, request, limits)
    letters = dict(zip(ascii_uppercase, places))
    said = sight.spoken(found.text) if found else ""
    return {"image": number, "relevance": cautious(judged.relevance, limits),
            "enough": found.confidence if found else 0.0, "worth": worth, "places": letters,
            "target": _letter(judged, view), "region": sight.kind_of(room_of(view)), "says": said,
            "note": " ".join(said.split()[:_NOTE_WORDS])}


def _worth(judged: ViewAssessment, view: Keyframe, request: SimulatedRequest,
           limits: SightLimits) -> tuple[float, list[float]]:
    """Return the worth of driving on from a picture, and the share of each place; doorways raise both."""
    doors = [s.centre for s in view.sightings if canonical(s.label.kind).endswith("door")]
    ahead = [any(math.dist(door[:2], (p.x, p.y)) <= _AT_DOOR_M for door in doors) for p in view.places]
    weights = [place.weight + (limits.doorway if at_door else 0.0)
               for place, at_door in zip(judged.places, ahead, strict=True)]
    worth = max(cautious(judged.worth, limits), limits.doorway if doors else limits.elsewhere)
    return worth, [round(weight / sum(weights), 3) for weight in weights]


def _letter(judged: ViewAssessment, view: Keyframe) -> str:
    """Return the letter of the place nearest to the target of the question, "" if none is near."""
    if judged.target is None or not view.places:
        return ""
    off = [math.dist(judged.target, (p.x, p.y)) for p in view.places]
    return ascii_uppercase[off.index(min(off))] if min(off) <= _BESIDE_M else ""


def answer(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return the answer from all pictures together, or an abstention."""
    sight = Sight([shown.picture for shown in request.pictures], limits, request.question.seed)
    found = found_in(sight.views, request.question, limits)
    if found is None or found.confidence < limits.least_said:
        return {"answer": "", "confidence": 0.0, "images": [], "why": "the pictures do not show it", "abstain": True}
    return {"answer": sight.spoken(found.text), "confidence": found.confidence,
            "images": proofs(found, sight, [shown.number for shown in request.pictures]),
            "why": ", ".join(dict.fromkeys(t.kind for t in found.objects[:_MOST_PROOF])), "abstain": False}


def proofs(found: RuleAnswer, sight: Sight, numbers: Sequence[int]) -> list[int]:
    """Return the numbers of the pictures that prove an answer: the best one of each object, else the first picture."""
    by_view = {view.id: number for view, number in zip(sight.views, numbers, strict=True)}
    named = [by_view[t.view.id] for t in found.objects if t.view.id in by_view]
    return list(dict.fromkeys(named))[:_MOST_PROOF] or [numbers[0]]


def classes(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return the listed kinds that the question names, then those that identify its room."""
    asked = asked_in(request.question)
    named = [kind for thing in asked.subjects for kind in (
        thing.kind, *thing.kinds, thing.support.kind if thing.support else "") if kind]
    wanted = [kind for name in named for kind in (name, *members(name), *kept_in(name))]
    direct = [kind for kind in request.listed if any(
        canonical(kind) == canonical(name) or by_head(kind, name) or by_head(name, kind) for name in wanted)]
    rooms = {region.name for region in usual_rooms(request.question)}
    telling = [kind for kind in request.listed if kind not in direct and rooms & _rooms_told_by(kind)]
    return {"classes": [*direct, *telling][:request.most or None]}


def _rooms_told_by(kind: str) -> set[str]:
    return {room for room, share in rooms_of(kind).items() if share >= _TELLING}


def blind(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return the answer that is most common in homes."""
    guessed = LabelAnswerer().answer(request.question, ())
    return {"answer": guessed.text, "confidence": round(guessed.confidence, 2)}


def abstention(request: SimulatedRequest, limits: SightLimits) -> Reply:
    """Return that a reply is an answer: this model marks abstentions with a field of its own."""
    return {"answers": True}


REPLIES: Mapping[str, Callable[[SimulatedRequest, SightLimits], Reply]] = {
    "regions": regions, "assess": assess, "answer": answer, "classes": classes, "blind": blind,
    "decide": decide, "abstention": abstention}


_CHARS_PER_TOKEN = 4
_TILE_PX, _TILE_TOKENS, _IMAGE_TOKENS = 512, 170, 85  # for an image at high detail, as GPT-4o counts
_INSIDE_PX, _SHORTER_PX = 2048, 768
NAME = "simulated"


class SimulatedModel:
    """A model that reads the labels of the views behind the pictures, limited to what a model could see.

    For sweeps over many questions when no model is available. Privileged. The same messages and seed give the same
    reply. Captions in the text are not read. Tokens are estimated. Raises ModelError for prompts that it does not
    know and for pictures without a view, BudgetSpent.
    """

    traits = BackendTraits(labels=True)
    privileged = ("SimulatedModel",)

    def __init__(self, limits: SightLimits = SightLimits(), config: ModelConfig = ModelConfig()) -> None:
        self.model, self._limits, self._meter = NAME, limits, UsageMeter(config)

    @classmethod
    def from_options(cls, config: ModelConfig, api_key: str = "") -> SimulatedModel:
        """Create it for the registry. config.model: JSON file of SightLimits, "" = defaults. Raises ConfigError."""
        return cls(read_limits(Path(config.model)) if config.model else SightLimits(), config)

    @classmethod
    def check(cls, config: ModelConfig) -> None:
        """Raise ConfigError for limits that cannot be read."""
        cls.from_options(config)

    @property
    def usage(self) -> Usage:
        """A copy of the counts so far."""
        return self._meter.usage

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None, account: CallAccount | None = None) -> Completion:
        """Return the reply in the form that the system message asks for. schema: not used."""
        with self._meter.holding(self._read(messages), max_tokens):
            self._meter.add(account, 1)
        request = read_request(messages, seed)
        text = json.dumps(REPLIES[request.form](request, self._limits))
        read, written = self._read(messages), math.ceil(len(text) / _CHARS_PER_TOKEN)
        self._meter.add(account, 0, read, written, images_in(messages))
        cut = written > max_tokens
        return Completion(text[:max_tokens * _CHARS_PER_TOKEN] if cut else text, read, min(written, max_tokens),
                          "length" if cut else "stop")

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0,
               account: CallAccount | None = None) -> Choice:
        """Return probabilities: the option that it answers gets its confidence, and the rest is spread evenly.

        It answers with an option if the messages hold a question that `generate` answers.
        """
        said = json.loads(self.generate(messages, seed=seed, account=account).text)
        rest = (1.0 - float(said.get("confidence", 0.0))) / len(options)
        weights = [rest + (float(said["confidence"]) if option == said.get("answer") else 0.0) for option in options]
        return Choice(tuple(weight / sum(weights) for weight in weights), "verbalised")

    def close(self) -> None:
        """Nothing to release."""

    def _read(self, messages: Sequence[Message]) -> int:
        parts = [part for message in messages for part in message.parts]
        words = sum(len(part) for part in parts if isinstance(part, str))
        return math.ceil(words / _CHARS_PER_TOKEN) + sum(
            picture_tokens(part, self._limits.sent_px) for part in parts if isinstance(part, bytes))


def picture_tokens(picture: bytes, sent_px: float) -> int:
    """Estimate the tokens of a picture. sent_px: long side to which a smaller picture is scaled up, pixels."""
    width, height = Image.open(io.BytesIO(picture)).size
    scale = max(1.0, sent_px / max(width, height))
    scale *= min(1.0, _INSIDE_PX / (scale * max(width, height)))
    scale *= min(1.0, _SHORTER_PX / (scale * min(width, height)))
    tiles = math.ceil(scale * width / _TILE_PX) * math.ceil(scale * height / _TILE_PX)
    return _IMAGE_TOKENS + _TILE_TOKENS * tiles
