"""A model that writes, checks and answers as a test wants it to, told apart by the prompts it is given."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.model import Message
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.generate.pipeline import Cast, Job
from eqa_nodes.generate.roles import ModelEvaluator, ModelGenerator
from eqa_nodes.generate.values import BENCHMARKS, Benchmark
from eqa_nodes.models.scripted import ScriptedBackend

SCENE = "toy:flat"
ROLES = {"You write questions": "propose", "You check questions": "evaluate", "A robot drove": "instruct",
         "that you cannot see": "blind", "from numbered pictures": "answer"}
GOOD: dict[str, Any] = {
    "evaluate": {"clarity": 0.9, "answerability": 0.9, "uniqueness": 0.8, "nontriviality": 0.7, "feedback": ""},
    "instruct": {"instruction": "Go through the door. Stop at the desk."},
    "blind": {"answer": "a lamp", "confidence": 0.3},
    "answer": {"answer": "a red kettle", "confidence": 0.9, "images": [1], "abstain": False}}
NOTHING = {"answer": "", "confidence": 0.0, "images": [], "abstain": True}


def role_of(messages: Sequence[Message]) -> str:
    """Return which role a request is for."""
    return next(role for words, role in ROLES.items() if words in str(messages[0].parts[0]))


class Model:
    """Replies by role: a dict, or a function of (number of the role's call, text) that returns one or raises."""

    def __init__(self, budget_calls: int = 0, **replies: Any) -> None:
        self.replies = {**GOOD, "propose": self._numbered, **replies}
        self.calls: Counter[str] = Counter()
        self.texts: list[tuple[str, str]] = []
        self.backend = ScriptedBackend([self._reply] * 5000, budget_calls=budget_calls)

    def _numbered(self, number: int, text: str) -> dict[str, object]:
        things = ("kettle", "desk", "plant", "mirror", "stool", "clock", "towel")
        name = things[number % 7] + (f" number {number}" if number >= 7 else "")
        return {"question": f"What stands beside the {name}?", "answer": "A red kettle."}

    def _reply(self, messages: Sequence[Message]) -> str:
        role = role_of(messages)
        text = "\n".join(part for part in messages[-1].parts if isinstance(part, str))
        number = self.calls[role]
        self.calls[role] += 1
        self.texts.append((role, text))
        reply: Callable[[int, str], object] | object = self.replies[role]
        return json.dumps(reply(number, text) if callable(reply) else reply)


def small(name: str) -> Benchmark:
    """Return a benchmark whose camera is small, so that a test takes no time."""
    kind = BENCHMARKS[name]
    robot = replace(kind.recipe.robot, camera=CameraModel(64, 64, height_m=1.2, tilt_down_deg=0.0))
    return replace(kind, recipe=replace(kind.recipe, robot=robot))


def cast(kind: Benchmark, model: Model) -> Cast:
    """Return one model in all roles."""
    backend = model.backend
    return Cast(ModelGenerator(backend, kind), ModelEvaluator(backend, kind), VlmAnswerer(backend),
                lambda: backend.usage)


def job(count: int = 2, **changes: Any) -> Job:
    """Return a small job in the toy flat."""
    return replace(Job((SCENE,), count, elsewhere=1, tries=4), **changes)
