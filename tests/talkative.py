"""A model that has something to say to every prompt of the package: for tests of whole agents."""

from __future__ import annotations

import json
from collections.abc import Sequence

from eqa_nodes.core.model import Message
from eqa_nodes.models.scripted import ScriptedBackend

ANSWER = {"answer": "yes", "confidence": 0.6, "images": [1], "things": [1], "why": "it is there", "abstain": False}


def reply(messages: Sequence[Message]) -> str:
    """Return a well-formed reply that promises nothing on the way."""
    prompt, parts = str(messages[0].parts[0]), messages[1].parts
    if prompt.startswith("You describe"):
        return "something gray"
    if '{"classes"' in prompt:
        return '{"classes": []}'
    if '{"regions"' in prompt:
        return '{"regions": {"kitchen": 0.9}}'
    if '{"views"' not in prompt:
        return json.dumps(ANSWER)
    headings = [part for part in parts if isinstance(part, str) and part.startswith("Picture")]
    return json.dumps({"views": [_judged(number, heading) for number, heading in enumerate(headings, 1)]})


def _judged(number: int, heading: str) -> dict[str, object]:
    letters = [letter for letter in "ABC" if f"letters A{', B' * (letter > 'A')}{', C' * (letter > 'B')}" in heading]
    return {"image": number, "relevance": 0.5, "enough": 0.0, "worth": 0.5, "target": "", "region": "", "says": "",
            "places": {letter: 1 / len(letters) for letter in letters}, "note": ""}


def talkative() -> ScriptedBackend:
    """Return the model."""
    return ScriptedBackend([reply] * 2000)


def prompts(backend: ScriptedBackend) -> list[str]:
    """Return how each prompt that was asked begins, in order."""
    return [str(request[0].parts[0])[:40] for request in backend.requests]
