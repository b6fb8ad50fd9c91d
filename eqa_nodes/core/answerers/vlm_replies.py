"""Parses the replies of a vision-language model. A wrong form raises ValueError, and the request is repeated."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from eqa_nodes.core.answerers.common import match_choice, may_decline
from eqa_nodes.core.answerers.letters import without_thoughts
from eqa_nodes.core.answerers.vlm_views import PointScale, lettered, point_in
from eqa_nodes.core.model import fraction
from eqa_nodes.core.pillow import image_size
from eqa_nodes.core.types.floor import Candidate
from eqa_nodes.core.types.questions import MAX_EVIDENCE, Question, RankedRegion, ViewAssessment
from eqa_nodes.core.types.views import FloorPixel, Keyframe

REGIONS = (  # the kinds of room of EXPRESS-Bench; its "unknown" corresponds to ""
    "bathroom", "bedroom", "dining room", "garage", "kitchen", "laundry room", "living room", "office", "rec room",
    "study", "hallway", "entryway", "laboratory", "workout room", "warehouse", "lounge", "balcony", "staircase",
    "cloakroom",
)


IN_PROSE = "the model replied in prose, without evidence and confidence"
_UNSTATED = 0.5  # confidence of an answer for which the model stated none
_LONGEST_CHOICE = 300  # maximum number of characters of prose in which an option is searched
_FEW_WORDS = 6  # maximum number of words that count as an answer without being called one
_WORDS_ALONE = re.compile(
    r"(?!(?:sure|ok|okay|ready|here|sorry|hello|hi)\b)(?!.*\b(?:is|are|the|an?)\W*$)[\w'’, -]*\w[.!]?", re.I)
_ANSWER_QUOTED = re.compile(r"\banswer\b[\s*]*(?:is|:)[\s:*]*[\"“']([^\"”'\n]{1,200})[\"”']", re.I)
_ANSWER_STATED = re.compile(
    r"\banswer\b[\s*]*(?:is|:)[\s:*]*(\w[^\n]{0,200}?)[\s*]*(?:[.!](?:\s|$)|\n|$)", re.I)
MAX_TEXT = 1000  # maximum number of characters of one text of a reply: all are requested in a few words


class ReadReply(NamedTuple):
    """An answer as the model gave it; images: numbers of the images (or objects) that prove it, from 1; why: reason.

    points: for each of them, the position in it as shares of width and height, None if not given; () for none.
    note: remark on how the reply was read.
    """

    answer: str
    confidence: float
    images: tuple[int, ...]
    abstain: bool
    why: str = ""
    points: tuple[tuple[float, float] | None, ...] = ()
    note: str = ""


NOTHING_SEEN = ReadReply("", 0.0, (), True)


def read_answer(reply: Mapping[str, object], question: Question, views: int, proof: str = "images",
                pictures: Sequence[bytes] = (), scale: PointScale | None = None) -> ReadReply:
    """Return an answer from `views` images, or an abstention. proof: key of the numbers of images that prove it.

    pictures, scale: the images as sent and the scale of the model's points, if the prompt asks for points.
    """
    if views and reply.get("abstain", False) is True:
        why = reply.get("why")  # only informative: its form is never a reason to repeat the request
        return NOTHING_SEEN._replace(why=why.strip()[:MAX_TEXT] if isinstance(why, str) else "")
    images = _numbers(reply, views, proof) if views else ()
    why = _words(reply, "why", "of the reply") if "why" in reply else ""
    return ReadReply(_text(reply, question), fraction(reply.get("confidence"), '"confidence"'), images, False, why,
                 _points(reply.get("points"), images, pictures, scale or PointScale()))


def read_prose(text: str, question: Question, views: int) -> ReadReply:
    """Return the answer of a reply that is not a JSON object: what it calls its answer, or all of a few words.

    A reply that declines is an abstention. Raises ValueError for other replies, and if a guess without views declines.
    """
    said = without_thoughts(text).strip()
    if len(said) > MAX_TEXT:
        raise ValueError(f"{len(said)} characters are too long for a short answer")
    if question.choices and "{" not in said and len(said) <= _LONGEST_CHOICE:
        return ReadReply(_text({"answer": said}, question), _UNSTATED, (), False, note=IN_PROSE)
    found = None if "{" in said else _ANSWER_QUOTED.search(said) or _ANSWER_STATED.search(said)
    if found is None and (len(said.split()) > _FEW_WORDS or not _WORDS_ALONE.fullmatch(said)):
        raise ValueError(f"no short answer in the reply {text[:80]!r}")
    answer = " ".join((found[1] if found else said).split()).strip(" .\"'*`")
    if may_decline(answer):
        if not views:
            raise ValueError(f"no answer in the reply {text[:80]!r}")
        return NOTHING_SEEN._replace(why=answer, note=IN_PROSE)
    return ReadReply(_text({"answer": answer}, question), _UNSTATED, (), False, note=IN_PROSE)


def read_abstention(reply: Mapping[str, object]) -> bool:
    """Return whether the model judged a reply to be an answer."""
    answers = reply.get("answers")
    if not isinstance(answers, bool):
        raise ValueError(f'"answers" must be true or false, not {answers!r:.40}')
    return answers


def read_regions(reply: Mapping[str, object]) -> list[RankedRegion]:
    """Return the named kinds of room, likeliest first; unknown names and weights of 0 are dropped."""
    named = reply.get("regions")
    if not isinstance(named, dict):
        raise ValueError('"regions" must be an object with a weight for each kind of room, {} for none')
    weights: dict[str, float] = {}
    for name, value in named.items():
        weight = fraction(value, f"the weight of {name!r:.40}")
        weights[room_of(name)] = max(weight, weights.get(room_of(name), 0.0))
    known = [RankedRegion(name, weights[name]) for name in REGIONS if weights.get(name, 0.0) > 0.0]
    return sorted(known, key=lambda region: -region.weight)


def read_assessments(reply: Mapping[str, object], question: Question,
                     views: Sequence[Keyframe]) -> list[ViewAssessment]:
    """Return one assessment per view, in the order of the views."""
    entries = reply.get("views")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError('"views" must be a list with one object for each picture')
    numbers = [_image(entry.get("image")) for entry in entries]
    if not all(type(n) is int for n in numbers) or sorted(numbers) != list(range(1, len(views) + 1)):
        raise ValueError(f'"views" needs exactly one entry for each of the pictures 1 to {len(views)}')
    by_image = dict(zip(numbers, entries))
    return [_assessment(by_image[i + 1], question, view, f"of picture {i + 1}") for i, view in enumerate(views)]


def _assessment(entry: Mapping[str, object], question: Question, view: Keyframe, which: str) -> ViewAssessment:
    letters = lettered(view)
    region = room_of(_words(entry, "region", which))
    weights, target = _weights(entry, letters, which), _target(entry, letters, which)
    says = _words(entry, "says", which)
    option = match_choice(says, question.choices) if says else None
    return ViewAssessment(
        view.id, view.stamp_ns, relevance=fraction(entry.get("relevance"), f'"relevance" {which}'),
        enough=fraction(entry.get("enough"), f'"enough" {which}'), region=region, note=_words(entry, "note", which),
        pose=view.pose, worth=fraction(entry.get("worth"), f'"worth" {which}'),
        places=tuple(Candidate(p.x, p.y, weights[letter], region) for letter, p in letters.items()),
        target=(target.x, target.y) if target else None, says=says if option is None else question.choices[option],
        z=view.map_from_base.xyz[2])


def _image(value: object) -> Any:
    """Return the number of an image, which some models write as text; return other values unchanged."""
    if isinstance(value, str) and len(value) < 5 and value.isascii() and value.isdigit():
        return int(value)
    return value


def _weights(entry: Mapping[str, object], letters: Mapping[str, FloorPixel], which: str) -> dict[str, float]:
    """Return the weight of each letter; the sum is 1."""
    named = entry.get("places") or {}
    given = {letter.strip().upper(): value for letter, value in named.items()} if isinstance(named, dict) else {}
    if set(given) != set(letters):
        raise ValueError(f'"places" {which} must be an object with a weight for each of its letters '
                         f"({', '.join(letters) or 'none'}) and for no other")
    weights = {letter: fraction(given[letter], f"the weight of {letter} {which}") for letter in letters}
    total = sum(weights.values())
    if letters and not total > 0.0:
        raise ValueError(f'"places" {which} needs a weight above 0 for at least one letter')
    return {letter: weight / total for letter, weight in weights.items()}


def _target(entry: Mapping[str, object], letters: Mapping[str, FloorPixel], which: str) -> FloorPixel | None:
    letter = _words(entry, "target", which).upper()
    if letter and letter not in letters:
        raise ValueError(f'"target" {which} must be one of its letters ({", ".join(letters) or "none"}) or empty, '
                         f"not {letter!r:.40}")
    return letters[letter] if letter else None


def _words(entry: Mapping[str, object], key: str, which: str) -> str:
    """Return a text that may be empty. A model may also write null for an empty text, or a plain number."""
    if key not in entry:
        raise ValueError(f'"{key}" {which} is missing; use "" for nothing')
    value = entry[key]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return f"{value:g}"
    if value is not None and not isinstance(value, str):
        raise ValueError(f'"{key}" {which} must be a text, not {value!r:.40}')
    if value and len(value) > MAX_TEXT:
        raise ValueError(f'"{key}" {which} has {len(value)} characters: at most {MAX_TEXT}')
    return (value or "").strip()


def room_of(name: str) -> str:
    """Return the plain name of a kind of room, "" for an unknown one."""
    plain = " ".join(name.lower().replace("_", " ").split())
    return "" if plain == "unknown" else plain


def _text(reply: Mapping[str, object], question: Question) -> str:
    text = _words(reply, "answer", "of the reply")
    if not text:
        raise ValueError('"answer" must be a text that is not empty')
    if not question.choices:
        return text
    index = match_choice(text, question.choices)
    if index is None:
        raise ValueError(f"{text!r:.60} is not one of the options")
    return question.choices[index]


def _numbers(reply: Mapping[str, object], count: int, key: str) -> tuple[int, ...]:
    named = reply.get(key)
    named = [_image(value) for value in named] if isinstance(named, list) else []
    if not named or not all(type(i) is int and 1 <= i <= count for i in named):
        raise ValueError(f'"{key}" must name at least one of them that proves the answer, by its number from 1 to '
                         f"{count}")
    return tuple(dict.fromkeys(named))[:MAX_EVIDENCE]


def _points(value: object, images: Sequence[int], pictures: Sequence[bytes],
            scale: PointScale) -> tuple[tuple[float, float] | None, ...]:
    """Return the position of the proof in each image. It is only informative, so a wrong form gives ()."""
    if isinstance(value, dict) or (isinstance(value, list) and len(images) == 1 and len(value) == 2
                                   and not any(isinstance(part, (list, tuple, dict)) for part in value)):
        value = [value]  # a single point that is not in a list
    if not isinstance(value, list) or not pictures:
        return ()
    said = [(point, image_size(pictures[image - 1])) for point, image in zip(value, images, strict=False)]
    name = scale.of([(point, size) for point, size in said if size])
    found = [point_in(point, size, name) if size else None for point, size in said]
    return tuple(found) if any(found) else ()
