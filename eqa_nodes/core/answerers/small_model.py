"""A decision by a small model: two short questions instead of one long one, each with one sheet and a flat reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from eqa_nodes.core.answerers.advice import Shown
from eqa_nodes.core.answerers.asker import PromptedModel
from eqa_nodes.core.answerers.option_sheet import Sheet, sheet_of_pictures
from eqa_nodes.core.errors import LimitReached
from eqa_nodes.core.model import NUMBER, TEXT, WHOLE, an_object
from eqa_nodes.core.types.calls import DecisionRequest
from eqa_nodes.core.types.questions import Question

_SMALL = 4e9  # parameters up to which a model gets short questions, if its name says how many it has
_PARAMETERS = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)([bm])(?![a-z\d])", re.I)
_SURE = 0.7  # confidence from which it is not asked where to go
_ANSWER = an_object(answer=TEXT, confidence=NUMBER, picture=WHOLE, room=TEXT)
_PLACE = an_object(number=WHOLE, chance=NUMBER)


def is_small(model: str) -> bool:
    """Return whether the name of a model says that it has few parameters: "SmolVLM-500M", "qwen2-vl:2b"."""
    sizes = [float(number) * (1e9 if unit in "bB" else 1e6) for number, unit in _PARAMETERS.findall(model)]
    return bool(sizes) and max(sizes) <= _SMALL


def ask_in_parts(asker: PromptedModel, question: Question, brief: DecisionRequest,
                 given: Shown) -> dict[str, object]:
    """Return a reply in the form of the long question, from a call for the answer and, if it is not sure, one for the
    place to go to.

    Without a budget for the second call there is no place. Raises ModelError.
    """
    views = (*brief.views, *brief.sheet)
    known = given.parts[-1]
    said = asker.ask("decide_answer", question, (sheet_of_pictures(given.pictures), known), _flat("answer"), views,
                     _ANSWER)
    reply: dict[str, object] = {**said, "reasons": "", "missing": "", "go_to": [],
                                "evidence": [{"picture": said.get("picture"), "what": "", "point": None}]}
    if not said.get("picture"):
        reply["evidence"] = []
    sheet = next((i for i, part in enumerate(given.parts) if isinstance(part, Sheet)), 0)
    sure = said.get("confidence")
    if not sheet or (said.get("answer") and isinstance(sure, (int, float)) and sure >= _SURE):
        return reply
    try:
        place = asker.ask("decide_place", question, (*given.parts[sheet - 1:sheet + 1], known), _flat("number"), views,
                          _PLACE)
    except LimitReached:
        return reply
    return {**reply, "go_to": [place]}


def _flat(key: str) -> Callable[[Mapping[str, object]], dict[str, object]]:
    """Return a reader of a flat reply that must have a key; it raises ValueError without it."""
    def read(reply: Mapping[str, object]) -> dict[str, object]:
        if key not in reply:
            raise ValueError(f'the key "{key}" is missing')
        return {name: value for name, value in reply.items() if not isinstance(value, (list, dict))}

    return read
