"""Parses a request to the model: the form of the reply, the question, and the pictures with their marks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from eqa_nodes.core.answerers.advice import NOT_KNOWN
from eqa_nodes.core.answerers.vlm_replies import REGIONS
from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.model import WRONG_FORM, Message, Picture
from eqa_nodes.core.types.questions import Question

# The forms and a text that only their system message contains; tried in this order.
_FORMS = (("decide", '"go_to"'), ("assess", '"views"'), ("regions", '"regions"'), ("classes", '"classes"'),
          ("answer", '"images"'), ("blind", '"answer"'), ("abstention", '"answers"'))
_NEEDS_PICTURES = ("decide", "assess", "answer")
_QUESTION = re.compile(r"<question>\s*(.*?)\s*</question>", re.S)
_LIST = re.compile(r"<kinds>\s*(.*?)\s*</kinds>", re.S)
_AT_MOST = re.compile(r"At most (\d+) of")
_PICTURE = re.compile(r"Picture (\d+)")
_OPTION = re.compile(r"\bnumber (\d+) is ([^;.:\n]*)")
_ABOUT = re.compile(r"^The question is about (.*)\.$", re.M)
_VISITED = re.compile(r"Rooms that it has been in[^:]*: ([^.\n]*)")


class ShownPicture(NamedTuple):
    """A picture and the number by which the model refers to it."""

    number: int
    picture: Picture


class ShownOption(NamedTuple):
    """A numbered option. said: its description; room: the kind of room named there, "" for none."""

    number: int
    said: str
    room: str


class SimulatedRequest(NamedTuple):
    """One request. text: the user's first message without the headings of pictures, which contain captions.

    visited: kinds of rooms; listed, most: kinds of objects to choose from, and how many; known: what is already known
    about the objects of the question, "" for nothing.
    """

    form: str
    question: Question
    pictures: tuple[ShownPicture, ...]
    options: tuple[ShownOption, ...]
    text: str
    visited: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    most: int = 0
    known: Mapping[str, str] = {}


def read_request(messages: Sequence[Message], seed: int) -> SimulatedRequest:
    """Parse a request; comments on an earlier reply to it are ignored. Raises ModelError."""
    system = "\n".join(part for m in messages if m.role == "system" for part in m.parts if isinstance(part, str))
    user = next((m.parts for m in messages if m.role == "user"), ())
    form = next((name for name, key in _FORMS if key in system), "")
    words = "\n".join(part for part in user if isinstance(part, str))
    asked = _QUESTION.search(words)
    if not form or asked is None:
        raise ModelError(f"{WRONG_FORM} the simulated model knows the prompts of questions about a place only: "
                         f"{', '.join(name for name, _ in _FORMS)}")
    pictures = _pictures(user)
    if form in _NEEDS_PICTURES and not pictures:
        raise ModelError(f"{WRONG_FORM} the simulated model was shown no picture")
    plain = "\n".join(part for part in user if isinstance(part, str) and not _PICTURE.match(part))
    options = {int(n): ShownOption(int(n), said, _room_in(said)) for n, said in _OPTION.findall(words)}
    visited = _VISITED.search(plain)
    named, most = _LIST.search(words), _AT_MOST.search(words)
    return SimulatedRequest(form, _question(asked[1], seed), pictures, tuple(options.values()), plain,
                   tuple(visited[1].split(", ")) if visited else (),
                   tuple(json.loads(line) for line in named[1].splitlines()) if named else (),
                   int(most[1]) if most else 0, _known_in(plain))


def _known_in(text: str) -> Mapping[str, str]:
    """Return what is known of each object that the question is about."""
    about = _ABOUT.search(text)
    said = dict(one.split(": ", 1) for one in about[1].split("; ") if ": " in one) if about else {}
    return {what: "" if known == NOT_KNOWN else known for what, known in said.items()}


def _question(written: str, seed: int) -> Question:
    """Parse the question, and the options of a multiple-choice one."""
    first, _, rest = written.partition("\n")
    choices = json.loads(rest[rest.index("["):]) if "[" in rest else []
    return Question(json.loads(first), choices=tuple(choices), seed=seed)


def _pictures(parts: Sequence[str | bytes]) -> tuple[ShownPicture, ...]:
    """Return the pictures, each with the number of the heading above it. Raises ModelError for one without labels."""
    found: list[ShownPicture] = []
    number = 0
    for part in parts:
        if isinstance(part, str):
            heading = _PICTURE.search(part)
            number = int(heading[1]) if heading else number
        elif isinstance(part, Picture):
            found.append(ShownPicture(number or len(found) + 1, part))
        else:
            raise ModelError(f"{WRONG_FORM} the simulated model reads the labels of remembered views, and one picture "
                             "has none")
    return tuple(found)


def _room_in(said: str) -> str:
    words = (word.removeprefix("in or beside the ") for word in said.split(", "))
    return next((word for word in words if word in REGIONS), "")
